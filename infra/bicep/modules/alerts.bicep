// Alerts. `receiver-5xx` reads a metric of the platform, `api-faults` requests, `heartbeat` a metric of the hub. The others read two log lines of the parser (REPORT and GAP in headwater/intake/parser/partition_parser.py):
//   Partition 3: 250 records in the lake up to sequence 4711, 2 rejected; the oldest waited 12 s
//   Partition 3: 40 of the records up to sequence 4711 are lost: the log let go of them before the parser came. …
// The rules of sinks read three lines of their app (REPORT and BROKEN in functions/sinks.py, GIVEN_UP in headwater/sinks/running/ledger.py):
//   Sink catalog (open): 40 events of the lake wait for it, the oldest for 900 s
//   Sink catalog: 2 events given up, see `headwater sinks failures`. The first: status 422: …
// tests/infra/test_alerts.py holds these texts and the code's together.
param prefix string
param location string
param tags object
param email string
param minutes int
param flushSeconds int
param withSinks bool
param sinkLagSeconds int
param workspaceId string
param receiverId string
param pipelineName string
param heartbeatHours int
param hubName string

var parserLine = 'AppTraces | where Message has "records in the lake" | parse Message with * "Partition " Partition ": " Records:long " records in the lake up to sequence " Sequence:long ", " Rejected:long " rejected; the oldest waited " Waited:long " s"'
var gapLine = 'AppTraces | where Message has "are lost: the log let go of them"'
var hubMessages = 'AzureMetrics | where ResourceProvider == "MICROSOFT.EVENTHUB" and MetricName == "IncomingMessages" | project Came = Total, Said = 0'
var lagSeconds = 300 + 2 * flushSeconds
var actions = empty(email) ? [] : [
  group.id
]

var heartbeat = {
  name: 'heartbeat'
  title: 'No event arrived in the hub ${hubName} for ${heartbeatHours} h: producers are down, misconfigured or refused. heartbeatHours changes the time, 0 ends this alert.'
  severity: 2
  periods: 1
  window: 'PT${heartbeatHours}H'
  query: '${hubMessages} | summarize Came = sum(Came) | where Came == 0'
}

var rules = [
  {
    name: 'api-faults'
    title: 'The API answered a request with an error of its own. An instance that still reads the lake answers 503 `behind`, which is normal and not counted.'
    severity: 2
    periods: 1
    query: 'AppRequests | where AppRoleName == "${pipelineName}" and toint(ResultCode) >= 500 and ResultCode != "503"'
  }
  {
    name: 'lag'
    title: 'Records wait more than ${lagSeconds} s between hub and lake: more partitions or instances are needed, or the lake is slow.'
    severity: 2
    periods: 2
    query: '${parserLine} | where Waited > ${lagSeconds}'
  }
  {
    name: 'rejected'
    title: 'More than one record in a hundred, and more than ten, ended in table rejected: its columns reason and field say why.'
    severity: 2
    periods: 1
    query: '${parserLine} | summarize Rejected = sum(Rejected), Records = sum(Records) | where Rejected > 10 and Rejected * 100 > Records'
  }
  {
    name: 'gap'
    title: 'The hub ${hubName} no longer holds events that it acknowledged: retention passed them before the parser. Table rejected names the sequences.'
    severity: 1
    periods: 1
    query: gapLine
  }
  {
    name: 'parser-silence'
    title: 'Events come into the hub ${hubName}, but the parser has committed nothing for half an hour: its last log line says why.'
    severity: 1
    periods: 2
    query: 'union (${hubMessages}), (${parserLine} | project Came = 0.0, Said = 1) | summarize Came = sum(Came), Said = sum(Said) | where Came > 0 and Said == 0'
  }
]

var sinkLine = 'AppTraces | where Message has "events of the lake wait for it" | parse Message with * "Sink " Sink " (" State "): " Waiting:long " events of the lake wait for it, the oldest for " Waited:long " s"'
var givenUpLine = 'AppTraces | where Message has "events given up, see"'
var brokenLine = 'Message has "file of sinks is not taken up"'
var sinkRules = [
  {
    name: 'sink-lag'
    title: 'Events wait more than ${sinkLagSeconds} s for a sink: its target is down or slow. `headwater sinks` says what ails it.'
    severity: 2
    periods: 2
    query: '${sinkLine} | where Waited > ${sinkLagSeconds} and State != "paused"'
  }
  {
    name: 'sink-dead-letters'
    title: 'The target of a sink refused events for good: `headwater sinks failures NAME` says which and why, `redrive` sends them again.'
    severity: 2
    periods: 1
    query: givenUpLine
  }
  {
    name: 'sink-silence'
    title: 'No sink has reported for half an hour, or sinks.yml was not taken up for as long as five runs: it names none, is broken or out of reach, or its app does not run. Its last log line says why.'
    severity: 2
    periods: 2
    query: 'union (${sinkLine} | project Said = 1, Broken = 0), (AppTraces | where ${brokenLine} | project Said = 0, Broken = 1) | summarize Said = sum(Said), Broken = sum(Broken) | where Said == 0 or Broken > 5'
  }
]

resource group 'Microsoft.Insights/actionGroups@2023-01-01' = if (!empty(email)) {
  name: '${prefix}-alerts'
  location: 'global'
  tags: tags
  properties: {
    groupShortName: prefix
    enabled: true
    emailReceivers: [
      {
        name: 'operator'
        emailAddress: email
        useCommonAlertSchema: true
      }
    ]
  }
}

resource lineAlerts 'Microsoft.Insights/scheduledQueryRules@2025-01-01-preview' = [for rule in concat(rules, heartbeatHours > 0 ? [heartbeat] : [], withSinks ? sinkRules : []): {
  name: '${prefix}-${rule.name}'
  location: location
  tags: tags
  kind: 'LogAlert'
  properties: {
    displayName: '${prefix} ${rule.name}'
    description: rule.title
    severity: rule.severity
    enabled: true
    autoMitigate: true
    skipQueryValidation: true // the tables appear with their first rows
    scopes: [
      workspaceId
    ]
    evaluationFrequency: 'PT${minutes}M'
    windowSize: rule.?window ?? 'PT30M'
    criteria: {
      allOf: [
        {
          query: rule.query
          timeAggregation: 'Count'
          operator: 'GreaterThan'
          threshold: 0
          failingPeriods: {
            numberOfEvaluationPeriods: rule.periods
            minFailingPeriodsToAlert: rule.periods
          }
        }
      ]
    }
    actions: {
      actionGroups: actions
    }
  }
}]

resource receiverErrors 'Microsoft.Insights/metricAlerts@2018-03-01' = {
  name: '${prefix}-receiver-5xx'
  location: 'global'
  tags: tags
  properties: {
    description: 'The receiver answered 5xx: 503 means that the hub took nothing (producers try once more), anything else is a fault.'
    severity: 1
    enabled: true
    autoMitigate: true
    scopes: [
      receiverId
    ]
    evaluationFrequency: 'PT5M'
    windowSize: 'PT5M'
    criteria: {
      'odata.type': 'Microsoft.Azure.Monitor.SingleResourceMultipleMetricCriteria'
      allOf: [
        {
          name: '5xx'
          criterionType: 'StaticThresholdCriterion'
          metricNamespace: 'Microsoft.Web/sites'
          metricName: 'Http5xx'
          timeAggregation: 'Total'
          operator: 'GreaterThan'
          threshold: 0
          skipMetricValidation: true // the metric appears with the first request
        }
      ]
    }
    actions: [for id in actions: {
      actionGroupId: id
    }]
  }
}

output parserLine string = parserLine
output gapLine string = gapLine
