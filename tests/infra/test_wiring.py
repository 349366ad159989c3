"""Code and templates are consistent: each name in one of them exists in the other."""

import json
import re
from functools import cache
from typing import Any

import pytest

from functions import app_settings as load_app_settings
from headwater.common.environment import PREFIX
from headwater.intake.event_log.blob_claims import parse_claims_url
from headwater.operations.runtime.sinks import open_ledger
from headwater.operations.settings import Settings, load_settings
from tests.infra.templates import (
    APPS,
    MAIN,
    ROOT,
    SINKS,
    Grant,
    app_settings,
    body,
    default,
    dotted,
    grants,
    resources,
    source,
    template,
    variable,
)

NOT_IN_AZURE = {
    "data": "functions/ puts it on the instance's own disk",
    "read_only": "roles of keys decide who may change something",
    "log_level": "host.json sets the levels",
    "log_format": "the Functions host writes the log lines",
    "host": "the Functions host listens",
    "port": "the Functions host listens",
    "allowed_hosts": "there are always keys",
    "request_timeout_s": "the Functions host reads the request",
    "tick_s": "the trigger says when",
    "segment_bytes": "a file of the SQLite log",
    "min_free_bytes": "a disk's",
    "retain_hours": "the hub keeps by hubRetentionDays",
    "retain_bytes": "the hub keeps by hubRetentionDays",
    "hub_connection": "a shared key; the hub takes identities only",
    "kafka_servers": "the hub is spoken to by AMQP",
    "kafka_topic": "the hub is spoken to by AMQP",
    "kafka_group": "the hub is spoken to by AMQP",
    "kafka_options": "the hub is spoken to by AMQP",
    "kafka_token_scope": "the hub is spoken to by AMQP",
    "stations": "HEADWATER_TRIGGERS says what an app does",
    "lake_options": "the identity opens the lake",
    "claims_options": "the identity opens the claims",
    "ingest_options": "the identity opens the folders",
    "contracts": "a folder of one machine; of an app contracts are checked with --server",
    "keys_file": "a file of one machine; keys are in the vault, as hashes",
    **dict.fromkeys(
        ("oidc_issuer", "oidc_audience", "oidc_roles", "oidc_client_id", "oidc_client_secret", "oidc_redirect_url"),
        "an app setting of who has registered an application",
    ),
    "notice": "a text that an operator may add as an app setting",
    "marquez_strict": "the Functions host answers writes of the receiver",
    "session_key": "with oidc_client_id, where several instances answer",
}
DEFAULT_FITS = {
    "max_body_bytes",
    "claim_bytes",
    "queued_bytes",
    "record_cpu_s",
    "rules",
    "flush_s",
    "bronze_keep_days",
    "window_days",
    "index_disk_bytes",
}
"""Settings whose defaults fit.

`flush_s`, the minimum interval of commits, is 1 s; the host controls how long events gather.
"""
LAKE = "abfss://lake@hwlake1.dfs.core.windows.net"
OF_THE_PLATFORM = {
    "AzureWebJobsStorage__accountName",
    "AzureWebJobsStorage__credential",
    "AzureWebJobsStorage__clientId",
    "APPLICATIONINSIGHTS_CONNECTION_STRING",
    "APPLICATIONINSIGHTS_AUTHENTICATION_STRING",
    "AzureFunctionsJobHost__extensions__eventHubs__maxWaitTime",
    "AzureWebJobsDisableHomepage",
    "OTEL_TRACES_SAMPLER",
    "OTEL_TRACES_SAMPLER_ARG",
}
"""Variables that the Functions host reads, not Headwater."""

GRANTS = {
    Grant("receiver", "eventHubsDataSender", "hub"): "EventHubProducerClient",
    Grant("receiver", "claimWriter", "claims"): "BlobClaims",
    Grant("receiver", "keyVaultSecretsUser", "receiverKeys"): "HEADWATER_KEYS",
    Grant("receiver", "monitoringMetricsPublisher", "insights"): "telemetryMode",
    Grant("receiver", "storageBlobDataOwner", "storage"): "AzureWebJobsStorage",
    Grant("pipeline", "eventHubsDataReceiver", "hub"): "EventHubConsumerClient",
    Grant("pipeline", "eventHubsDataSender", "hub"): "class FileIngest",
    Grant("pipeline", "claimWriter", "claims"): "ClaimCheck(opened",
    Grant("pipeline", "storageBlobDataReader", "claims"): "BlobClaims",
    Grant("pipeline", "storageBlobDataContributor", "lake"): "abfss",
    Grant("pipeline", "keyVaultSecretsUser", "pipelineKeys"): "HEADWATER_KEYS",
    Grant("pipeline", "monitoringMetricsPublisher", "insights"): "telemetryMode",
    Grant("pipeline", "storageBlobDataOwner", "storage"): "AzureWebJobsStorage",
    Grant("capture", "blobDataContributor", "captured"): "captureDescription",
    Grant("lakeReaders", "storageBlobDataReader", "lake"): "lakeReaders",
    Grant("lakeWriters", "storageBlobDataContributor", "lake"): "lakeWriters",
    Grant("notebookUsers", "keyVaultSecretsUser", "notebookWrites"): "headwater-write",
    Grant("notebookUsers", "keyVaultSecretsUser", "notebookReads"): "headwater-read",
    Grant("sinks", "storageBlobDataReader", "lake"): "LakeFile",
    Grant("sinks", "ledgerWriter", "lake"): "class Ledger",
    Grant("sinks", "keyVaultSecretsUser", "sinkSecret"): "_from_vault",
    Grant("sinks", "monitoringMetricsPublisher", "insights"): "telemetryMode",
    Grant("sinks", "storageBlobDataOwner", "storage"): "AzureWebJobsStorage",
}
"""Every role assignment, and the name in code or templates that needs it."""

