// One private endpoint for each service the apps speak to, and the DNS zones that lead there.
param prefix string
param location string
param tags object
param networkId string
param subnetId string
param lakeId string
param rawId string
param hubId string
param vaultId string
param receiverStorageId string
param pipelineStorageId string
param sinksStorageId string
param receiverId string

var storageSuffix = environment().suffixes.storage
var services = [
  'privatelink.blob.${storageSuffix}'
  'privatelink.dfs.${storageSuffix}'
  'privatelink.servicebus.windows.net'
  'privatelink.vaultcore.azure.net'
]
var zones = empty(receiverId) ? services : concat(services, [
  'privatelink.azurewebsites.net'
])
var receiverEndpoints = empty(receiverId) ? [] : [
  {
    name: 'receiver'
    id: receiverId
    group: 'sites'
    zone: 4
  }
]
var sinksEndpoints = empty(sinksStorageId) ? [] : [
  {
    name: 'sinks-blob'
    id: sinksStorageId
    group: 'blob'
    zone: 0
  }
]
var endpoints = concat(sinksEndpoints, receiverEndpoints, [
  {
    name: 'lake-blob'
    id: lakeId
    group: 'blob'
    zone: 0
  }
  {
    name: 'lake-dfs'
    id: lakeId
    group: 'dfs'
    zone: 1
  }
  {
    name: 'raw-blob'
    id: rawId
    group: 'blob'
    zone: 0
  }
  {
    name: 'receiver-blob'
    id: receiverStorageId
    group: 'blob'
    zone: 0
  }
  {
    name: 'pipeline-blob'
    id: pipelineStorageId
    group: 'blob'
    zone: 0
  }
  {
    name: 'hub'
    id: hubId
    group: 'namespace'
    zone: 2
  }
  {
    name: 'vault'
    id: vaultId
    group: 'vault'
    zone: 3
  }
])

resource zone 'Microsoft.Network/privateDnsZones@2024-06-01' = [for name in zones: {
  name: name
  location: 'global'
  tags: tags
}]

resource link 'Microsoft.Network/privateDnsZones/virtualNetworkLinks@2024-06-01' = [for (name, index) in zones: {
  parent: zone[index]
  name: prefix
  location: 'global'
  tags: tags
  properties: {
    registrationEnabled: false
    virtualNetwork: {
      id: networkId
    }
  }
}]

resource endpoint 'Microsoft.Network/privateEndpoints@2025-05-01' = [for service in endpoints: {
  name: '${prefix}-${service.name}'
  location: location
  tags: tags
  properties: {
    subnet: {
      id: subnetId
    }
    privateLinkServiceConnections: [
      {
        name: service.name
        properties: {
          privateLinkServiceId: service.id
          groupIds: [
            service.group
          ]
        }
      }
    ]
  }
}]

resource zoneGroup 'Microsoft.Network/privateEndpoints/privateDnsZoneGroups@2025-05-01' = [for (service, index) in endpoints: {
  parent: endpoint[index]
  name: 'default'
  properties: {
    privateDnsZoneConfigs: [
      {
        name: 'zone'
        properties: {
          privateDnsZoneId: zone[service.zone].id
        }
      }
    ]
  }
}]
