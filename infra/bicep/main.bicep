// Headwater on Azure: receiver and pipeline as two function apps, the hub between them, the lake behind; if wanted, a third
// app that hands what the lake has taken on to other systems.
// Deploy with small.bicepparam or standard.bicepparam; docs/how-to/platform-operator/azure.md says how, and what it costs.
targetScope = 'resourceGroup'

@description('Begins every name; lower-case letters and digits, a letter first.')
@minLength(2)
@maxLength(6)
param prefix string = 'hw'

@description('Region; one with the Flex Consumption plan.')
param location string = resourceGroup().location

@description('Tags of every resource that can have some, such as { owner: \'data-platform\' }.')
param tags object = {}

@description('Throughput units of the hub: 1 MB or 1,000 events a second in, 2 MB a second out, each.')
@minValue(1)
@maxValue(40)
param throughputUnits int

@description('Throughput units up to which the hub grows by itself; it never shrinks by itself. Equal: it does not grow.')
@minValue(1)
@maxValue(40)
param maxThroughputUnits int

@description('Partitions of the hub. Cannot be changed later; at most one parser works on each.')
@minValue(1)
@maxValue(32)
param partitions int

@description('Days the hub keeps events that the parser has not taken.')
@minValue(1)
@maxValue(7)
param hubRetentionDays int

@description('Whether raw events are also captured as Avro files, for `headwater-spark ingest`: own container, deleted after captureDays.')
param capture bool

@description('Replication of the lake and of raw bodies: Standard_LRS in one building, Standard_ZRS in three.')
@allowed([
  'Standard_LRS'
  'Standard_ZRS'
])
param lakeSku string

@description('Days captured raw events are kept: what is ingested anew must be there still.')
@minValue(1)
param captureDays int = 30

@description('Days a body too large for the hub is kept; longer than the hub keeps its pointer, which is 7 days at most.')
@minValue(8)
param claimDays int = 14

@description('Seconds for which the host gathers the events of a partition before the parser commits them: freshness against cost.')
@minValue(1)
@maxValue(300)
param flushSeconds int

@description('Memory in MB of an instance of the receiver: 512, 2048 or 4096.')
@allowed([
  512
  2048
  4096
])
param receiverMemory int

@description('Instances of the receiver that never sleep: a producer that meets a cold start may lose its event.')
@minValue(0)
@maxValue(20)
param receiverAlwaysReady int = 1

@description('Requests that an instance of the receiver takes at a time: each waits for the hub most of its time.')
@minValue(1)
@maxValue(1000)
param receiverHttpConcurrency int = 100

@description('Requests that an instance of the API takes at a time.')
@minValue(1)
@maxValue(1000)
param pipelineHttpConcurrency int = 32

@description('Instances of the API that never sleep; 0: after a rest the first questions get 503 until a snapshot of the index is there.')
@minValue(0)
@maxValue(20)
param apiAlwaysReady int = 0

@description('Largest number of instances of either app; 40 is the least the plan takes.')
@minValue(40)
@maxValue(1000)
param maxInstances int = 40

@description('Traces a second that the receiver sends to Application Insights. The pipeline sends all: alerts read its lines.')
param receiverTracesPerSecond string = '0.5'

@description('GB of logs a day above which Log Analytics takes no more; a bound on cost.')
param logsDailyGb int

@description('Minutes between two looks of an alert at the logs: 5 or 15.')
@allowed([
  5
  15
])
param alertMinutes int

@description('Hours without any event after which the alert heartbeat fires; 0: no such alert. Log alerts know these windows only.')
@allowed([
  0
  1
  2
  3
  4
  5
  6
  24
  48
])
param heartbeatHours int = 24

@description('Who gets mail when an alert fires; empty for nobody.')
param alertEmail string = ''

@description('Whether hub, lake, vault and the storage of the apps are reached through private endpoints only.')
param privateNetwork bool = false

@description('Addresses, as ranges such as 203.0.113.0/24, from which producers post; empty: from anywhere.')
param allowedIps array = []