ROLE_IDS = {
    "eventHubsDataSender": "2b629674-e913-4c01-ae53-ef4638d8f975",
    "eventHubsDataReceiver": "a638d3c7-ab3a-418d-83e6-5f17a39d4fde",
    "storageBlobDataReader": "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1",
    "storageBlobDataContributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "storageBlobDataOwner": "b7e6dc6d-f1e8-4753-8033-0f276bb0955b",
    "blobDataContributor": "ba92f5b4-2d11-453d-a403-e96b0029c9fe",
    "keyVaultSecretsUser": "4633458b-17de-408a-b874-0445c86b69e6",
    "monitoringMetricsPublisher": "3913510d-42f4-4e42-8a64-420c390055eb",
}


def settings_in_templates() -> dict[str, set[str]]:
    return {app: {name for name in app_settings(app) if name.startswith(PREFIX)} for app in (*APPS, SINKS)}


def own_names(app: str) -> set[str]:
    """Return an app's settings that belong to our model. `HEADWATER_HUB__…` belongs to the trigger's connection."""
    return {name.removeprefix(PREFIX).lower() for name in settings_in_templates()[app] if "__" not in name}


def test_every_setting_of_the_code_is_in_the_templates_or_has_a_reason_not_to_be() -> None:
    known = set(Settings.model_fields)
    set_there = own_names("receiver") | own_names("pipeline") | own_names(SINKS)
    assert set_there <= known, "the templates set a variable that the code does not read"
    assert known - set_there == set(NOT_IN_AZURE) | DEFAULT_FITS


def test_every_app_setting_is_ours_or_the_platforms() -> None:
    common = body(template("modules/app.bicep")["resources"]["appSettings"])["properties"]["function"]["parameters"][
        "arg_2"
    ]
    apps = (*APPS, SINKS)
    found = {name for app in apps for name in {**app_settings(app), **common} if not name.startswith(PREFIX)}
    assert found == OF_THE_PLATFORM


def test_values_that_code_and_templates_share_are_the_same() -> None:
    fields = Settings.model_fields
    for setting, name in (("hub_name", "hubName"), ("hub_consumer_group", "consumerGroup")):
        if setting in fields:
            assert variable(name) == fields[setting].default
    assert app_settings("pipeline")["HEADWATER_HUB_CONSUMER_GROUP"] == "consumerGroup"
    assert {app_settings(app)["HEADWATER_HUB_NAME"] for app in APPS} == {"hubName"}


def test_every_trigger_runs_in_one_app_and_the_receiver_alone() -> None:
    triggers = [json.loads(app_settings(app)["HEADWATER_TRIGGERS"]) for app in (*APPS, SINKS)]
    assert triggers[0] == ["receiver"]
    assert sorted(name for app in triggers for name in app) == sorted(
        re.findall(r'^    "(\w+)": "functions\.', function_app(), re.M)
    )


def test_the_host_gathers_for_as_long_as_the_tier_says() -> None:
    hubs = json.loads((ROOT / "host.json").read_text())["extensions"]["eventHubs"]
    assert 1 < hubs["minEventBatchSize"] < hubs["maxEventBatchSize"], "otherwise maxWaitTime has no effect"
    assert "AzureFunctionsJobHost__extensions__eventHubs__maxWaitTime" in app_settings("pipeline")


def test_the_settings_that_the_trigger_names_are_there() -> None:
    code = "".join(path.read_text() for path in [*(ROOT / "functions").rglob("*.py"), *ROOT.glob("function_app.py")])
    named = set(re.findall(rf"%({PREFIX}\w+)%", code)) | set(re.findall(r'connection="(\w+)"', code))
    parts = {name.partition("__")[0] for name in settings_in_templates()["pipeline"]}
    assert named <= parts
    connection = {name for name in app_settings("pipeline") if name.startswith("HEADWATER_HUB__")}
    assert {name.partition("__")[2] for name in connection} == {"fullyQualifiedNamespace", "credential", "clientId"}


