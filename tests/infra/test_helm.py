"""The Helm chart, rendered by Helm's engine and checked against Kubernetes' schemas and Headwater's settings."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import kubernetes_validate
import pytest
import yaml

from headwater.operations.settings import load_settings
from tests.infra.test_container import CONTAINER
from tests.support.doc_blocks import blocks_of
from tests.support.paths import ROOT
from tools.helm import CHART, render

pytestmark = pytest.mark.slow

KEYS = {"HEADWATER_KEYS": '[{"name": "spark", "key": "at-least-8", "roles": ["write"]}]'}
BUCKET = {"lake": "s3://bucket/lake", "claims_url": "s3://bucket/claims"}
SMALL = {"settings": {**BUCKET, "kafka_servers": "kafka:9092"}}
ALL: dict[str, Any] = {
    "settings": {
        "log": "event_hub", "hub_namespace": "n.servicebus.windows.net", "tick_s": 2, "oidc_audience": ["a", "b"],
        "lake": "abfss://lake@account.dfs.core.windows.net/headwater",
        "claims_url": "https://account.blob.core.windows.net/claims",
    },
    "receiver": {"secretName": "of-receivers", "autoscaling": {"enabled": False}, "settings": {"claim_bytes": 1000}},
    "sinks": {"secretName": "of-sinks"},
    "podLabels": {"azure.workload.identity/use": "true"},
    "podAnnotations": {"a": "b"},
    "nodeSelector": {"disk": "fast"},
    "tolerations": [{"key": "lineage", "operator": "Exists"}],
    "imagePullSecrets": [{"name": "registry"}],
    "serviceAccount": {"annotations": {"azure.workload.identity/client-id": "0"}},
    "api": {"replicas": 2, "volume": {"storageClassName": "premium"}},
    "ingress": {
        "enabled": True, "className": "nginx", "annotations": {"a": "b"},
        "receiverHost": "post.example.org", "apiHost": "ask.example.org", "tlsSecretName": "tls",
    },
    "podMonitor": {"enabled": True},
}  # fmt: skip
VERSIONS = ("1.27", "1.37")
OTHERS_KINDS = {"PodMonitor"}
"""Kinds of the Prometheus operator, for which Kubernetes has no schema."""

Object = dict[str, Any]


@pytest.fixture(scope="module")
def rendered() -> list[list[Object]]:
    """Provide all objects of the smallest release and of one that uses every value."""
    return [list(objects(texts)) for texts in render([SMALL, ALL])]


def test_the_values_in_the_documentation_make_a_release() -> None:
    page = ROOT / "docs/how-to/platform-operator/containers.md"
    values = [yaml.safe_load(block.text) for block in blocks_of(page) if block.language == "yaml"]
    assert len(values) == len([texts for texts in render(values) if list(objects(texts))]) == 4


def objects(texts: Mapping[str, str]) -> Iterator[Object]:
    for name, text in texts.items():
        if name.endswith(".yaml"):
            yield from filter(None, yaml.safe_load_all(text))


def named(found: list[Object], kind: str, ending: str = "") -> Object:
    (one,) = [each for each in found if each["kind"] == kind and each["metadata"]["name"].endswith(ending)]
    return one


def workloads(found: list[Object]) -> dict[str, Object]:
    """Return the pod template of each component by name."""
    kinds = ("Deployment", "StatefulSet")
    return {
        each["metadata"]["name"].rpartition("-")[2]: each["spec"]["template"] for each in found if each["kind"] in kinds
    }


@pytest.mark.parametrize("version", VERSIONS)
def test_kubernetes_schemas_take_every_object(rendered: list[list[Object]], version: str) -> None:
    for found in rendered:
        for each in found:
            if each["kind"] not in OTHERS_KINDS:
                kubernetes_validate.validate(each, version, strict=True)
    kinds = [each["kind"] for each in rendered[0]]
    assert sorted(kinds) == [
        "Deployment", "Deployment", "HorizontalPodAutoscaler", "PodDisruptionBudget", "PodDisruptionBudget",
        "Service", "Service", "ServiceAccount", "StatefulSet",
    ]  # fmt: skip
    assert {each["kind"] for each in rendered[1]} - set(kinds) == {"Ingress", *OTHERS_KINDS}


def test_a_misspelt_property_is_found_by_the_schemas(rendered: list[list[Object]]) -> None:
    """Check that the schemas detect mistakes."""
    pod = json.loads(json.dumps(named(rendered[0], "Deployment", "parser")))
    pod["spec"]["template"]["spec"]["containers"][0]["readynessProbe"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(pod, VERSIONS[-1], strict=True)


def test_each_pod_has_settings_that_its_station_starts_with(rendered: list[list[Object]]) -> None:
    wanted = {"receiver": ("receiver",), "parser": ("parser",), "api": ("api",)}
    for found, also in zip(rendered, ((), ("sinks",)), strict=True):
        for name, template in workloads(found).items():
            (container,) = template["spec"]["containers"]
            told = {each["name"]: each["value"] for each in container["env"]}
            settings = load_settings({}, environment={**CONTAINER.environment(), **told, **KEYS})[0]
            assert settings.stations == (*wanted[name], *(also if name == "parser" else ()))
            assert container["args"] == ["up"]
            assert settings.data.is_relative_to(container["volumeMounts"][0]["mountPath"])
            assert settings.port == container["ports"][0]["containerPort"]
    (receiver,) = workloads(rendered[1])["receiver"]["spec"]["containers"]
    assert {"name": "HEADWATER_CLAIM_BYTES", "value": "1000"} in receiver["env"]
    assert receiver["envFrom"] == [{"secretRef": {"name": "of-receivers"}}]


def test_no_pod_is_root_or_may_write_more_than_its_volumes(rendered: list[list[Object]]) -> None:
    for found in rendered:
        for name, template in workloads(found).items():
            spec = template["spec"]
            (container,) = spec["containers"]
            assert spec["securityContext"]["runAsNonRoot"]
            assert f"{spec['securityContext']['runAsUser']}:{spec['securityContext']['runAsGroup']}" == CONTAINER.user
            shut = {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True, "privileged": False}
            assert container["securityContext"] == {**shut, "capabilities": {"drop": ["ALL"]}}
            assert (spec["automountServiceAccountToken"], spec["enableServiceLinks"]) == (False, False)
            assert container["resources"]["requests"]
            assert container["resources"]["limits"]["memory"]
            mounted = {each["name"] for each in container["volumeMounts"]}
            claimed = {"data"} if name == "api" else set()
            assert mounted == {each["name"] for each in spec["volumes"]} | claimed


def test_services_budgets_and_the_autoscaler_find_the_pods_they_mean(rendered: list[list[Object]]) -> None:
    for found in rendered:
        labels = {name: template["metadata"]["labels"].items() for name, template in workloads(found).items()}
        for station in ("receiver", "api"):
            for selector in (
                named(found, "Service", station)["spec"]["selector"],
                named(found, "PodDisruptionBudget", station)["spec"]["selector"]["matchLabels"],
            ):
                assert [name for name, own in labels.items() if selector.items() <= own] == [station]
    scaler = named(rendered[0], "HorizontalPodAutoscaler")["spec"]
    deployment = named(rendered[0], "Deployment", "receiver")
    assert scaler["scaleTargetRef"]["name"] == deployment["metadata"]["name"]
    assert "replicas" not in deployment["spec"], "an upgrade would reset it"
    rules = named(rendered[1], "Ingress")["spec"]["rules"]
    names = {each["host"]: each["http"]["paths"][0]["backend"]["service"]["name"] for each in rules}
    assert names == {"post.example.org": "headwater-receiver", "ask.example.org": "headwater-api"}


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({}, "claims_url|lake"),
        ({"settings": {**BUCKET, "lake": "/mnt/lake"}}, "lake"),
        ({"settings": {**BUCKET, "log": "sqlite"}}, "log"),
        ({"settings": {**BUCKET, "keys": "[]"}}, "'not' failed"),
        ({**SMALL, "recevier": {}}, "recevier"),
    ],
    ids=["nothing", "a lake of one pod", "a log of one pod", "a secret", "misspelt"],
)
def test_values_that_cannot_work_are_refused_before_anything_is_installed(values: Object, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        render([values])


def blocks(schema: Object, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Yield the path of every block whose keys the chart defines in its schema."""
    for name, found in schema.get("properties", {}).items():
        if found.get("additionalProperties") is False:
            yield (*path, name)
            yield from blocks(found, (*path, name))


