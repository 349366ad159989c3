"""Monitoring of a running Headwater: `headwater doctor`, log lines, and metrics in alerts and the dashboard."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from headwater.governance.reconcile.events import finding_event
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.intake.receiver.paths import wrong_path_refusal
from tests.support.commands import commanded
from tests.support.data.samples import body, run_event
from tests.support.paths import ROOT
from tests.support.running import Running
from tests.support.servers.sink_target import eventually
from tools import promtool

pytestmark = pytest.mark.slow  # starts Headwater

RULES = yaml.safe_load((ROOT / "infra" / "monitoring" / "alerts.yml").read_text())["groups"][0]["rules"]
DASHBOARD = json.loads((ROOT / "infra" / "monitoring" / "dashboard.json").read_text())
OF_PROMETHEUS = {"up", "job", "instance", "le"}
HOUR_US = 3_600_000_000
NOW_US = 1_795_000_000_000_000


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run a Headwater with a sink whose target is down, a request to a wrong path, and a saved comparison."""
    folder = tmp_path_factory.mktemp("monitored") / "data"
    folder.mkdir(mode=0o700)
    sinks = {"version": 1, "sinks": {"catalog": {"type": "openlineage", "url": "http://127.0.0.1:9"}}}
    (folder / "sinks.yml").write_text(json.dumps(sinks))
    environment = {"HEADWATER_LOG_FORMAT": "json", "HEADWATER_LOG_LEVEL": "debug"}
    with Running(folder, options=["--tick", "50ms"], environment=environment, cwd=folder.parent) as running:
        with httpx.Client(base_url=running.url, headers={"user-agent": "their-client/1.0"}) as client:
            for path, content, status in (
                ("/lineage", body(run_event()), 404), ("/api/v1/lineage", b"{}", 400),
                ("/api/v1/lineage", body(run_event()), 200),
                ("/api/v1/lineage", finding_event("nightly", [], HistorySpan(NOW_US - HOUR_US, NOW_US)), 200),
            ):  # fmt: skip
                headers = {"content-type": "application/json"}
                assert client.post(path, content=content, headers=headers).status_code == status
            eventually(lambda: client.get("/api/headwater/v1/audit").json()["stored"] == 2)
            eventually(lambda: client.get("/api/headwater/v1/refused").json()["totalCount"] == 2)
            eventually(lambda: client.get("/api/headwater/v1/sinks").json()["items"][0]["trouble"])
        yield running


def test_the_doctor_names_each_problem_with_its_remedy(running: Running, tmp_path: Path) -> None:
    outcome = commanded("doctor", "--server", running.url, "--json", cwd=tmp_path)
    found = [
        (each["check"], each["level"], each["message"], each["remedy"]) for each in json.loads(outcome.stdout)["items"]
    ]
    found = [each for each in found if each[0] != "java"]
    assert outcome.returncode == 1
    kinds = [each[:2] for each in found]
    assert sorted(kinds) == [("refused", "problem"), ("refused", "warning"), ("sinks", "problem")]
    paths = {each[2]: each[3] for each in found}
    message = "1 request by their-client/1.0 posted events to the wrong path /lineage."
    assert paths[message] == wrong_path_refusal().fix
    assert f"headwater sinks check catalog --server {running.url}" in found[2][3]
    lines = commanded("doctor", "--server", running.url, cwd=tmp_path).stdout.splitlines()
    assert f"problem: refused: {message} {wrong_path_refusal().fix}" in lines
    assert lines[-1].startswith("14 checks: 2 problems, ")


def test_the_doctor_finds_the_server_of_the_settings_and_only_that_of_the_folder(
    running: Running, tmp_path: Path
) -> None:
    environment = {"HEADWATER_PORT": str(running.port)}
    own = json.loads(commanded("doctor", "--data", running.folder, "--json", environment=environment).stdout)
    assert {"disk", "permissions", "services", "clock"} <= {*own["checks"]}
    (tmp_path / "other").mkdir(mode=0o700)
    (tmp_path / "other" / "format").write_text("1\n")
    other = json.loads(commanded("doctor", "--data", tmp_path / "other", "--json", environment=environment).stdout)
    assert "services" not in other["checks"]
    assert "Cannot listen" in next(each["message"] for each in other["items"] if each["check"] == "port")