def test_the_receiver_knows_only_its_own_part() -> None:
    assert not own_names("receiver") & {"lake", "hub_consumer_group", "flush_s", "vacuum_hours"}
    assert "HEADWATER_HUB__fullyQualifiedNamespace" not in app_settings("receiver")
    keys = {app: app_settings(app)["HEADWATER_KEYS"] for app in APPS}
    for app in APPS:
        assert keys[app] == (
            f"@Microsoft.KeyVault(VaultName=${{vault.outputs.name}};SecretName=${{vault.outputs.{app}Secret}})"
        )


@pytest.mark.parametrize("app", APPS)
def test_an_app_starts_with_the_settings_it_gets(app: str) -> None:
    """The templates' settings, with example values for names that Azure generates."""
    found = load_app_settings({name: _resolved(value) for name, value in app_settings(app).items()})
    assert found.log == "event_hub"
    assert found.hub_namespace == "hw-1.servicebus.windows.net"
    assert found.triggers == tuple(json.loads(app_settings(app)["HEADWATER_TRIGGERS"]))
    assert parse_claims_url(str(found.claims_url), None) == ("https://hwraw1.blob.core.windows.net", "claims", "")
    assert found.lake == (None if app == "receiver" else LAKE)
    assert [key.name for key in found.keys] == ["spark"]


def test_the_app_of_sinks_starts_with_the_lake_and_its_file_beside_it_and_knows_nothing_else() -> None:
    found = load_app_settings({name: _resolved(value) for name, value in app_settings(SINKS).items()})
    assert found.triggers == ("sinks",)
    assert (found.lake, found.sinks) == (f"{LAKE}", f"{LAKE}/sinks.yml")
    assert own_names(SINKS) == {"triggers", "identity_client_id", "lake", "sinks"}


def test_only_who_wants_sinks_has_their_app_and_its_rights() -> None:
    main = template(MAIN)
    for found in (main["modules"]["sinks"], main["modules"]["sinksAccess"], main["resources"]["sinksIdentity"]):
        assert found["config"]["condition"] == "withSinks"
    assert default("withSinks") is False


def test_the_pipeline_sends_only_where_it_takes_files() -> None:
    found = template("modules/access.bicep")["resources"]
    assert {name for name, each in found.items() if each["config"].get("condition") == "pipelineSends"} == {
        "pipelineSendsFiles",
        "pipelineWritesClaims",
    }


def test_the_app_of_sinks_writes_nowhere_but_where_its_ledger_lies() -> None:
    """The actions that a role allows without a condition, and those that the condition removes."""
    (grant,) = (
        body(found)["properties"]
        for _, symbol, found in resources("Microsoft.Authorization/roleAssignments")
        if symbol == "sinksWriteLedger"
    )
    condition = str(grant["condition"]).replace("\\'", "'")
    written = [
        found for _, symbol, found in resources("Microsoft.Authorization/roleDefinitions") if symbol == "ledgerWriter"
    ]
    (permission,) = body(written[0])["properties"]["permissions"]
    assert permission["actions"] == []
    assert re.findall(r"!\(ActionMatches\{'([^']+)'\}\)", condition) == permission["dataActions"]
    assert condition.endswith(" OR (${belowSinks}))")
    assert grant["conditionVersion"] == "'2.0'" or grant["conditionVersion"] == "2.0"
    below = variable("belowSinks", "modules/sinks_access.bicep").replace("\\'", "'")
    assert below == "@Resource[${blobType}:path] StringLike 'sinks/*'"
    ledger = open_ledger(load_settings({"lake": LAKE}, environment={})[0])
    assert [table.uri for table in ledger.tables.values()] == [f"{LAKE}/sinks/sink_failures"]


def _resolved(value: Any) -> str:
    """Evaluate the few kinds of expressions in app settings."""
    if value in ("hubName", "consumerGroup"):
        return str(variable(value))
    if value in ("ingestJson", "ingestKeep"):
        return json.dumps(default({"ingestJson": "ingestFolders", "ingestKeep": "ingestKeepHours"}[value]))
    text = value if isinstance(value, str) else f"${{{dotted(value)}}}"
    if text.startswith("@Microsoft.KeyVault("):
        return '[{"name": "spark", "key": "at-least-8-characters"}]'
    made: dict[str, str] = {
        "hub.outputs.host": "hw-1.servicebus.windows.net",
        "lake.outputs.dfsHost": "hwlake1.dfs.core.windows.net",
        "raw.outputs.blobEndpoint": "https://hwraw1.blob.core.windows.net/",
        "lakeContainer": variable("lakeContainer"),
        "claimsContainer": variable("claimsContainer"),
    }
    return re.sub(r"\$\{([\w.]+)\}", lambda found: str(made.get(found[1], found[1])), text)


