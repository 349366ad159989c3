// The event log. Standard: the small tier's one throughput unit is the least that has a Kafka endpoint and a consumer group.
param name string
param location string
param tags object
param hubName string
param consumerGroup string
param partitions int
param retentionDays int
param throughputUnits int
param maxThroughputUnits int
param capture bool
param storageName string
param captureContainer string
param workspaceId string
param publicAccess string

var blobDataContributor = 'ba92f5b4-2d11-453d-a403-e96b0029c9fe'

resource storage 'Microsoft.Storage/storageAccounts@2025-06-01' existing = {
  name: storageName
}

resource blobs 'Microsoft.Storage/storageAccounts/blobServices@2025-06-01' existing = {
  parent: storage
  name: 'default'
}

resource captured 'Microsoft.Storage/storageAccounts/blobServices/containers@2025-06-01' existing = {
  parent: blobs
  name: captureContainer
}

resource captureIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (capture) {
  name: '${name}-capture'
  location: location
  tags: tags
}

resource captureWrites 'Microsoft.Authorization/roleAssignments@2022-04-01' = if (capture) {
  name: guid(captured.id, name, blobDataContributor)
  scope: captured
  properties: {
    roleDefinitionId: subscriptionResourceId('Microsoft.Authorization/roleDefinitions', blobDataContributor)
    principalId: captureIdentity.properties.principalId
    principalType: 'ServicePrincipal'
  }
}

resource namespace 'Microsoft.EventHub/namespaces@2024-01-01' = {
  name: name
  location: location
  tags: tags
  sku: {
    name: 'Standard'
    tier: 'Standard'
    capacity: throughputUnits
  }
  identity: capture ? {
    type: 'UserAssigned'
    userAssignedIdentities: {
      '${captureIdentity.id}': {}
    }
  } : {
    type: 'None'
  }
  properties: {
    disableLocalAuth: true
    minimumTlsVersion: '1.2'
    isAutoInflateEnabled: maxThroughputUnits > throughputUnits
    maximumThroughputUnits: maxThroughputUnits > throughputUnits ? maxThroughputUnits : 0
    kafkaEnabled: true
    publicNetworkAccess: publicAccess
  }
}

resource hub 'Microsoft.EventHub/namespaces/eventhubs@2024-01-01' = {
  parent: namespace
  name: hubName
  dependsOn: [
    captureWrites // capture is refused while its identity may not write
  ]
  properties: {
    partitionCount: partitions
    retentionDescription: {
      cleanupPolicy: 'Delete'
      retentionTimeInHours: retentionDays * 24
    }
    captureDescription: capture ? {
      enabled: true
      encoding: 'Avro'
      intervalInSeconds: 300
      sizeLimitInBytes: 314572800
      skipEmptyArchives: true
      destination: {
        name: 'EventHubArchive.AzureBlockBlob'
        identity: {
          type: 'UserAssigned'
          userAssignedIdentity: captureIdentity.id
        }
        properties: {
          storageAccountResourceId: storage.id
          blobContainer: captureContainer
          archiveNameFormat: '{Namespace}/{EventHub}/{PartitionId}/{Year}/{Month}/{Day}/{Hour}/{Minute}/{Second}'
        }
      }
    } : null
  }
}

resource group 'Microsoft.EventHub/namespaces/eventhubs/consumergroups@2024-01-01' = {
  parent: hub
  name: consumerGroup
}

// The hub's own count of what came in: an alert compares it with what the parser says.
resource metrics 'Microsoft.Insights/diagnosticSettings@2021-05-01-preview' = {
  name: 'metrics'
  scope: namespace
  properties: {
    workspaceId: workspaceId
    metrics: [
      {
        category: 'AllMetrics'
        enabled: true
      }
    ]
  }
}

output id string = namespace.id
output name string = namespace.name
output host string = '${namespace.name}.servicebus.windows.net'
