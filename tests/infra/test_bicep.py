"""Check the templates with two parsers, the parameter files and our own rules. The tests deploy nothing."""

import re
from typing import Any

import pytest
from pycep import BicepParser

from tests.infra.templates import (
    APPS,
    BICEP,
    MAIN,
    PARAMETERS,
    as_template,
    body,
    default,
    names,
    parameters,
    resources,
    source,
    template,
    tree_sitter_errors,
)

API_VERSIONS = {
    "Microsoft.Authorization/roleAssignments": "2022-04-01",
    "Microsoft.Authorization/roleDefinitions": "2022-04-01",
    "Microsoft.Consumption/budgets": "2023-11-01",
    "Microsoft.EventHub/namespaces": "2024-01-01",
    "Microsoft.EventHub/namespaces/eventhubs": "2024-01-01",
    "Microsoft.EventHub/namespaces/eventhubs/consumergroups": "2024-01-01",
    "Microsoft.Insights/actionGroups": "2023-01-01",
    "Microsoft.Insights/components": "2020-02-02",
    "Microsoft.Insights/diagnosticSettings": "2021-05-01-preview",
    "Microsoft.Insights/metricAlerts": "2018-03-01",
    "Microsoft.Insights/scheduledQueryRules": "2025-01-01-preview",
    "Microsoft.Insights/workbooks": "2023-06-01",
    "Microsoft.KeyVault/vaults": "2024-11-01",
    "Microsoft.KeyVault/vaults/secrets": "2024-11-01",
    "Microsoft.ManagedIdentity/userAssignedIdentities": "2024-11-30",
    "Microsoft.Network/networkSecurityGroups": "2025-05-01",
    "Microsoft.Network/privateDnsZones": "2024-06-01",
    "Microsoft.Network/privateDnsZones/virtualNetworkLinks": "2024-06-01",
    "Microsoft.Network/privateEndpoints": "2025-05-01",
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups": "2025-05-01",
    "Microsoft.Network/virtualNetworks": "2025-05-01",
    "Microsoft.OperationalInsights/workspaces": "2025-07-01",
    "Microsoft.Storage/storageAccounts": "2025-06-01",
    "Microsoft.Storage/storageAccounts/blobServices": "2025-06-01",
    "Microsoft.Storage/storageAccounts/blobServices/containers": "2025-06-01",
    "Microsoft.Storage/storageAccounts/managementPolicies": "2025-06-01",
    "Microsoft.Web/serverfarms": "2025-03-01",
    "Microsoft.Web/sites": "2025-03-01",
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies": "2025-03-01",
    "Microsoft.Web/sites/config": "2025-03-01",
}
"""The versions that Microsoft's own modules or samples use (looked up in 2026)."""


@pytest.mark.parametrize("name", names())
def test_two_parsers_read_every_template(name: str) -> None:
    assert tree_sitter_errors(source(name)) == []
    assert template(name)["globals"]


@pytest.mark.parametrize("name", PARAMETERS)
def test_two_parsers_read_every_parameter_file(name: str) -> None:
    assert tree_sitter_errors(as_template(source(name))) == []
    assert parameters(name)


def test_the_parsers_would_notice_a_broken_template() -> None:
    broken = source(MAIN).replace("params: {", "params: ", 1)
    assert tree_sitter_errors(broken)
    with pytest.raises(Exception, match="Unexpected"):
        BicepParser().parse(text=broken)


def test_modules_exist_and_get_exactly_the_parameters_they_take() -> None:
    used = {"main.bicep"}
    for module in template(MAIN)["modules"].values():
        path = module["detail"]["path"]
        used.add(path)
        given, takes = body(module)["params"], template(path)["parameters"]
        required = {name for name, parameter in takes.items() if parameter["default"] is None}
        assert required <= set(given) <= set(takes), f"{path}: unknown or missing parameters {set(given) ^ set(takes)}"
    assert used == set(names()), "every file must be a module of main, and no other file may be"


@pytest.mark.parametrize("name", names())
def test_nothing_is_declared_that_nothing_uses(name: str) -> None:
    found, text = template(name), source(name)
    needless = [symbol for part in ("parameters", "variables") for symbol in found[part] if _uses(text, symbol) < 2]
    needless += [
        symbol for symbol, declared in found["resources"].items() if declared["existing"] and _uses(text, symbol) < 2
    ]
    if name != MAIN:
        modules = [symbol for symbol, used in template(MAIN)["modules"].items() if used["detail"]["path"] == name]
        asked = {found for module in modules for found in re.findall(rf"\b{module}\.outputs\.(\w+)", source(MAIN))}
        assert asked == set(found["outputs"])
    assert needless == []


