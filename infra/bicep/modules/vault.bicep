// Keys of producers and readers: one secret for each app, so that neither can read the other's.
@maxLength(24)
param name string
param location string

@secure()
param receiverKeys string

@secure()
param pipelineKeys string
param publicAccess string

resource vault 'Microsoft.KeyVault/vaults@2024-11-01' = {
  name: name
  location: location
  properties: {
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
  properties: {
    value: receiverKeys
    contentType: 'application/json'
  }
}

resource pipeline 'Microsoft.KeyVault/vaults/secrets@2024-11-01' = {
  parent: vault
  name: 'pipeline-keys'
  properties: {
    value: pipelineKeys
    contentType: 'application/json'
  }
}

output id string = vault.id
output name string = vault.name
output receiverSecret string = receiver.name
output pipelineSecret string = pipeline.name
