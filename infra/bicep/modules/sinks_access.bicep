// What the app of sinks may do: read the lake, write below sinks/ in it, read the secrets that sinks.yml refers to.
// It sees neither hub nor claims nor anybody's keys, and cannot change sinks.yml.
param principal string
param storageName string
param lakeContainer string
param vaultName string
param sinkSecrets array
param insightsName string

var roles = {
  storageBlobDataReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  keyVaultSecretsUser: '4633458b-17de-408a-b874-0445c86b69e6'
  monitoringMetricsPublisher: '3913510d-42f4-4e42-8a64-420c390055eb'
}
var blobType = 'Microsoft.Storage/storageAccounts/blobServices/containers/blobs'
var belowSinks = '@Resource[${blobType}:path] StringLike \'sinks/*\''

resource storage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: storageName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' existing = {
  parent: storage
  name: 'default'
}

resource lake 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = {
  parent: blobs
  name: lakeContainer
}

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' existing = {
  name: vaultName
}

resource sinkSecret 'Microsoft.KeyVault/vaults/secrets@2024-11-01' existing = [for name in sinkSecrets: {
  parent: vault
  name: name
}]

resource insights 'Microsoft.Insights/components@2020-02-02' existing = {
  name: insightsName
}

// No built-in role writes blobs and leaves containers alone.
resource ledgerWriter 'Microsoft.Authorization/roleDefinitions@2022-04-01' = {
  name: guid(resourceGroup().id, 'ledger writer')
  properties: {
    roleName: 'Headwater ledger writer ${uniqueString(resourceGroup().id)}'
    description: 'Writes and deletes blobs: where sinks keep how far they are, and what they gave up.'
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
          '${blobType}/delete'
        ]
        notDataActions: []
      }
    ]
  }
}

resource sinksReadLake 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(lake.id, principal, roles.storageBlobDataReader)
  scope: lake
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataReader)
    principalId: principal
    principalType: 'ServicePrincipal'
  }
}

resource sinksWriteLedger 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(lake.id, principal, ledgerWriter.id)
  scope: lake
  properties: {
    roleDefinitionId: ledgerWriter.id
    principalId: principal
    principalType: 'ServicePrincipal'
    condition: '((!(ActionMatches{\'${blobType}/write\'}) AND !(ActionMatches{\'${blobType}/add/action\'}) AND !(ActionMatches{\'${blobType}/delete\'})) OR (${belowSinks}))'
    conditionVersion: '2.0'
  }
}

resource sinksReadSecrets 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for (name, index) in sinkSecrets: {
  name: guid(vault.id, name, principal, roles.keyVaultSecretsUser)
  scope: sinkSecret[index]
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.keyVaultSecretsUser)
    principalId: principal
    principalType: 'ServicePrincipal'
  }
}]

resource sinksPublish 'Microsoft.Authorization/roleAssignments@2022-04-01' = {
  name: guid(insights.id, principal, roles.monitoringMetricsPublisher)
  scope: insights
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.monitoringMetricsPublisher)
    principalId: principal
    principalType: 'ServicePrincipal'
  }
}
