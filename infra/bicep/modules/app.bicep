// One function app on a Flex Consumption plan of its own, with a storage account of its own: an app that could write
// another's package could act with the other's identity.
param name string
param service string

@maxLength(24)
param account string
param location string
param tags object
param identityId string
param clientId string
param principalId string
param insightsConnection string
param memory int
param alwaysReady int
param httpConcurrency int
param maxInstances int
param publicAccess string
param subnetId string

// Addresses that may ask; empty: all. Deployments go to another host name and are let in by identity.
param allowedIps array = []
param ingress string = 'Enabled'
param signInClientId string = ''
param settings object

var storageBlobDataOwner = 'b7e6dc6d-f1e8-4753-8033-0f276bb0955b'
var packageContainer = 'package'

resource storage 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: account
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
  }
  properties: {
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: publicAccess
    networkAcls: {
      defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny'
      bypass: 'AzureServices'
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: storage
  name: 'default'
}

resource package 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: packageContainer
}

// The host keeps its locks and the trigger's place in the hub here.
resource ownsItsStorage 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(storage.id, principalId, storageBlobDataOwner)
  scope: storage
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', storageBlobDataOwner)
    principalId: principalId
    principalType: 'ServicePrincipal'
  }
}

resource plan 'Microsoft.Web/serverfarms@2025-03-01' = {
  name: name
  location: location
  tags: tags
  kind: 'functionapp'
  sku: {
    tier: 'FlexConsumption'
    name: 'FC1'
  }
  properties: {
    reserved: true
  }
}

resource app 'Microsoft.Web/sites@2025-03-01' = {
  name: name
  location: location
  kind: 'functionapp,linux'
  tags: union(tags, {
    'azd-service-name': service
  })
  identity: {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${identityId}': {}
    }
  }
  dependsOn: [
    ownsItsStorage
    package
  ]
  properties: {
    serverFarmId: plan.id
    httpsOnly: true
    keyVaultReferenceIdentity: identityId
    virtualNetworkSubnetId: empty(subnetId) ? null : subnetId
    publicNetworkAccess: ingress
    siteConfig: {
      minTlsVersion: '1.2'
      ftpsState: 'Disabled'
      http20Enabled: true
      ipSecurityRestrictionsDefaultAction: empty(allowedIps) ? 'Allow' : 'Deny'
      ipSecurityRestrictions: [for (range, index) in allowedIps: {
        name: 'allowed-${index}'
        action: 'Allow'
        priority: 100 + index
        ipAddress: range
      }]
    }
    functionAppConfig: {
      runtime: {
        name: 'python'
        version: '3.13'
      }
      scaleAndConcurrency: {
        instanceMemoryMB: memory
        maximumInstanceCount: maxInstances
        alwaysReady: (alwaysReady == 0) ? [] : [
          {
            name: 'http'
            instanceCount: alwaysReady
          }
        ]
        triggers: {
          http: {
            perInstanceConcurrency: httpConcurrency // left out it is 1 for Python: an instance for each request at a time
          }
        }
      }
      siteUpdateStrategy: {
        type: alwaysReady > 1 ? 'RollingUpdate' : 'Recreate' // of one instance nothing is left to answer meanwhile
      }
      deployment: {
        storage: {
          type: 'blobContainer'
          value: '${storage.properties.primaryEndpoints.blob}${packageContainer}'
          authentication: {
            type: 'UserAssignedIdentity'
            userAssignedIdentityResourceId: identityId
          }
        }
      }
    }
  }
}

resource appSettings 'Microsoft.Web/sites/config@2025-03-01' = {
  parent: app
  name: 'appsettings'
  properties: union(settings, {
    AzureWebJobsStorage__accountName: storage.name
    AzureWebJobsStorage__credential: 'managedidentity'
    AzureWebJobsStorage__clientId: clientId
    APPLICATIONINSIGHTS_CONNECTION_STRING: insightsConnection
    APPLICATIONINSIGHTS_AUTHENTICATION_STRING: 'ClientId=${clientId};Authorization=AAD'
  })
}

// People sign in with Entra ID before they get to the page; it then asks for a key or a sign-in of its own (docs/how-to/platform-operator/azure.md).
resource signIn 'Microsoft.Web/sites/config@2025-03-01' = if (!empty(signInClientId)) {
  parent: app
  name: 'authsettingsV2'
  properties: {
    platform: {
      enabled: true
    }
    globalValidation: {
      requireAuthentication: true
      unauthenticatedClientAction: 'RedirectToLoginPage'
      redirectToProvider: 'azureactivedirectory'
    }
    httpSettings: {
      requireHttps: true
    }
    identityProviders: {
      azureActiveDirectory: {
        enabled: true
        registration: {
          clientId: signInClientId
          openIdIssuer: '${environment().authentication.loginEndpoint}${subscription().tenantId}/v2.0'
        }
        validation: {
          allowedAudiences: [
            signInClientId
            'api://${signInClientId}'
          ]
        }
      }
    }
    login: {
      tokenStore: {
        enabled: false
      }
    }
  }
}

resource ftp 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'ftp'
  properties: {
    allow: false
  }
}

resource scm 'Microsoft.Web/sites/basicPublishingCredentialsPolicies@2025-03-01' = {
  parent: app
  name: 'scm'
  properties: {
    allow: false
  }
}

output id string = app.id
output name string = app.name
output host string = app.properties.defaultHostName
output storageId string = storage.id
