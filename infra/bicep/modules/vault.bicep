// Keys of producers and readers: one secret for each app, so that neither can read the other's; if wanted, the two that notebooks ask for.
@maxLength(24)
param name string
param location string
param tags object

@secure()
param receiverKeys string

@secure()
param pipelineKeys string

@secure()
param notebookWriteKey string

@secure()
param notebookReadKey string
param notebookUsers array
param publicAccess string
param recover bool
param workspaceId string

var keyVaultSecretsUser = '4633458b-17de-408a-b874-0445c86b69e6'
var writeKeyUsers = empty(notebookWriteKey) ? [] : notebookUsers
var readKeyUsers = empty(notebookReadKey) ? [] : notebookUsers

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    createMode: recover ? 'recover' : 'default' // a vault deleted within 90 days holds its name, and cannot be purged
    tenantId: subscription().tenantId
    sku: {
      family: 'A'
      name: 'standard'
    }
    enableRbacAuthorization: true
    enableSoftDelete: true
    enablePurgeProtection: true
    publicNetworkAccess: publicAccess
    networkAcls: {
      defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny'
      bypass: 'AzureServices'
    }
  }
}

resource receiver 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = {
  parent: vault
  name: 'receiver-keys'
  tags: tags
  properties: {
    value: receiverKeys
    contentType: 'application/json'
  }
}

resource pipeline 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = {
  parent: vault
  name: 'pipeline-keys'
  tags: tags
  properties: {
    value: pipelineKeys
    contentType: 'application/json'
  }
}

resource notebookWrites 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(notebookWriteKey)) {
  parent: vault
  name: 'headwater-write'
  tags: tags
  properties: {
    value: notebookWriteKey
    contentType: 'text/plain'
  }
}

resource notebookReads 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = if (!empty(notebookReadKey)) {
  parent: vault
  name: 'headwater-read'
  tags: tags
  properties: {
    value: notebookReadKey
    contentType: 'text/plain'
  }
}

resource usersReadWriteKey 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for user in writeKeyUsers: {
  name: guid(notebookWrites.id, user.id, keyVaultSecretsUser)
  scope: notebookWrites
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', keyVaultSecretsUser)
    principalId: user.id
    principalType: user.type
  }
}]

resource usersReadReadKey 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for user in readKeyUsers: {
  name: guid(notebookReads.id, user.id, keyVaultSecretsUser)
  scope: notebookReads
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', keyVaultSecretsUser)
    principalId: user.id
    principalType: user.type
  }
}]

// Who read which secret, and who changed one.
resource audit 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'audit'
  scope: vault
  properties: {
    workspaceId: workspaceId
    logs: [
      {
        category: 'AuditEvent'
        enabled: true
      }
    ]
  }
}

output id string = vault.id
output name string = vault.name
output receiverSecret string = receiver.name
output pipelineSecret string = pipeline.name
output uri string = vault.properties.vaultUri