def nested(path: tuple[str, ...], value: Object) -> Object:
    return {path[0]: nested(path[1:], value) if path[1:] else value}


def test_a_misspelt_key_is_refused_in_every_block() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    found = list(blocks(schema))
    tops = {path[0] for path in found}
    assert {"image", "receiver", "parser", "api", "sinks", "service", "ingress", "podMonitor", "serviceAccount"} == tops
    for path in found:
        with pytest.raises(ValueError, match="replica"):
            render([{**SMALL, **nested(path, {"replica": 3})}])
    with pytest.raises(ValueError, match="'not' failed"):
        render([{**SMALL, "api": {"settings": {"keys": "[]"}}}])


def test_the_schema_takes_every_default_value_and_no_other_key() -> None:
    schema = json.loads((CHART / "values.schema.json").read_text())
    values = yaml.safe_load((CHART / "values.yaml").read_text())
    for path in blocks(schema):
        block, defaults = schema, values
        for name in path:
            block, defaults = block["properties"][name], defaults.get(name, {})
        if path[-1] != "resources":
            assert block["properties"].keys() == defaults.keys(), path


def test_the_chart_is_of_this_version_and_documents_its_values() -> None:
    chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
    version = re.search(r'^version = "(.+)"$', (CHART.parents[2] / "pyproject.toml").read_text(), re.MULTILINE)
    assert version
    assert {chart["version"], chart["appVersion"]} == {version[1]}
    schema = json.loads((CHART / "values.schema.json").read_text())
    assert set(yaml.safe_load((CHART / "values.yaml").read_text())) == set(schema["properties"]) - {"global"}


def test_probes_restart_what_hangs_and_send_requests_to_who_can_answer_them(rendered: list[list[Object]]) -> None:
    """`/health/ready` stays 200 while a component can work. A fault of lake or log must not restart a process."""
    for found in rendered:
        for station, pod in workloads(found).items():
            (container,) = pod["spec"]["containers"]
            paths = {
                each: container[f"{each}Probe"]["httpGet"]["path"] for each in ("startup", "liveness", "readiness")
            }
            live, ready = "/health/live", "/health/ready"
            assert paths == {"startup": live, "liveness": live, "readiness": ready}, station