def _uses(text: str, symbol: str) -> int:
    expressions = re.sub(r"(?m)//.*|^@description\(.*|^\s*\w+:", "", text)
    return len(re.findall(rf"(?<![\w.']){symbol}\b", expressions))


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_parameter_file_assigns_what_main_asks_for_and_allows(name: str) -> None:
    declared, assigned = template(MAIN)["parameters"], parameters(name)
    assert f"using '{MAIN}'" in source(name)
    assert set(assigned) <= set(declared)
    assert {symbol for symbol, parameter in declared.items() if parameter["default"] is None} <= set(assigned)
    for symbol, value in assigned.items():
        assert _problems(declared[symbol], value) == [], symbol


def _problems(declared: dict[str, Any], value: Any) -> list[str]:
    if isinstance(value, dict):
        return [] if "function" in value else ["no constant and no call"]
    kinds = {"int": int, "bool": bool, "string": str}
    found = [] if type(value) is kinds[declared["type"]] else [f"is no {declared['type']}"]
    limits = {item["type"]: item.get("argument") for item in declared["decorators"]}
    if value not in limits.get("allowed", [value]):
        found.append(f"not among {limits['allowed']}")
    for least, most, size in (("min_value", "max_value", value), ("min_length", "max_length", len(str(value)))):
        if least in limits or most in limits:
            found += [] if limits.get(least, size) <= size <= limits.get(most, size) else ["outside its limits"]
    return found


def test_what_is_left_out_is_within_its_own_limits() -> None:
    """Azure checks defaults as well: an invalid default fails every deployment that does not set the parameter."""
    for symbol, declared in template(MAIN)["parameters"].items():
        value = declared["default"]
        if isinstance(value, int | str) and value not in template(MAIN)["parameters"] and "(" not in str(value):
            assert _problems(declared, value) == [], symbol


def test_days_and_instances_have_limits_so_that_no_value_of_theirs_loses_an_event() -> None:
    limits = {
        name: {item["type"]: item["argument"] for item in template(MAIN)["parameters"][name]["decorators"]}
        for name in ("hubRetentionDays", "claimDays", "captureDays", "receiverAlwaysReady")
    }
    assert limits["claimDays"]["min_value"] > limits["hubRetentionDays"]["max_value"], (
        "a body must be kept longer than the event that refers to it"
    )
    assert limits["captureDays"]["min_value"] == 1, "0 would delete at once"
    assert limits["receiverAlwaysReady"]["min_value"] == 0


def test_every_resource_has_a_known_type_and_version() -> None:
    found = {
        (declared["type"], declared["api_version"])
        for name in names()
        for declared in template(name)["resources"].values()
    }
    assert found == set(API_VERSIONS.items())


WITHOUT_TAGS = {
    "Microsoft.Authorization/roleAssignments",
    "Microsoft.Authorization/roleDefinitions",
    "Microsoft.Consumption/budgets",
    "Microsoft.EventHub/namespaces/eventhubs",
    "Microsoft.EventHub/namespaces/eventhubs/consumergroups",
    "Microsoft.Insights/diagnosticSettings",
    "Microsoft.Network/privateEndpoints/privateDnsZoneGroups",
    "Microsoft.Storage/storageAccounts/blobServices",
    "Microsoft.Storage/storageAccounts/blobServices/containers",
    "Microsoft.Storage/storageAccounts/managementPolicies",
    "Microsoft.Web/sites/basicPublishingCredentialsPolicies",
    "Microsoft.Web/sites/config",
}
"""Resource types that cannot have tags: child resources, role assignments and rules."""


@pytest.mark.parametrize("kind", sorted(API_VERSIONS.keys() - WITHOUT_TAGS))
def test_every_resource_that_can_have_tags_has_those_of_the_deployment(kind: str) -> None:
    for file, symbol, found in resources(kind):
        given = body(found).get("tags")
        assert "tags" in str(given), f"{file}: {symbol} has no tags"
    modules = template(MAIN)["modules"].values()
    assert all(
        body(module)["params"].get("tags", "tags") == "tags"
        for module in modules
        if "tags" in template(module["detail"]["path"])["parameters"]
    )


def test_two_instances_that_never_sleep_are_updated_one_after_the_other() -> None:
    ((_, _, app),) = resources("Microsoft.Web/sites")
    assert body(app)["properties"]["functionAppConfig"]["siteUpdateStrategy"].keys() == {"type"}
    assert "type: alwaysReady > 1 ? 'RollingUpdate' : 'Recreate'" in source("modules/app.bicep")


