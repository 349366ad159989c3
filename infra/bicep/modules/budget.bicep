// What the resource group may cost a month: mail when four fifths are spent, and when the forecast passes all of it.
param name string
param amount int
param email string
param from string

resource budget 'Microsoft.Consumption/budgets@2023-11-01' = {
  name: name
  properties: {
    category: 'Cost'
    timeGrain: 'Monthly'
    amount: amount
    timePeriod: {
      startDate: from
    }
    notifications: {
      spent: {
        enabled: true
        operator: 'GreaterThanOrEqualTo'
        threshold: 80
        thresholdType: 'Actual'
        contactEmails: [
          email
        ]
      }
      forecast: {
        enabled: true
        operator: 'GreaterThan'
        threshold: 100
        thresholdType: 'Forecasted'
        contactEmails: [
          email
        ]
      }
    }
  }
}