@description('Addresses from which the API and the page are asked; empty: from anywhere.')
param apiAllowedIps array = []

@description('Whether producers reach the receiver by a private endpoint only; wants privateNetwork, and is then deployed to from there.')
param privateIngress bool = false

@description('Fabric workspaces, by id, that read the lake by a shortcut through its firewall; of use with privateNetwork.')
param fabricWorkspaces array = []

@description('Application (client id) of Entra ID by which people sign in before they get to the page; empty: no sign-in of the platform.')
param signInClientId string = ''

@description('Further settings of the app that answers, such as HEADWATER_OIDC_ISSUER: a deployment replaces all others.')
param apiSettings object = {}

@description('Whether each request that changes the lake, and each to raw bodies, is logged: who did what.')
param storageLogs bool = false

@description('What all may cost a month, in the currency of your bill; alertEmail gets mail. 0: no budget.')
@minValue(0)
param monthlyBudget int = 0

@description('First day of the budget, such as 2026-11-01. Azure refuses another one later: repeat that of the existing budget. Empty only without a budget.')
param budgetFrom string

@description('Whether a vault of the same name that was deleted within 90 days is taken up again: after a teardown.')
param recoverVault bool = false

@description('Folders from which files of events are taken every minute, as abfss:// addresses; the pipeline must be let in to read them.')
param ingestFolders array = []

@description('Hours after which a file that was taken is deleted, once its events are in the lake; 0 keeps all. The pipeline must be let in to delete.')
@minValue(0)
param ingestKeepHours int = 0

@description('Whether the app of sinks is deployed: it hands on what the lake has taken, as sinks.yml beside the lake says.')
param withSinks bool = false

@description('Secrets of the vault that sinks.yml refers to, by name; only the app of sinks can read them. They must be there.')
param sinkSecrets array = []

@description('Seconds that an event may wait for a sink before an alert fires.')
@minValue(120)
param sinkLagSeconds int = 1800

@description('Who may read the lake besides the apps, each { id: object id, type: Group, User or ServicePrincipal }: shortcuts, notebooks.')
param lakeReaders array = []

@description('Who may write to it, too: Spark that makes silver and gold, by its workspace identity or by who runs it.')
param lakeWriters array = []

@description('Who may read the notebooks\' two secrets, as lakeReaders.')
param notebookUsers array = []

@description('Key with which notebooks have their own lineage sent; one of receiverKeys in plain text. Empty: no secret is made.')
@secure()
param notebookWriteKey string = ''

@description('Key with which notebooks ask; one of pipelineKeys in plain text. Empty: no secret is made.')
@secure()
param notebookReadKey string = ''

@description('Keys of producers, as JSON: docs/reference/settings.md, Keys. Only the receiver can read them.')
@secure()
@minLength(2)
param receiverKeys string

@description('Keys of readers, as JSON. Only the pipeline, which serves the API, can read them.')
@secure()
@minLength(2)
param pipelineKeys string

var suffix = uniqueString(resourceGroup().id)
var hubName = 'openlineage'
var consumerGroup = 'headwater'
var lakeContainer = 'lake'
var claimsContainer = 'claims'
var flushTime = '00:${padLeft(string(flushSeconds / 60), 2, '0')}:${padLeft(string(flushSeconds % 60), 2, '0')}'
// tools/azure_environment.py refuses the same combinations before anything is deployed. json() of a sentence fails and
// shows it; checkov's parser does not know fail()
var budgetUnsupported = monthlyBudget > 0 && (empty(alertEmail) || empty(budgetFrom)) ? 'monthlyBudget needs alertEmail and budgetFrom: set all three, or no budget.' : ''
var networkUnsupported = !privateNetwork && (privateIngress || !empty(fabricWorkspaces)) ? 'privateIngress and fabricWorkspaces need privateNetwork: set it, or neither.' : ''
var unsupported = '${budgetUnsupported}${networkUnsupported}'
// not called publicAccess as the modules call it: checkov takes both for one, and then not on every run
var publicNetworkAccess = !empty(unsupported) ? json(unsupported) : (privateNetwork ? 'Disabled' : 'Enabled')
var ingestJson = string(ingestFolders)
var ingestKeep = string(ingestKeepHours)
var subnetId = privateNetwork ? network.outputs.appsSubnetId : ''
var ingress = privateIngress ? 'Disabled' : 'Enabled'

