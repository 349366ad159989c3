// Who may do what, all of it. The receiver can neither read the hub nor see the lake; nobody holds a shared key.
param receiverPrincipal string
param pipelinePrincipal string
param namespaceName string
param hubName string
param lakeStorageName string
param rawStorageName string
param lakeContainer string
param claimsContainer string
param vaultName string
param receiverSecret string
param pipelineSecret string
param insightsName string

@description('Whether the pipeline takes files in, which it puts onto the hub as the receiver does.')
param pipelineSends bool

var roles = {
  eventHubsDataSender: '2b629674-e913-4c01-ae53-ef4638d8f975'
  eventHubsDataReceiver: 'a638d3c7-ab3a-418d-83e6-5f17a39d4fde'
  storageBlobDataReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  storageBlobDataContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
  keyVaultSecretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
}
var blobType = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' existing = {
  name: namespaceName
}

resource hub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' existing = {
  parent: namespace
  name: hubName
}

resource lakeStorage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: lakeStorageName
}

resource lakeBlobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' existing = {
  parent: lakeStorage
  name: 'default'
}

resource lake 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = {
  parent: lakeBlobs
  name: lakeContainer
}

resource rawStorage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: rawStorageName
}

resource rawBlobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' existing = {
  parent: rawStorage
  name: 'default'
}

resource claims 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = {
  parent: rawBlobs
  name: claimsContainer
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: vaultName
}

resource receiverKeys 'Microsoft.KeyVault/vaults/secrets@2024-11-01' existing = {
  parent: vault
  name: receiverSecret
}

resource pipelineKeys 'Microsoft.KeyVault/vaults/secrets@2024-11-01' existing = {
  parent: vault
  name: pipelineSecret
}

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// No built-in role writes blobs without reading them.
resource claimWriter 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(resourceGroup().id, 'claim writer')
  properties: {
    roleName: 'Headwater claim writer ${uniqueString(resourceGroup().id)}'
    description: 'Writes large bodies beside the hub; cannot read, list or delete any.'
    type: 'CustomRole'
    assignableScopes: [
      resourceGroup().id
    ]
    permissions: [
      {
        actions: []
        notActions: []
        dataActions: [
          '${blobType}/write'
          '${blobType}/add/action'
        ]
        notDataActions: []
      }
    ]
  }
}

resource receiverSends 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(hub.id, receiverPrincipal, roles.eventHubsDataSender)
  scope: hub
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.eventHubsDataSender)
    principalId: receiverPrincipal
    principalType: 'ServicePrincipal'
  }
}

resource receiverWritesClaims 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(claims.id, receiverPrincipal, claimWriter.id)
  scope: claims
  properties: {
    roleDefinitionId: claimWriter.id
    principalId: receiverPrincipal
    principalType: 'ServicePrincipal'
  }
}

resource receiverReadsItsKeys 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(receiverKeys.id, receiverPrincipal, roles.keyVaultSecretsUser)
  scope: receiverKeys
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
    principalId: receiverPrincipal
    principalType: 'ServicePrincipal'
  }
}

resource receiverPublishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, receiverPrincipal, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
    principalId: receiverPrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineReceives 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(hub.id, pipelinePrincipal, roles.eventHubsDataReceiver)
  scope: hub
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.eventHubsDataReceiver)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineSendsFiles 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (pipelineSends) {
  name: guid(hub.id, pipelinePrincipal, roles.eventHubsDataSender)
  scope: hub
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.eventHubsDataSender)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineWritesClaims 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (pipelineSends) {
  name: guid(claims.id, pipelinePrincipal, claimWriter.id)
  scope: claims
  properties: {
    roleDefinitionId: claimWriter.id
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineReadsClaims 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(claims.id, pipelinePrincipal, roles.storageBlobDataReader)
  scope: claims
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataReader)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineWritesLake 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(lake.id, pipelinePrincipal, roles.storageBlobDataContributor)
  scope: lake
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataContributor)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelineReadsItsKeys 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(pipelineKeys.id, pipelinePrincipal, roles.keyVaultSecretsUser)
  scope: pipelineKeys
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}

resource pipelinePublishes 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, pipelinePrincipal, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
    principalId: pipelinePrincipal
    principalType: 'ServicePrincipal'
  }
}
