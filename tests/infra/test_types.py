"""Check the resource bodies of the templates, and some planted errors, with Microsoft's schemas
(tools/azure_types.py).
"""

import pytest

from tests.infra.bicep_types import findings
from tests.infra.templates import names, source
from tools.azure_types import schemas, used

UNKNOWN = {
    "Microsoft.Insights/actionGroups",
    "Microsoft.Insights/diagnosticSettings",
    "Microsoft.Insights/metricAlerts",
    "Microsoft.Insights/scheduledQueryRules",
    "Microsoft.Network/privateDnsZones",
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks",
}
"""Types and versions for which the package has no schema: "with apiVersion … not supported"."""

NEWER = {"Microsoft.Web/sites.properties.functionAppConfig has no property siteUpdateStrategy"}
"""Properties of a type version (2024-11-01 of sites) that is newer than the package."""


def test_microsoft_knows_what_we_deploy_but_for_these() -> None:
    assert set(used()) - set(schemas()) == UNKNOWN


@pytest.mark.parametrize("name", names())
def test_every_body_is_as_its_schema_says(name: str) -> None:
    said = findings(source(name), schemas())
    assert [one for one in said if one.partition(": ")[2] not in NEWER] == []


@pytest.mark.parametrize(
    ("file", "right", "wrong", "said"),
    [
        ("modules/lake.bicep", "minimumTlsVersion", "minimumTlsVersoin", "has no property minimumTlsVersoin"),
        ("modules/app.bicep", "ftpsState: 'Disabled'", "ftpsState: 'Disable'", "ftpsState is 'Disable', not one of"),
        ("modules/app.bicep", "kind: 'StorageV2'", "", "storageAccounts lacks kind"),
        (
            "modules/app.bicep",
            "perInstanceConcurrency",
            "perInstanceConcurency",
            "has no property perInstanceConcurency",
        ),
        ("modules/vault.bicep", "'recover'", "'recovr'", "createMode is 'recovr', not one of"),
        ("modules/lake.bicep", "resourceId: '", "resourceid: '", "has no property resourceid"),
        ("modules/app.bicep", "httpsOnly: true", "httpsOnly: 'true'", "httpsOnly is a string, not a bool"),
    ],
)
def test_a_planted_error_is_found(file: str, right: str, wrong: str, said: str) -> None:
    text = source(file)
    assert right in text
    assert said in " | ".join(findings(text.replace(right, wrong), schemas()))