// Settings of both apps: where things are. No secret is among them.
var commonSettings = {
  HEADWATER_LOG: 'event_hub'
  HEADWATER_HUB_NAMESPACE: hub.outputs.host
  HEADWATER_HUB_NAME: hubName
  HEADWATER_CLAIMS_URL: '${raw.outputs.blobEndpoint}${claimsContainer}'
}

var receiverSettings = {
  HEADWATER_TRIGGERS: '["receiver"]'
  HEADWATER_IDENTITY_CLIENT_ID: receiverIdentity.properties.clientId
  HEADWATER_KEYS: '@Microsoft.KeyVault(VaultName=${vault.outputs.name};SecretName=${vault.outputs.receiverSecret})'
  OTEL_TRACES_SAMPLER: 'microsoft.rate_limited'
  OTEL_TRACES_SAMPLER_ARG: receiverTracesPerSecond
}

var pipelineSettings = {
  HEADWATER_TRIGGERS: '["parser", "maintenance", "api", "ingest"]'
  HEADWATER_INGEST: ingestJson
  HEADWATER_INGEST_KEEP_HOURS: ingestKeep
  HEADWATER_IDENTITY_CLIENT_ID: pipelineIdentity.properties.clientId
  HEADWATER_KEYS: '@Microsoft.KeyVault(VaultName=${vault.outputs.name};SecretName=${vault.outputs.pipelineSecret})'
  HEADWATER_HUB_CONSUMER_GROUP: consumerGroup
  HEADWATER_HUB__fullyQualifiedNamespace: hub.outputs.host
  HEADWATER_HUB__credential: 'managedidentity'
  HEADWATER_HUB__clientId: pipelineIdentity.properties.clientId
  HEADWATER_LAKE: 'abfss://${lakeContainer}@${lake.outputs.dfsHost}'
  HEADWATER_VACUUM_HOURS: '168' // a Fabric shortcut reads files for up to a week after they were replaced
  AzureWebJobsDisableHomepage: 'true' // the dashboard is at the root
  AzureFunctionsJobHost__extensions__eventHubs__maxWaitTime: flushTime // over host.json's; the host's waiting is not billed
  OTEL_TRACES_SAMPLER: 'microsoft.fixed_percentage'
  OTEL_TRACES_SAMPLER_ARG: '1.0'
}

// Neither hub nor claims nor keys: it reads the lake alone.
var sinksSettings = {
  HEADWATER_TRIGGERS: '["sinks"]'
  HEADWATER_IDENTITY_CLIENT_ID: sinksIdentity.properties.clientId
  HEADWATER_LAKE: 'abfss://${lakeContainer}@${lake.outputs.dfsHost}'
  HEADWATER_SINKS: 'abfss://${lakeContainer}@${lake.outputs.dfsHost}/sinks.yml'
  OTEL_TRACES_SAMPLER: 'microsoft.fixed_percentage'
  OTEL_TRACES_SAMPLER_ARG: '1.0'
}

resource receiverIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${prefix}-receiver-${suffix}'
  location: location
  tags: tags
}

resource pipelineIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = {
  name: '${prefix}-pipeline-${suffix}'
  location: location
  tags: tags
}

resource sinksIdentity 'Microsoft.ManagedIdentity/userAssignedIdentities@2024-11-30' = if (withSinks) {
  name: '${prefix}-sinks-${suffix}'
  location: location
  tags: tags
}

module monitoring 'modules/monitoring.bicep' = {
  name: 'monitoring'
  params: {
    name: '${prefix}-${suffix}'
    location: location
    tags: tags
    dailyGb: logsDailyGb
  }
}

