"""The alerts can read two log lines of the parser exactly as the parser writes them."""

import json
import logging
import re
import sqlite3
from pathlib import Path

import pytest

from functions.sinks import SinkRun
from headwater.intake.event_log.segments import open_writable
from tests.infra.templates import MAIN, ROOT, source, template, variable
from tests.support.data.parsing import World, event
from tests.support.data.sink_world import SinkWorld, bodies, events
from tests.support.servers.sink_target import Said, sink_server

pytestmark = pytest.mark.slow

ALERTS = "modules/alerts.bicep"


def parsed(line: str, of: str = "parserLine") -> dict[str, int | str]:
    """Apply the alerts' `parse` expression to a line as Kusto would: `*`, texts, `Name:long` and `Name`."""
    pattern = variable(of, ALERTS).partition("parse Message with ")[2]
    parts = re.findall(r'\*|"[^"]*"|\w+(?::long)?', pattern)
    regex = "".join(
        ".*?" if part == "*"
        else re.escape(part[1:-1]) if part.startswith('"')
        else f"(?P<{part[:-5]}>-?[0-9]+)" if part.endswith(":long")
        else f"(?P<{part}>.*?)"
        for part in parts
    )  # fmt: skip
    found = re.fullmatch(regex, line)
    assert found, f"the alerts cannot parse {line!r}"
    return {name: int(text) if re.fullmatch(r"-?\d+", text) else text for name, text in found.groupdict().items()}


def seen(caplog: pytest.LogCaptureFixture, line: str) -> list[str]:
    """List the messages that match a line's filter."""
    (wanted,) = re.findall(r'Message has "([^"]+)"', variable(line, ALERTS))
    return [record.getMessage() for record in caplog.records if wanted in record.getMessage()]


def reports(caplog: pytest.LogCaptureFixture) -> list[dict[str, int | str]]:
    return [parsed(message) for message in seen(caplog, "parserLine")]


