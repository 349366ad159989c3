// One page in the portal: what came in, what waits, what was refused, who works. Its queries read what the alerts read.
param name string
param location string
param tags object
param workspaceId string
param parserLine string
param gapLine string

var charts = [
  {
    name: 'stored'
    title: 'Records in the lake, by partition'
    look: 'timechart'
    query: '${parserLine} | summarize Stored = sum(Records) by bin(TimeGenerated, 5m), Partition'
  }
  {
    name: 'waited'
    title: 'Longest wait between hub and lake (s), by partition'
    look: 'timechart'
    query: '${parserLine} | summarize Longest = max(Waited) by bin(TimeGenerated, 5m), Partition'
  }
  {
    name: 'rejected'
    title: 'Rejected records: table `rejected` says why'
    look: 'timechart'
    query: '${parserLine} | summarize Refused = sum(Rejected) by bin(TimeGenerated, 5m)'
  }
  {
    name: 'hub'
    title: 'Events into the hub, and out of it'
    look: 'timechart'
    query: 'AzureMetrics | where ResourceProvider == "MICROSOFT.EVENTHUB" and MetricName in ("IncomingMessages", "OutgoingMessages") | summarize Events = sum(Total) by bin(TimeGenerated, 5m), MetricName'
  }
  {
    name: 'answers'
    title: 'Answers of the apps, by status'
    look: 'timechart'
    query: 'AppRequests | summarize Answers = count() by bin(TimeGenerated, 5m), Status = strcat(AppRoleName, " ", ResultCode)'
  }
  {
    name: 'instances'
    title: 'Instances at work'
    look: 'timechart'
    query: 'AppTraces | summarize Instances = dcount(AppRoleInstance) by bin(TimeGenerated, 5m), AppRoleName'
  }
  {
    name: 'gaps'
    title: 'Gaps: what the hub let go of before the parser came'
    look: 'table'
    query: '${gapLine} | project TimeGenerated, Message'
  }
  {
    name: 'waits'
    title: 'Partitions that wait, and why'
    look: 'table'
    query: 'AppTraces | where Message has "waits, nothing is lost" | summarize Times = count(), Last = max(TimeGenerated) by Message'
  }
]
var items = [for chart in charts: {
  type: 3
  name: chart.name
  content: {
    version: 'KqlItem/1.0'
    title: chart.title
    query: chart.query
    visualization: chart.look
    queryType: 0
    resourceType: 'microsoft.operationalinsights/workspaces'
    timeContext: {
      durationMs: 86400000
    }
  }
}]

resource workbook 'Microsoft.Insights/workbooks@2023-06-01' = {
  name: guid(resourceGroup().id, name)
  location: location
  tags: tags
  kind: 'shared'
  properties: {
    displayName: 'Headwater ${name}'
    category: 'workbook'
    sourceId: workspaceId
    serializedData: string({
      version: 'Notebook/1.0'
      items: items
      fallbackResourceIds: [
        workspaceId
      ]
    })
  }
}