def test_who_may_reach_an_app_is_a_parameter_of_each_and_the_receiver_may_be_private() -> None:
    modules = {name: body(template(MAIN)["modules"][name])["params"] for name in (*APPS, "sinks")}
    assert [modules[name].get("allowedIps") for name in modules] == ["allowedIps", "apiAllowedIps", None]
    assert [modules[name].get("ingress") for name in modules] == ["ingress", None, None]
    assert modules["pipeline"]["signInClientId"] == "signInClientId"
    assert [default(name) for name in ("allowedIps", "apiAllowedIps", "privateIngress", "signInClientId")] == [
        [], [], False, "",
    ]  # fmt: skip
    text = source("modules/app.bicep")
    assert "ipSecurityRestrictionsDefaultAction: empty(allowedIps) ? 'Allow' : 'Deny'" in text
    assert "publicNetworkAccess: ingress" in text
    assert "receiverId: privateIngress ? receiver.outputs.id : ''" in source(MAIN)
    assert len(re.findall(r"(?m)^  'privatelink", source("modules/endpoints.bicep").partition("var zones")[0])) == 4


def test_workspaces_of_fabric_pass_the_lakes_firewall_and_nothing_else_does() -> None:
    (lake,) = (
        body(found) for file, _, found in resources("Microsoft.Storage/storageAccounts") if file.endswith("lake.bicep")
    )
    assert "resourceAccessRules" in lake["properties"]["networkAcls"]
    text = source("modules/lake.bicep")
    assert "publicNetworkAccess: empty(fabricWorkspaces) ? publicAccess : 'Enabled'" in text
    assert "defaultAction: publicAccess == 'Enabled' ? 'Allow' : 'Deny'" in text
    assert default("fabricWorkspaces") == []


def test_a_budget_is_ordered_by_who_wants_it_and_begins_with_a_month() -> None:
    ((_, _, budget),) = resources("Microsoft.Consumption/budgets")
    told = body(budget)["properties"]["notifications"]
    assert {name: (one["threshold"], one["thresholdType"]) for name, one in told.items()} == {
        "spent": (80, "Actual"),
        "forecast": (100, "Forecasted"),
    }
    assert default("monthlyBudget") == 0
    assert template(MAIN)["parameters"]["budgetFrom"].get("default") is None


def test_a_vault_that_was_deleted_can_be_taken_up_again() -> None:
    ((_, _, vault),) = resources("Microsoft.KeyVault/vaults")
    choice = body(vault)["properties"]["createMode"]["operator"]["operands"]
    assert (choice["true_value"], choice["false_value"], default("recoverVault")) == ("recover", "default", False)


def test_who_reads_secrets_and_changes_blobs_is_in_the_logs() -> None:
    found = {
        (file, symbol): [one["category"] for one in body(declared)["properties"].get("logs", [])]
        for file, symbol, declared in resources("Microsoft.Insights/diagnosticSettings")
    }
    assert found == {
        ("modules/hub.bicep", "metrics"): [],
        ("modules/lake.bicep", "requests"): ["StorageWrite", "StorageDelete"],
        ("modules/raw.bicep", "requests"): ["StorageRead", "StorageWrite", "StorageDelete"],
        ("modules/vault.bicep", "audit"): ["AuditEvent"],
    }


def test_names_fit_the_limits_of_their_services() -> None:
    """Storage accounts allow 24 lower-case letters and digits, vaults 24 characters. uniqueString makes 13."""
    longest = next(
        item["argument"]
        for item in template(MAIN)["parameters"]["prefix"]["decorators"]
        if item["type"] == "max_length"
    )
    for middle in re.findall(r"\$\{prefix\}([a-z-]*)\$\{suffix\}", source(MAIN)):
        storage = "-" not in middle
        assert not storage or longest + len(middle) + 13 <= 24, middle
    assert longest + len("-") + 13 <= 24


def test_an_instance_takes_many_requests_at_a_time() -> None:
    """Without the setting, a Python app on this plan serves one request at a time, and starts an instance for each."""
    ((_, _, app),) = resources("Microsoft.Web/sites")
    scale = body(app)["properties"]["functionAppConfig"]["scaleAndConcurrency"]
    assert scale["triggers"] == {"http": {"perInstanceConcurrency": "httpConcurrency"}}
    given = {name: body(template(MAIN)["modules"][name])["params"]["httpConcurrency"] for name in APPS}
    assert given == {"receiver": "receiverHttpConcurrency", "pipeline": "pipelineHttpConcurrency"}
    assert {name: default(symbol) for name, symbol in given.items()} == {"receiver": 100, "pipeline": 32}


def test_how_many_instances_never_sleep_is_a_parameter_of_each_app() -> None:
    for name, symbol, count in (("receiver", "receiverAlwaysReady", 1), ("pipeline", "apiAlwaysReady", 0)):
        assert body(template(MAIN)["modules"][name])["params"]["alwaysReady"] == symbol
        assert default(symbol) == count
    ((_, _, app),) = resources("Microsoft.Web/sites")
    choice = body(app)["properties"]["functionAppConfig"]["scaleAndConcurrency"]["alwaysReady"]["operator"]["operands"]
    assert (choice["true_value"], choice["false_value"]) == ([], [{"name": "http", "instanceCount": "alwaysReady"}])


