"""checkov's findings for the templates. Each is fixed or listed here with a reason."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.infra.templates import BICEP, names
from tools.policy import Report, lint

pytestmark = pytest.mark.slow

PUBLIC = (
    "only with privateNetwork: without it the apps come from addresses that Azure chooses; identities guard the service"
)
NOT_A_SITE_CONFIG = "the check takes another list of settings for the site's configuration"
NO_SUCH_OPTION = "Flex Consumption has no such option; its instances are replaced by the platform"
BELOW_A_CONDITION = "it has one, which the check does not find in a resource with a condition"
ACCEPTED = {
    ("CKV_AZURE_114", "modules/vault.bicep", "notebookWrites"): BELOW_A_CONDITION,
    ("CKV_AZURE_114", "modules/vault.bicep", "notebookReads"): BELOW_A_CONDITION,
    ("CKV_AZURE_109", "modules/vault.bicep", "vault"): PUBLIC,
    ("CKV_AZURE_189", "modules/vault.bicep", "vault"): PUBLIC,
    ("CKV_AZURE_35", "modules/lake.bicep", "account"): PUBLIC,
    ("CKV_AZURE_35", "modules/app.bicep", "storage"): PUBLIC,
    ("CKV_AZURE_222", "modules/app.bicep", "app"): "producers post from anywhere; every request needs a key",
    ("CKV_AZURE_222", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_17", "modules/app.bicep", "app"): "OpenLineage clients hold keys, not certificates",
    (
        "CKV_AZURE_41",
        "modules/vault.bicep",
        "receiver",
    ): "expiry would lock every producer out at once; deploy new keys",
    ("CKV_AZURE_41", "modules/vault.bicep", "pipeline"): "expiry would lock every reader out at once; deploy new keys",
    ("CKV_AZURE_41", "modules/vault.bicep", "notebookWrites"): "a copy of a producers' key: deploy another",
    ("CKV_AZURE_41", "modules/vault.bicep", "notebookReads"): "a copy of a readers' key: deploy another",
    ("CKV_AZURE_206", "modules/lake.bicep", "account"): "the tier says: lakeSku",
    ("CKV_AZURE_206", "modules/raw.bicep", "account"): "the tier says: lakeSku",
    ("CKV_AZURE_35", "modules/raw.bicep", "account"): PUBLIC,
    ("CKV_AZURE_206", "modules/app.bicep", "storage"): "holds a package and leases, which a deployment makes again",
    (
        "CKV_AZURE_225",
        "modules/app.bicep",
        "plan",
    ): "would need two instances always ready in each group; what is acknowledged is in the hub",
    ("CKV_AZURE_212", "modules/app.bicep", "app"): NO_SUCH_OPTION,
    ("CKV_AZURE_213", "modules/app.bicep", "app"): NO_SUCH_OPTION,
    ("CKV_AZURE_13", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_63", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_65", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_66", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_80", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    ("CKV_AZURE_88", "modules/app.bicep", "appSettings"): NOT_A_SITE_CONFIG,
    **{
        (f"CKV_AZURE_{number}", "modules/app.bicep", "signIn"): NOT_A_SITE_CONFIG
        for number in (13, 222, 63, 65, 66, 80, 88)
    },
}
CRASHES = ["CKV_AZURE_70", "Microsoft.Web/sites/config.signIn"]
"""checkov's check of function apps fails on the sign-in settings, which it mistakes for the site's configuration."""

BROKEN = "param name string\nresource a 'Microsoft.Storage/storageAccounts@2025-06-01' = {\n  name: \n"
CARELESS = """
resource account 'Microsoft.Storage/storageAccounts@2025-06-01' = {
  name: 'careless'
  location: 'westeurope'
  kind: 'StorageV2'
  sku: {
    name: 'Standard_LRS'
  }
  properties: {
    supportsHttpsTrafficOnly: false
    minimumTlsVersion: 'TLS1_0'
  }
}
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Report]:
    """Lint our templates, one that cannot be parsed, and one with known problems."""
    bad = tmp_path_factory.mktemp("bad")
    (bad / "broken.bicep").write_text(BROKEN)
    (bad / "careless.bicep").write_text(CARELESS)
    return lint("bicep", [BICEP, Path(bad)])


def test_every_template_is_parsed_and_every_check_can_judge(reports: Sequence[Report]) -> None:
    assert reports[0].unparsed == []
    assert [all(word in each for word in CRASHES) for each in reports[0].crashed] == [True]
    assert reports[0].parsed == names()
    assert len(reports[0].passed) >= 40


def test_every_finding_is_mended_or_has_its_reason(reports: Sequence[Report]) -> None:
    assert sorted(reports[0].failed) == sorted(ACCEPTED)


def test_the_linter_notices_what_is_broken_or_careless(reports: Sequence[Report]) -> None:
    assert reports[1].unparsed == ["broken.bicep"]
    assert {check for check, *_ in reports[1].failed} >= {"CKV_AZURE_3", "CKV_AZURE_44"}