def test_the_parser_says_what_came_of_a_delivery(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headwater")
    world = World(tmp_path)
    world.append(*(event(run) for run in range(3)), b'{"no": "event"}')
    world.parser().commit_delivery(world.records(1, 4))
    (line,) = reports(caplog)
    assert (line["Records"], line["Sequence"], line["Rejected"]) == (4, 4, 1)
    assert 0 <= int(line["Waited"]) < 300
    assert seen(caplog, "gapLine") == []


@pytest.mark.parametrize("way", ["take", "step"])
def test_a_gap_and_a_long_wait_are_said(way: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    world = World(tmp_path)
    world.append(*(event(run) for run in range(5)))
    world.parser().commit_delivery(world.records(1, 1))
    world.age(days=1, behind=1)
    _forget(world, 2, 3)
    caplog.set_level(logging.INFO, "headwater")
    if way == "step":
        world.parser().commit_next()
    else:
        world.parser().commit_delivery(world.records(4, 5))
        (line,) = reports(caplog)
        assert (line["Records"], line["Rejected"]) == (2, 0)
        assert int(line["Waited"]) == pytest.approx(86_400, abs=300)
    (gap,) = seen(caplog, "gapLine")
    assert gap.startswith("Partition 0: 2 of the records up to sequence 5 are lost")


def test_a_delivery_that_was_there_before_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "headwater")
    world = World(tmp_path)
    world.append(event(1))
    parser = world.parser()
    for _ in range(2):
        parser.commit_delivery(world.records(1, 1))
    assert [line["Records"] for line in reports(caplog)] == [1, 0]


def test_there_is_an_alert_for_each_thing_that_must_not_pass_unseen() -> None:
    rules = {rule["name"]: rule for rule in variable("rules", ALERTS)}
    assert set(rules) == {"api-faults", "lag", "rejected", "gap", "parser-silence"}
    assert rules["gap"]["query"] == "gapLine"
    assert all("${parserLine}" in rule["query"] for name, rule in rules.items() if name not in ("gap", "api-faults"))
    columns = set(re.findall(r"\b([A-Z]\w+):long", variable("parserLine", ALERTS)))
    requests = rules.pop("api-faults")
    assert 'ResultCode != "503"' in requests["query"], "`behind` is a normal answer of the API"
    for rule in rules.values():
        asked = set(
            re.findall(r"\b[A-Z][a-z]+\b", rule["query"].replace("${parserLine}", "").replace("${hubMessages}", ""))
        )
        assert asked <= columns | {"Came", "Said"}, rule["name"]
    sinks = {rule["name"]: rule["query"] for rule in variable("sinkRules", ALERTS)}
    assert set(sinks) == {"sink-lag", "sink-dead-letters", "sink-silence"}
    assert sinks["sink-dead-letters"] == "givenUpLine"
    assert "for rule in concat(rules, heartbeatHours > 0 ? [heartbeat] : [], withSinks ? sinkRules : [])" in source(
        ALERTS
    )
    errors = str(template(ALERTS)["resources"]["receiverErrors"])
    assert "Http5xx" in errors
    assert "receiverId" in errors
    assert "receiverId: receiver.outputs.id" in source(MAIN)


def test_the_heartbeat_looks_back_as_many_hours_as_the_parameter_says() -> None:
    heartbeat = variable("heartbeat", ALERTS)
    assert heartbeat["window"] == "PT${heartbeatHours}H"
    assert "windowSize: rule.?window ?? 'PT30M'" in source(ALERTS)
    assert "summarize Came = sum(Came) | where Came == 0" in heartbeat["query"], (
        "the query must return a row even if no event arrived"
    )


@pytest.mark.parametrize(
    ("category", "least"),
    [
        ("Function.parser.User", "Information"),  # the lines of the parser
        ("Function.sinks.User", "Information"),  # the lines of sinks
        ("Function.lineage", "Warning"),  # two lines for each request, even without a key: no sampling limits them
        ("Function.lineage.User", "Warning"),
        ("Host.Results", "Information"),  # requests, which the workbook counts
        ("Azure.Messaging.EventHubs", "Warning"),  # the trigger's own messages, which are most of what a host could log
        ("Microsoft.Azure.WebJobs.Hosting", "Warning"),
    ],
)
def test_the_host_hands_on_the_lines_that_alerts_read_and_not_its_own_talk(category: str, least: str) -> None:
    """The host uses the longest filter that is a prefix of the category, else `default`."""
    host = json.loads((ROOT / "host.json").read_text())
    levels = host["logging"]["logLevel"]
    begins = [name for name in levels if category == name or category.startswith(f"{name}.")]
    assert levels[max(begins, key=len, default="default")] == least
    assert "applicationInsights" not in host["logging"], (
        "with OpenTelemetry, the sampling of Application Insights has no effect"
    )
    assert host["telemetryMode"] == "OpenTelemetry"


def test_a_shift_says_of_each_sink_what_waits_and_since_when_and_a_runner_what_it_gave_up(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    world, made = SinkWorld(tmp_path), events(4)
    world.store(*bodies(made))
    with sink_server() as server, sink_server() as down:
        server.answer = lambda asked: Said(422, b"no such thing") if asked.events == made[1:2] else Said()
        down.answer = lambda _: Said(429, headers={"retry-after": "3000"})
        named = {name: {"type": "openlineage", "url": each.url} for name, each in (("good", server), ("down", down))}
        (tmp_path / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": named}))
        sinks = SinkRun(world.settings)
        sinks.run()
        assert seen(caplog, "brokenLine") == []
        reported = seen(caplog, "sinkLine")
        (tmp_path / "sinks.yml").write_text("version: 1\nsinks: {good: {type: nothing}}")
        sinks.run()
    (broken,) = seen(caplog, "brokenLine")
    assert "unknown type" in broken
    assert "${brokenLine}" in next(r["query"] for r in variable("sinkRules", ALERTS) if r["name"] == "sink-silence")
    good, bad = (parsed(line, "sinkLine") for line in reported)
    assert good == {"Sink": "good", "State": "caught up", "Waiting": 0, "Waited": 0}
    assert (bad["Sink"], bad["State"], bad["Waiting"]) == ("down", "waiting", 4)
    assert [line.partition(",")[0] for line in seen(caplog, "givenUpLine")] == ["Sink good: 1 events given up"]
    asked = {
        rule["name"]: set(re.findall(r"\b(Waited|State|Sink|Waiting)\b", rule["query"]))
        for rule in variable("sinkRules", ALERTS)
    }
    assert asked["sink-lag"] == {"Waited", "State"}
    assert 'State != "paused"' in source(ALERTS), "a paused sink is expected to lag"


def _forget(world: World, *sequences: int) -> None:
    """Delete records from the log, as a hub's retention does."""
    connection: sqlite3.Connection = open_writable(max(world.log.glob("*.sqlite")))
    connection.executemany("DELETE FROM records WHERE sequence = ?", [(sequence,) for sequence in sequences])
    connection.close()
