// Who else may use the lake: groups, people, Fabric's workspace identity. Each is { id: '<object id>', type: 'Group' }; type is
// Group, User or ServicePrincipal (a workspace identity is one). Readers: shortcuts, notebooks that ask. Writers: Spark that writes bronze.
// A workspace identity is a reader; ACLs let it write silver and gold (docs/how-to/data-engineer/fabric.md).
param readers array
param writers array
param storageName string
param lakeContainer string

var roles = {
  storageBlobDataReader: '2a2b9908-6ea1-4ae2-8e65-a410df84e7d1'
  storageBlobDataContributor: 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'
}

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

resource read 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for reader in readers: {
  name: guid(lake.id, reader.id, roles.storageBlobDataReader)
  scope: lake
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataReader)
    principalId: reader.id
    principalType: reader.type
  }
}]

resource write 'Microsoft.Authorization/roleAssignments@2022-04-01' = [for writer in writers: {
  name: guid(lake.id, writer.id, roles.storageBlobDataContributor)
  scope: lake
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', roles.storageBlobDataContributor)
    principalId: writer.id
    principalType: writer.type
  }
}]
