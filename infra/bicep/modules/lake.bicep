// The lake: Delta tables.
@maxLength(24)
param name string
param location string
param tags object
param sku string
param lakeContainer string
param publicAccess string

// Fabric workspaces that are let through the firewall, by their ids, where only private endpoints are open otherwise.
param fabricWorkspaces array
param workspaceId string
param logRequests bool

var fabric = '/subscriptions/00000000-0000-0000-0000-000000000000/resourcegroups/Fabric/providers/Microsoft.Fabric/workspaces'

resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: name
  location: location
  tags: tags
  kind: 'StorageV2'
  sku: {
    name: sku
  }
  properties: {
    isHnsEnabled: true
    allowSharedKeyAccess: false
    allowBlobPublicAccess: false
    defaultToOAuthAuthentication: true
    minimumTlsVersion: 'TLS1_2'
    supportsHttpsTrafficOnly: true
    publicNetworkAccess: empty(fabricWorkspaces) ? publicAccess : 'Enabled' // Disabled, the rules below would count for nothing
    networkAcls: {
      defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny'
      bypass: 'AzureServices'
      resourceAccessRules: [for id in fabricWorkspaces: {
        tenantId: subscription().tenantId
        resourceId: '${fabric}/${id}'
      }]
    }
  }
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' = {
  parent: account
  name: 'default'
  properties: {
    deleteRetentionPolicy: {
      enabled: true
      days: 7
    }
    containerDeleteRetentionPolicy: {
      enabled: true
      days: 7
    }
  }
}

resource lakeTables 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' = {
  parent: blobs
  name: lakeContainer
}

// Who changed and deleted what: a line for each request, which is why it is not on by itself.
resource requests 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = if (logRequests) {
  name: 'requests'
  scope: blobs
  properties: {
    workspaceId: workspaceId
    logs: [
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
output dfsHost string = '${account.name}.dfs.${environment().suffixes.storage}'