def test_log_lines_are_json_with_process_and_level(running: Running) -> None:
    eventually(lambda: '"process": "sinks"' in running.stderr)
    lines = [json.loads(line) for line in [*running.lines, *running.stderr.splitlines()]]
    assert {"up", "sinks"} <= {each["process"] for each in lines}
    assert all({"time", "level", "process", "logger", "message"} <= {*each} for each in lines)
    assert {each["level"] for each in lines} <= {"debug", "info", "warning", "error"}


def test_a_deprecated_option_works_and_names_its_successor(running: Running, tmp_path: Path) -> None:
    file = tmp_path / "events.ndjson"
    file.write_bytes(body(run_event()))
    for command in (("send", file), ("ingest", file, "--state", tmp_path / "state")):
        outcome = commanded(*command, "--to", running.url, "--json", cwd=tmp_path)
        assert outcome.returncode == 0
        assert "--to is deprecated, and the next minor version removes it. Use --server." in outcome.stderr
    declared = commanded("declare", "--to", running.url, "--json", cwd=tmp_path)
    assert (declared.returncode, "Use --server." in declared.stderr) == (0, True)
    connected = commanded("connect", "--url", "https://h.example", "--data", tmp_path)
    assert (connected.returncode, "url=https://h.example" in connected.stdout) == (0, True)
    assert "--url is deprecated" in connected.stderr


def expressions() -> list[str]:
    panels = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
    return [*(rule["expr"] for rule in RULES), *panels]


def test_alerts_and_dashboard_use_metrics_and_labels_that_exist(running: Running) -> None:
    families = [*text_string_to_metric_families(httpx.get(f"{running.url}/metrics").text)]
    samples: dict[str, set[str]] = {}
    for each in (sample for family in families for sample in family.samples):
        samples.setdefault(each.name, set()).update(each.labels)
    for expression in expressions():
        for name, labels in re.findall(r"\b((?:headwater|process)_\w+)(\{[^}]*\})?", expression):
            assert name in samples, expression
            used = {*re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", labels)} - OF_PROMETHEUS
            assert used <= samples[name], expression
    labels = {label for found in samples.values() for label in found} | OF_PROMETHEUS | {"severity"}
    assert {*re.findall(r"\$labels\.(\w+)", json.dumps(RULES))} <= labels
    own = {
        name for name in samples if name.startswith("headwater_") and not name.endswith(("_created", "_count", "_sum"))
    }
    shown = {name for name in own if any(name in each for each in expressions())}
    assert own == shown, "there are metrics that neither an alert nor the dashboard uses"


def test_the_dashboard_has_unique_panels_that_do_not_overlap() -> None:
    places = [each["gridPos"] for each in DASHBOARD["panels"]]
    cells = [
        (x, y) for at in places for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])
    ]
    assert len(cells) == len({*cells})
    assert max(x for x, _ in cells) < 24
    assert len({each["id"] for each in DASHBOARD["panels"]}) == len(places)


@pytest.mark.long  # builds promtool with Go, which takes ten minutes the first time
def test_prometheus_accepts_rules_and_expressions(tmp_path: Path) -> None:
    monitoring = ROOT / "infra" / "monitoring"
    promtool.run("check", "rules", "--lint-fatal", str(monitoring / "alerts.yml"))
    promtool.run("test", "rules", str(monitoring / "alerts_test.yml"))
    panels: list[dict[str, Any]] = [
        {
            "record": f"panel:{number}",
            "expr": each.replace("$__rate_interval", "5m").replace("$job", ".*").replace("$instance", ".*"),
        }
        for number, each in enumerate(expressions())
    ]
    file = tmp_path / "dashboard.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "dashboard", "rules": panels}]}))
    promtool.run("check", "rules", str(file))