module lake 'modules/lake.bicep' = {
  name: 'lake'
  params: {
    name: '${prefix}lake${suffix}'
    location: location
    tags: tags
    sku: lakeSku
    lakeContainer: lakeContainer
    publicAccess: publicNetworkAccess
    fabricWorkspaces: fabricWorkspaces
    workspaceId: monitoring.outputs.workspaceId
    logRequests: storageLogs
  }
}

module raw 'modules/raw.bicep' = {
  name: 'raw'
  params: {
    name: '${prefix}raw${suffix}'
    location: location
    tags: tags
    sku: lakeSku
    claimsContainer: claimsContainer
    claimDays: claimDays
    capture: capture
    captureDays: captureDays
    publicAccess: publicNetworkAccess
    workspaceId: monitoring.outputs.workspaceId
    logRequests: storageLogs
  }
}

module hub 'modules/hub.bicep' = {
  name: 'hub'
  params: {
    name: '${prefix}-${suffix}'
    location: location
    tags: tags
    hubName: hubName
    consumerGroup: consumerGroup
    partitions: partitions
    retentionDays: hubRetentionDays
    throughputUnits: throughputUnits
    maxThroughputUnits: maxThroughputUnits
    capture: capture
    storageName: raw.outputs.name
    captureContainer: raw.outputs.captureContainer
    workspaceId: monitoring.outputs.workspaceId
    publicAccess: publicNetworkAccess
  }
}

module vault 'modules/vault.bicep' = {
  name: 'vault'
  params: {
    name: '${prefix}-${suffix}'
    location: location
    tags: tags
    receiverKeys: receiverKeys
    pipelineKeys: pipelineKeys
    notebookWriteKey: notebookWriteKey
    notebookReadKey: notebookReadKey
    notebookUsers: notebookUsers
    publicAccess: publicNetworkAccess
    recover: recoverVault
    workspaceId: monitoring.outputs.workspaceId
  }
}

module access 'modules/access.bicep' = {
  name: 'access'
  params: {
    receiverPrincipal: receiverIdentity.properties.principalId
    pipelinePrincipal: pipelineIdentity.properties.principalId
    namespaceName: hub.outputs.name
    hubName: hubName
    lakeStorageName: lake.outputs.name
    rawStorageName: raw.outputs.name
    lakeContainer: lakeContainer
    claimsContainer: claimsContainer
    vaultName: vault.outputs.name
    receiverSecret: vault.outputs.receiverSecret
    pipelineSecret: vault.outputs.pipelineSecret
    insightsName: monitoring.outputs.insightsName
    pipelineSends: !empty(ingestFolders)
  }
}

module lakeAccess 'modules/lake_access.bicep' = {
  name: 'lake-access'
  params: {
    readers: lakeReaders
    writers: lakeWriters
    storageName: lake.outputs.name
    lakeContainer: lakeContainer
  }
}

module sinksAccess 'modules/sinks_access.bicep' = if (withSinks) {
  name: 'sinks-access'
  params: {
    principal: sinksIdentity.properties.principalId
    storageName: lake.outputs.name
    lakeContainer: lakeContainer
    vaultName: vault.outputs.name
    sinkSecrets: sinkSecrets
    insightsName: monitoring.outputs.insightsName
  }
}

module receiver 'modules/app.bicep' = {
  name: 'receiver'
  dependsOn: [
    access // an app that starts before its roles answers 503 until it is restarted
  ]
  params: {
    name: '${prefix}-receiver-${suffix}'
    service: 'receiver'
    account: '${prefix}rcv${suffix}'
    location: location
    tags: tags
    identityId: receiverIdentity.id
    clientId: receiverIdentity.properties.clientId
    principalId: receiverIdentity.properties.principalId
    insightsConnection: monitoring.outputs.insightsConnection
    memory: receiverMemory
    alwaysReady: receiverAlwaysReady
    httpConcurrency: receiverHttpConcurrency
    maxInstances: maxInstances
    publicAccess: publicNetworkAccess
    subnetId: subnetId
    allowedIps: allowedIps
    ingress: ingress
    settings: union(commonSettings, receiverSettings)
  }
}

