// A virtual network of two subnets: the apps go out through one, the private endpoints of their services stand in the other.
param name string
param location string
param tags object

resource guard 'Microsoft.Network/networkSecurityGroups@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    securityRules: []
  }
}

resource network 'Microsoft.Network/virtualNetworks@2025-05-01' = {
  name: name
  location: location
  tags: tags
  properties: {
    addressSpace: {
      addressPrefixes: [
        '10.20.0.0/16'
      ]
    }
    subnets: [
      {
        name: 'apps'
        properties: {
          addressPrefix: '10.20.0.0/24'
          networkSecurityGroup: {
            id: guard.id
          }
          delegations: [
            {
              name: 'functions'
              properties: {
                serviceName: 'Microsoft.App/environments'
              }
            }
          ]
        }
      }
      {
        name: 'endpoints'
        properties: {
          addressPrefix: '10.20.1.0/24'
          networkSecurityGroup: {
            id: guard.id
          }
        }
      }
    ]
  }
}

output id string = network.id
output appsSubnetId string = '${network.id}/subnets/apps'
output endpointsSubnetId string = '${network.id}/subnets/endpoints'
