// Raw bodies, apart from the lake: those too large for the hub (claims) and, if wanted, all of them (capture). They may hold secrets:
// an account of its own, without soft delete or versions, so that what is deleted is gone.
@maxLength(24)
param name string
param location string
param tags object
param sku string
param claimsContainer string
param claimDays int
param capture bool
param captureDays int
param publicAccess string
param workspaceId string
param logRequests bool

var captureContainer = 'capture'

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
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
  parent: account
  name: 'default'
  properties: {
    isVersioningEnabled: false
    deleteRetentionPolicy: {
      enabled: false
    }
    containerDeleteRetentionPolicy: {
      enabled: false
    }
  }
}

resource claims 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: claimsContainer
}

resource captured 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = if (capture) {
  parent: blobs
  name: captureContainer
}

// They live no longer than the hub could still ask for them.
resource lifecycle 'Microsoft.Storage/storageAccounts/managementPolicies@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    policy: {
      rules: [
        {
          name: 'claims'
          type: 'Lifecycle'
          enabled: true
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                '${claimsContainer}/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: claimDays
                }
              }
            }
          }
        }
        {
          name: 'capture'
          type: 'Lifecycle'
          enabled: capture
          definition: {
            filters: {
              blobTypes: [
                'blockBlob'
              ]
              prefixMatch: [
                '${captureContainer}/'
              ]
            }
            actions: {
              baseBlob: {
                delete: {
                  daysAfterModificationGreaterThan: captureDays
                }
              }
            }
          }
        }
      ]
    }
  }
}

// Who changed and deleted what, and who read raw bodies: a line for each request, which is why it is not on by itself.
resource requests 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (logRequests) {
  name: 'requests'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'StorageRead'
        enabled: true
      }
      {
        category: 'StorageWrite'
        enabled: true
      }
      {
        category: 'StorageDelete'
        enabled: true
      }
    ]
    metrics: [
      {
        category: 'Transaction'
        enabled: true
      }
    ]
  }
}

output id string = account.id
output name string = account.name
output blobEndpoint string = account.properties.primaryEndpoints.blob
output captureContainer string = captureContainer