def test_containers_are_the_ones_that_settings_lead_to() -> None:
    made = {
        body(found)["name"] for _, _, found in resources("Microsoft.Storage/storageAccounts/blobServices/containers")
    }
    assert made == {"lakeContainer", "claimsContainer", "captureContainer", "packageContainer"}
    assert app_settings("pipeline")["HEADWATER_LAKE"].startswith("abfss://${lakeContainer}@")
    assert {app_settings(app)["HEADWATER_CLAIMS_URL"] for app in APPS} == {
        "${raw.outputs.blobEndpoint}${claimsContainer}"
    }
    assert "${packageContainer}" in source("modules/app.bicep")
    assert "blobContainer: captureContainer" in source("modules/hub.bicep")


def test_rights_are_exactly_these() -> None:
    owner = {
        "modules/access.bicep:receiverPrincipal": ["receiver"],
        "modules/access.bicep:pipelinePrincipal": ["pipeline"],
        "modules/app.bicep:principalId": ["receiver", "pipeline", "sinks"],
        "modules/sinks_access.bicep:principal": ["sinks"],
        "modules/hub.bicep:captureIdentity": ["capture"],
        "modules/lake_access.bicep:reader": ["lakeReaders"],
        "modules/lake_access.bicep:writer": ["lakeWriters"],
        "modules/vault.bicep:user": ["notebookUsers"],
    }
    found = [Grant(who, grant.role, grant.on) for grant in grants() for who in owner[grant.who]]
    assert sorted(found, key=str) == sorted(GRANTS, key=str)


def test_each_right_has_something_that_needs_it() -> None:
    templates = (MAIN, "modules/app.bicep", "modules/hub.bicep")
    notebook = (ROOT / "notebooks" / "Setup.Notebook" / "notebook-content.py").read_text()
    everything = code() + notebook + "".join(source(name) for name in templates)
    assert [name for name in GRANTS.values() if name not in everything] == []


def test_no_code_uses_a_service_without_a_right_to_it() -> None:
    clients = set(
        re.findall(r"\b(?:EventHub|Blob|Container|DataLake|FileSystem|Secret|Queue|Table)\w*Client\b", code())
    )
    assert clients <= {
        "EventHubProducerClient",
        "EventHubConsumerClient",
        "BlobServiceClient",
        "ContainerClient",
        "BlobClient",
        "FileSystemClient",  # for folders of other owners, who grant the pipeline access
        "DataLakeFileClient",
    }


@pytest.mark.parametrize("role", ROLE_IDS)
def test_a_role_has_the_id_that_azure_documents(role: str) -> None:
    ids = {**variable("roles", "modules/access.bicep")}
    assert variable("roles", "modules/sinks_access.bicep").items() <= ids.items()
    assert variable("roles", "modules/lake_access.bicep").items() <= ids.items()
    assert variable("keyVaultSecretsUser", "modules/vault.bicep") == ids["keyVaultSecretsUser"]
    ids["storageBlobDataOwner"] = variable("storageBlobDataOwner", "modules/app.bicep")
    ids["blobDataContributor"] = variable("blobDataContributor", "modules/hub.bicep")
    assert set(ids) == set(ROLE_IDS)
    assert ids[role] == ROLE_IDS[role]


def test_the_role_of_our_own_writes_claims_and_nothing_else() -> None:
    made = {symbol: role for _, symbol, role in resources("Microsoft.Authorization/roleDefinitions")}
    (permission,) = body(made["claimWriter"])["properties"]["permissions"]
    assert made.keys() == {"claimWriter", "ledgerWriter"}
    assert permission == {
        "actions": [],
        "notActions": [],
        "dataActions": ["${blobType}/write", "${blobType}/add/action"],
        "notDataActions": [],
    }


def test_claims_are_deleted_by_age_only() -> None:
    """The pipeline may not delete claims. Only the container's lifecycle rules delete them."""
    deletes = {path.name for path in (ROOT / "headwater").rglob("*.py") if "delete_blob" in path.read_text()}
    # a sink's test file for its write permission, and the lake's notes about waiting partitions
    assert deletes == {"blob_folder.py", "azure_files.py"}
    assert "delete_blob" not in function_app()
    assert "'${claimsContainer}/'" in source("modules/raw.bicep")


def function_app() -> str:
    return (ROOT / "function_app.py").read_text()


@cache
def code() -> str:
    files = [*(ROOT / "headwater").rglob("*.py"), *(ROOT / "functions").rglob("*.py"), *ROOT.glob("host.json")]
    return "".join(path.read_text() for path in files)