@pytest.mark.parametrize(
    ("kind", "path", "value"),
    [
        ("Microsoft.Storage/storageAccounts", "properties.allowSharedKeyAccess", False),
        ("Microsoft.Storage/storageAccounts", "properties.allowBlobPublicAccess", False),
        ("Microsoft.Storage/storageAccounts", "properties.supportsHttpsTrafficOnly", True),
        ("Microsoft.Storage/storageAccounts", "properties.minimumTlsVersion", "TLS1_2"),
        ("Microsoft.EventHub/namespaces", "properties.disableLocalAuth", True),
        ("Microsoft.EventHub/namespaces", "properties.minimumTlsVersion", "1.2"),
        ("Microsoft.Insights/components", "properties.DisableLocalAuth", True),
        ("Microsoft.OperationalInsights/workspaces", "properties.features.disableLocalAuth", True),
        ("Microsoft.KeyVault/vaults", "properties.enableRbacAuthorization", True),
        ("Microsoft.KeyVault/vaults", "properties.enablePurgeProtection", True),
        ("Microsoft.Web/serverfarms", "sku.name", "FC1"),
        ("Microsoft.Web/sites", "properties.httpsOnly", True),
        ("Microsoft.Web/sites", "properties.functionAppConfig.runtime.version", "3.13"),
        ("Microsoft.Web/sites", "identity.type", "UserAssigned"),
        ("Microsoft.Web/sites/basicPublishingCredentialsPolicies", "properties.allow", False),
    ],
)
def test_no_service_takes_a_shared_key_or_plain_text(kind: str, path: str, value: object) -> None:
    found = [_at(body(declared), path) for _, _, declared in resources(kind)]
    assert found
    assert set(found) == {value}


def test_the_lake_is_hierarchical_and_raw_bodies_do_not_stay() -> None:
    (lake,) = (
        body(found) for file, _, found in resources("Microsoft.Storage/storageAccounts") if file.endswith("lake.bicep")
    )
    assert lake["properties"]["isHnsEnabled"] is True
    ((_, _, lifecycle),) = resources("Microsoft.Storage/storageAccounts/managementPolicies")
    rules = _at(body(lifecycle), "properties.policy.rules")
    assert [rule["name"] for rule in rules] == ["claims", "capture"]
    assert "${lakeContainer}" not in str(rules), "no rule may delete parts of the lake by age"


@pytest.mark.parametrize("name", PARAMETERS)
def test_claims_outlive_their_pointers_on_the_hub(name: str) -> None:
    claim_days = parameters(name).get("claimDays", template(MAIN)["parameters"]["claimDays"]["default"])
    assert claim_days > parameters(name)["hubRetentionDays"]


def test_capture_is_ordered_by_who_wants_it_and_then_outlives_the_hub() -> None:
    assert [parameters(name)["capture"] for name in PARAMETERS] == [False, False]
    assert default("captureDays") > max(parameters(name)["hubRetentionDays"] for name in PARAMETERS)


def test_what_is_deleted_of_raw_bodies_is_gone() -> None:
    found = {file: body(blobs)["properties"]["deleteRetentionPolicy"]["enabled"]
             for file, _, blobs in resources("Microsoft.Storage/storageAccounts/blobServices")
             if "properties" in body(blobs)}  # fmt: skip
    assert found == {"modules/lake.bicep": True, "modules/raw.bicep": False}


SECRETS = {"receiverKeys", "pipelineKeys", "notebookWriteKey", "notebookReadKey"}


def test_no_template_holds_or_gives_away_a_secret() -> None:
    text = "".join(source(name) for name in names())
    assert not re.search(r"listKeys|listSecrets|AccountKey|SharedAccessKey|authorizationRules", text)
    for file in names():
        for symbol, parameter in template(file)["parameters"].items():
            secure = any(item["type"] == "secure" for item in parameter["decorators"])
            assert secure == (symbol in SECRETS), f"{file}: {symbol} must be secure exactly if it is a secret"
    assert not re.search(r"= \w*[kK]eys$", "\n".join(line for line in text.splitlines() if line.startswith("output")))


def test_there_is_nothing_else_in_the_folder() -> None:
    files = {path.relative_to(BICEP).as_posix() for path in BICEP.rglob("*") if path.is_file()}
    assert files == {*names(), *PARAMETERS}


def _at(value: Any, path: str) -> Any:
    for part in path.split("."):
        value = value[part]
    return value