module pipeline 'modules/app.bicep' = {
  name: 'pipeline'
  dependsOn: [
    access
  ]
  params: {
    name: '${prefix}-pipeline-${suffix}'
    service: 'pipeline'
    account: '${prefix}pipe${suffix}'
    location: location
    tags: tags
    identityId: pipelineIdentity.id
    clientId: pipelineIdentity.properties.clientId
    principalId: pipelineIdentity.properties.principalId
    insightsConnection: monitoring.outputs.insightsConnection
    memory: 2048
    alwaysReady: apiAlwaysReady
    httpConcurrency: pipelineHttpConcurrency
    maxInstances: maxInstances
    publicAccess: publicNetworkAccess
    subnetId: subnetId
    allowedIps: apiAllowedIps
    signInClientId: signInClientId
    settings: union(commonSettings, pipelineSettings, apiSettings)
  }
}

module sinks 'modules/app.bicep' = if (withSinks) {
  name: 'sinks'
  dependsOn: [
    sinksAccess
  ]
  params: {
    name: '${prefix}-sinks-${suffix}'
    service: 'sinks'
    account: '${prefix}sink${suffix}'
    location: location
    tags: tags
    identityId: sinksIdentity.id
    clientId: sinksIdentity.properties.clientId
    principalId: sinksIdentity.properties.principalId
    insightsConnection: monitoring.outputs.insightsConnection
    memory: 2048
    alwaysReady: 0
    httpConcurrency: 1 // it takes no requests
    maxInstances: maxInstances
    publicAccess: publicNetworkAccess
    subnetId: subnetId
    settings: sinksSettings
  }
}

module alerts 'modules/alerts.bicep' = {
  name: 'alerts'
  params: {
    prefix: prefix
    location: location
    tags: tags
    email: alertEmail
    minutes: alertMinutes
    flushSeconds: flushSeconds
    withSinks: withSinks
    sinkLagSeconds: sinkLagSeconds
    workspaceId: monitoring.outputs.workspaceId
    receiverId: receiver.outputs.id
    pipelineName: pipeline.outputs.name
    heartbeatHours: heartbeatHours
    hubName: hubName
  }
}

module workbook 'modules/workbook.bicep' = {
  name: 'workbook'
  params: {
    name: '${prefix}-${suffix}'
    location: location
    tags: tags
    workspaceId: monitoring.outputs.workspaceId
    parserLine: alerts.outputs.parserLine
    gapLine: alerts.outputs.gapLine
  }
}

module budget 'modules/budget.bicep' = if (monthlyBudget > 0) {
  name: 'budget'
  params: {
    name: prefix
    amount: monthlyBudget
    email: alertEmail
    from: budgetFrom
  }
}

module network 'modules/network.bicep' = if (privateNetwork) {
  name: 'network'
  params: {
    name: '${prefix}-${suffix}'
    location: location
    tags: tags
  }
}

module endpoints 'modules/endpoints.bicep' = if (privateNetwork) {
  name: 'endpoints'
  params: {
    prefix: prefix
    location: location
    tags: tags
    networkId: network.outputs.id
    subnetId: network.outputs.endpointsSubnetId
    lakeId: lake.outputs.id
    rawId: raw.outputs.id
    hubId: hub.outputs.id
    vaultId: vault.outputs.id
    receiverStorageId: receiver.outputs.storageId
    pipelineStorageId: pipeline.outputs.storageId
    receiverId: privateIngress ? receiver.outputs.id : ''
    sinksStorageId: withSinks ? sinks.outputs.storageId : ''
  }
}

output receiverUrl string = 'https://${receiver.outputs.host}/api/v1/lineage'
output receiverApp string = receiver.outputs.name
output apiUrl string = 'https://${pipeline.outputs.host}'
output pipelineApp string = pipeline.outputs.name
output sinksApp string = withSinks ? sinks.outputs.name : ''
output lakeUri string = pipelineSettings.HEADWATER_LAKE
output lakeAccount string = lake.outputs.name
output lakeContainer string = lakeContainer
output keyVault string = vault.outputs.uri
