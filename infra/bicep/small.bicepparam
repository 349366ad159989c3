// Up to about 100,000 events a day; events are in the lake within about a minute. docs/how-to/platform-operator/azure.md has the cost.
using 'main.bicep'

param throughputUnits = 1
param maxThroughputUnits = 1
param partitions = 2
param hubRetentionDays = 3
param capture = false
param lakeSku = 'Standard_LRS'
param flushSeconds = 60
param receiverMemory = 512
param logsDailyGb = 1
param receiverTracesPerSecond = '0.25'
param alertMinutes = 15
param privateNetwork = bool(readEnvironmentVariable('PRIVATE_NETWORK', 'false'))
param apiAlwaysReady = int(readEnvironmentVariable('API_ALWAYS_READY', '0'))
param tags = json(readEnvironmentVariable('TAGS', '{}'))
param monthlyBudget = int(readEnvironmentVariable('MONTHLY_BUDGET', '0'))
param heartbeatHours = int(readEnvironmentVariable('HEARTBEAT_HOURS', '24'))
param budgetFrom = readEnvironmentVariable('BUDGET_FROM', '')
param recoverVault = bool(readEnvironmentVariable('RECOVER_VAULT', 'false'))
param allowedIps = json(readEnvironmentVariable('ALLOWED_IPS', '[]'))
param apiAllowedIps = json(readEnvironmentVariable('API_ALLOWED_IPS', '[]'))
param signInClientId = readEnvironmentVariable('SIGN_IN_CLIENT_ID', '')
param apiSettings = json(readEnvironmentVariable('API_SETTINGS', '{}'))
param storageLogs = bool(readEnvironmentVariable('STORAGE_LOGS', 'false'))
param privateIngress = bool(readEnvironmentVariable('PRIVATE_INGRESS', 'false'))
param fabricWorkspaces = json(readEnvironmentVariable('FABRIC_WORKSPACES', '[]'))
param withSinks = bool(readEnvironmentVariable('WITH_SINKS', 'false'))
param sinkSecrets = json(readEnvironmentVariable('SINK_SECRETS', '[]'))
param lakeReaders = json(readEnvironmentVariable('LAKE_READERS', '[]'))
param lakeWriters = json(readEnvironmentVariable('LAKE_WRITERS', '[]'))
param notebookUsers = json(readEnvironmentVariable('NOTEBOOK_USERS', '[]'))
param notebookWriteKey = readEnvironmentVariable('NOTEBOOK_WRITE_KEY', '')
param notebookReadKey = readEnvironmentVariable('NOTEBOOK_READ_KEY', '')
param alertEmail = readEnvironmentVariable('ALERT_EMAIL', '')
param receiverKeys = readEnvironmentVariable('RECEIVER_KEYS')
param pipelineKeys = readEnvironmentVariable('PIPELINE_KEYS')
