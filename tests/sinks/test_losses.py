"""Information that targets cannot store: the declared losses match the payloads, and the report of losses."""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from headwater.cli.sinks import app
from headwater.common.errors import InvalidEvent
from headwater.events.event_reader import EventReader
from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.governance.reconcile.events import finding_event
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.lake.dataset_schema_changes import SchemaChange
from headwater.operations.local.health import COMPARED, FindingMeter
from headwater.operations.runtime.storage import open_bronze
from headwater.questions.answer_types.reports import Finding
from headwater.sinks.interface.options import Sink
from headwater.sinks.interface.shape import SinkEvent, Target, run_key_of
from headwater.sinks.interface.support import DEEP, LONG_TEXT, MANY, ItemSupport, support_for
from headwater.sinks.interface.target_registry import TARGETS, open_sink, target_module
from headwater.sinks.losses import LossSelection, leaf_values, loss_report, losses_of, reported_items
from headwater.sinks.merging.payloads import ConvertsSchemaChanges
from tests.support.data.made_events import body, dataset_event, job_event, run_event
from tests.support.data.samples import sample_lines
from tests.support.data.sink_world import SinkWorld, bodies, sink
from tests.support.paths import EVENTS

Event = dict[str, Any]
Changed = tuple[str, str, str, Callable[[], list[Event]]]
"""Kind and name of the item, a label that limits repetitions of equal changes, and a function that makes the changed
events.
"""

URL = "http://127.0.0.1:1"
DATAHUB = {"type": "datahub", "url": URL, "coalesce_jobs": False, "metadata.dataset.materialize": True}
SINKS = {
    "file": sink(type="file", folder="/nowhere"),
    "openlineage": sink(type="openlineage", url=URL),
    "openlineage by runs": sink(type="openlineage", url=URL, **{"as": "runs"}),
    "delta": sink(type="delta", table="/nowhere"),
    "webhook": sink(type="webhook", url=URL, secret={"env": "KEY"}),
    "marquez": sink(type="marquez", url=URL),
    "kafka": sink(type="kafka", servers="127.0.0.1:1", topic="t", largest_bytes=1 << 30),
    "datahub": sink(type="datahub", url=URL, coalesce_jobs=False),
    "datahub with datasets": sink(**DATAHUB),
    "datahub with schemas": sink(**DATAHUB, **{"metadata.dataset.include_schema_metadata": True}),
    "purview": sink(type="purview", url=URL, key={"env": "KEY"}),
}
KEY = f"whsec_{'a2V5' * 10}"
"""A secret in a form that every target accepts."""
OF_INCIDENTS = {"slack", "teams", "email", "incident-webhook"}
"""Types of sinks that convert no event, so that nothing of an event can be seen there."""
NO_VALUE = ("event", "missing input")
"""Items without a value that could be changed."""
OFTEN = 4
"""Number of tests of one kind of change for each target."""


def stored(raw: Iterable[bytes]) -> list[SinkEvent]:
    """Return events as the lake would return them, without those that it would reject."""
    found, source = [], Source("test", "life", "0")
    for place, event in enumerate(EventReader().read([*raw]), 1):
        if not isinstance(event, InvalidEvent):
            names = (event.kind, event.event_type, event.run_id, event.job_namespace, event.job_name)
            head = StoredHead(place, event.id.hex(), 1_800_000_000_000_000, *names, len(event.body))
            found.append(SinkEvent(source, head, event.body))
    return found


def step(kind: str, subtype: str, *, masking: bool = False) -> Event:
    return {"type": kind, "subtype": subtype, "masking": masking, "description": f"how {subtype}"}


def table(name: str, **facets: Any) -> Event:
    return {"namespace": "postgres://db:5432", "name": name, "facets": facets}


def source(name: str, field: str | None, *steps: Event) -> Event:
    edge = {"type": "DATASET", "namespace": "postgres://db:5432", "name": name, "transformations": [*steps]}
    return edge | ({"field": field} if field else {})


def known_as(name: str) -> Event:
    return {"identifiers": [{"namespace": "hive://h", "name": name, "type": "TABLE"}]}


SCHEMA = {"fields": [{"name": "a", "type": "int"}, {"name": "s", "type": "struct", "fields": [{"name": "in"}]}]}
TAGS = {"tags": [{"key": "owner", "value": "me", "source": "dbt"}, {"key": "pii", "value": "true", "field": "a"}]}
COLUMNS = {
    "fields": {
        "a": {"inputFields": [source("in", "x", step("DIRECT", "HASH", masking=True))]},
        "c": {"inputFields": [{"namespace": "hive://h", "name": "db.in", "field": "x"}]},
        "b": {"inputFields": [source("in", "y", step("INDIRECT", "FILTER"))]},
    },
    "dataset": [source("in", "z", step("INDIRECT", "JOIN"))],
}
JOB_TYPE = {"processingType": "BATCH", "integration": "SPARK", "jobType": "QUERY"}
OF_RUN = {
    "nominalTime": {"nominalStartTime": "2026-03-01T12:00:00Z"},
    "parent": {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "j"}, "root": {"run": {"runId": "r"}}},
    "errorMessage": {"message": "short", "stackTrace": "long " * 500},
    "versions": {"list": ["1", {"deep": "2"}]},
    "tags": {"tags": [{"key": "k", "value": "v", "source": "s"}], "note": "plain"},
}
OF_JOB = {
    "documentation": {"description": "text " * 500, "contentType": "text/markdown"},
    "ownership": {"owners": [{"name": "team:data", "type": "DEVELOPER"}]},
    "jobType": JOB_TYPE,
    "tags": TAGS,
    "sql": {"query": "select 1"},
}


def runs_made() -> Iterator[list[Event]]:
    """Yield runs and declarations with features that the samples lack."""
    job = {"namespace": "prod", "name": "app.load", "facets": OF_JOB}
    run = {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566", "facets": OF_RUN}
    out = table("out", schema=SCHEMA, columnLineage=COLUMNS, symlinks=known_as("db.out"), tags=TAGS)
    out["outputFacets"] = {"outputStatistics": {"rowCount": 7}}
    read = table("in", schema=SCHEMA, dataSource={"name": "db"}, symlinks=known_as("db.in"))
    read["inputFacets"] = {"inputStatistics": {"rowCount": 7}}
    whole = run_event(run=run, job=job, inputs=[read], outputs=[out])
    states = ["START", "RUNNING", "OTHER", "COMPLETE"]
    for of_one in (states, ["START", "FAIL"], ["START", "ABORT"]):
        times = [f"2026-03-01T12:0{minute}:00.000Z" for minute in range(len(of_one))]
        yield [whole | {"eventType": state, "eventTime": time} for state, time in zip(of_one, times, strict=True)]
    yield [whole | {"eventType": "ABORT"}]
    yield [whole | {"eventType": "START"}]
    stream = job | {"facets": {"jobType": JOB_TYPE | {"processingType": "STREAMING"}}}
    yield [whole | {"eventType": "RUNNING", "job": stream}]
    many = {f"f{number:03}": {"value": number} for number in range(MANY + 50)}
    yield [run_event(run=run | {"facets": many}, job={"namespace": "n", "name": "j"})]
    entry = {"type": "DATASET", "namespace": "postgres://db:5432", "name": "out"}
    of_job = {"type": "JOB", "namespace": "prod", "name": "before"}
    entries = [entry | {"inputs": [source("in", None), of_job]}, of_job | {"inputs": [source("in", None)]}]
    yield [run_event(run=run | {"facets": {"lineage": {"entries": entries}}}, inputs=[table("in")])]
    yield [job_event(job=job, inputs=[read], outputs=[out])]
    yield [dataset_event(dataset=out)]
    silent = Finding(
        kind="not_reported", certain=True, name="load", time="2026-03-01T12:00:00Z", reason="r", advice="a"
    )
    yield [json.loads(finding_event("nightly", [silent], HistorySpan(0, 1)))]


@cache
def samples() -> list[list[Event]]:
    """Return the events of each run, and each declaration, from all sample files and from this module."""
    groups: dict[str, list[Event]] = defaultdict(list)
    for event in stored(line for file in sorted(EVENTS.glob("*.ndjson")) for line in sample_lines(file.name)):
        groups[run_key_of(event.head) or event.head.event_id].append(json.loads(event.body))
    return [*groups.values(), *runs_made()]


def all_new(events: Sequence[SinkEvent]) -> dict[str, list[SchemaChange]]:
    """Return the schemas of complete runs as changes, as if the lake had none before."""
    found: dict[str, list[SchemaChange]] = defaultdict(list)
    for event in events:
        for each in json.loads(event.body).get("outputs", ()) if event.head.state == "COMPLETE" else ():
            columns = each.get("facets", {}).get("schema", {}).get("fields", ())
            if now := {column["name"]: column.get("type") for column in columns}:
                found[event.head.event_id].append(SchemaChange(each["namespace"], each["name"], {}, now))
    return found


def image(target: Target, events: Sequence[Event]) -> Any:
    """Return the final content of a target: if payloads replace each other, only the last one counts."""
    given = stored(map(body, events))
    if isinstance(target, ConvertsSchemaChanges):
        payloads = target.convert_changes(given, partial(all_new, given))
        return [{**json.loads(each.body), "id": None} for each in payloads]  # the id follows from the event's id
    sent = [json.loads(each.body) for each in target.convert(given) if each.unfit is None]
    kept: dict[Any, Any] = {}
    for payload in sent:
        for each in payload if isinstance(payload, list) else payload.get("entities", []):
            aspect = each.get("aspect", {}).get("value", "")
            moment = aspect if "RunEvent" in each.get("aspectName", "") else ""
            own = each.get("entityUrn"), each.get("aspectName"), moment
            kept[own if own[0] else (each["typeName"], each["attributes"]["qualifiedName"])] = each
    return kept or sorted(map(json.dumps, sent))


def at(event: Event, way: Sequence[str | int]) -> Any:
    found: Any = event
    for part in way:
        known = part in found if isinstance(found, dict) else isinstance(found, list) and int(part) < len(found)
        if not known:
            return None
        found = found[part]
    return found


def edited(events: Sequence[Event], edit: Callable[[Event], None]) -> list[Event]:
    changed = [json.loads(json.dumps(event)) for event in events]  # equal parts become separate objects
    for event in changed:
        edit(event)
    return changed


def put(way: Sequence[str | int], value: Any) -> Callable[[Event], None]:
    def edit(event: Event) -> None:
        of: Any = at(event, way[:-1])
        if at(event, way) is not None:
            of[way[-1]] = value

    return edit


def facets_changed(events: Sequence[Event]) -> Iterator[Changed]:
    """Yield runs with one value of a facet changed."""
    places: list[tuple[str, tuple[str | int, ...]]] = [("run", ("run", "facets")), ("job", ("job", "facets"))]
    places.append(("dataset", ("dataset", "facets")))
    for side, kind in (("inputs", "input"), ("outputs", "output")):
        for number in range(max(len(event.get(side) or ()) for event in events)):
            places += [("dataset", (side, number, "facets")), (kind, (side, number, f"{kind}Facets"))]
    for of, way in places:
        merged = {name: value for event in events for name, value in (at(event, way) or {}).items()}
        plain = 0
        for name, facet in sorted(merged.items()):
            for path, value in leaf_values(facet) if name not in ("lineage", "columnLineage") else ():
                is_deep = len(path) > DEEP or any(isinstance(part, int) for part in path)
                plain += not is_deep
                part, called, is_long = f"{of} facet", name, isinstance(value, str) and len(value) > LONG_TEXT
                if of in ("run", "job") and (is_deep or plain > MANY or is_long):
                    part = "nested value" if is_deep else "long text" if is_long else "many values"
                    called = f"{of}.{name}"
                what = ".".join("*" if isinstance(each, int) else each for each in path)
                edit = put((*way, name, *path), other(value, is_long=is_long))
                yield part, called, what, partial(edited, events, edit)


def other(value: Any, *, is_long: bool) -> Any:
    if isinstance(value, str):
        return f"{value}x" if is_long else f"x{value}"
    return not value if isinstance(value, bool) else value + 1


def edges_changed(events: Sequence[Event]) -> Iterator[Changed]:
    """Yield runs with one property of all edges changed."""
    parts = {(thing.part, thing.name) for thing in reported_items(stored(map(body, events)))}
    for part, name in parts:
        for what, edit in EDITS.get(part, {}).items():
            yield part, name, what, partial(edited, events, partial(_walk, edit=partial(edit, name)))
    if ("nested column", "") in parts:
        yield "nested column", "", "", partial(edited, events, _rename_nested)


def _walk(node: Any, edit: Callable[[bool, Event], None], *, of_column: bool = False) -> None:
    if isinstance(node, list):
        for each in node:
            _walk(each, edit, of_column=of_column)
    elif isinstance(node, dict):
        for key, member in node.items():
            if key in ("inputFields", "inputs", "dataset") and isinstance(member, list):
                for each in member:
                    if isinstance(each, dict) and "facets" not in each:
                        edit(of_column, each)
            _walk(member, edit, of_column=of_column or key == "fields")


def _steps(edge: Event) -> list[Event]:
    return [each for each in edge.get("transformations") or () if isinstance(each, dict)]


def _part_of(edge: Event, *, of_column: bool) -> str:
    if edge.get("type") == "JOB":
        return "job edge"
    if "field" not in edge:
        return "dataset edge"
    if not of_column:
        return "dataset-wide edge"
    return "other edge" if any(each.get("type") == "INDIRECT" for each in _steps(edge)) else "value edge"


def _rename(part: str, key: str, _: str, of_column: bool, edge: Event) -> None:
    if _part_of(edge, of_column=of_column) == part and key in edge:
        edge[key] = f"x{edge[key]}"


def _restep(key: str, to: Callable[[Any], Any], name: str, _: bool, edge: Event) -> None:
    for each in _steps(edge):
        if key in each and (key != "subtype" or each[key] == name):
            each[key] = to(each[key])


Edit = Callable[[str, bool, Event], None]
EDITS: dict[str, dict[str, Edit]] = {
    **{
        part: {key: partial(_rename, part, key) for key in ("field", "name")}
        for part in ("value edge", "other edge", "dataset-wide edge", "dataset edge", "job edge")
    },
    "masked column": {"": partial(_restep, "masking", lambda masking: not masking)},
    "subtype": {"": partial(_restep, "subtype", lambda subtype: f"X{subtype}")},
    "description": {"": partial(_restep, "description", lambda text: f"x{text}")},
}


def _rename_nested(node: Any, deep: int = 0) -> None:
    if isinstance(node, list):
        for each in node:
            _rename_nested(each, deep)
    elif isinstance(node, dict):
        if deep > 1 and "name" in node:
            node["name"] = f"x{node['name']}"
        for key, member in node.items():
            if key != "columnLineage":
                _rename_nested(member, deep + (key == "fields" and isinstance(member, list)))


def kind_of(event: Event) -> str:
    return "RUN" if "run" in event else "JOB" if "job" in event else "DATASET"


def wholes_changed(events: Sequence[Event]) -> Iterator[Changed]:
    """Yield runs without their inputs, outputs or one state, or without any events."""
    yield "event", kind_of(events[0]), "", list
    for side, part in (("inputs", "read dataset"), ("outputs", "written dataset")):
        if any(event.get(side) for event in events):
            yield part, "", "", partial(edited, events, put((side,), []))
    alike = {json.dumps(event | {"eventType": "", "eventTime": ""}, sort_keys=True) for event in events}
    states = {event.get("eventType") for event in events}
    for state in states if len(alike) == 1 < len(states) else ():
        yield "state", str(state), "", partial(list, [event for event in events if event["eventType"] != state])


def changes(events: Sequence[Event]) -> Iterator[Changed]:
    yield from wholes_changed(events)
    yield from facets_changed(events)
    yield from edges_changed(events)


@pytest.mark.slow  # changes every value of every sample
@pytest.mark.parametrize("name", SINKS)
def test_a_declaration_is_what_payloads_hold(name: str) -> None:
    """A change to an item declared as `not` supported must not change payloads; one declared as `whole`
    sometimes must.
    """
    of = SINKS[name]
    support_table = target_module(of.options.type).support_table(of.options)
    seen: dict[ItemSupport, set[bool]] = defaultdict(set)
    looked: dict[tuple[str, str, str], int] = defaultdict(int)
    wrong: set[tuple[str, ...]] = set()
    with closing(open_sink(of, lambda _: KEY)) as target:
        for events in samples():
            before = image(target, events)
            kind = kind_of(events[0])
            held = support_for(support_table, "event", kind).held
            is_over = kind != "RUN" or {event.get("eventType") for event in events} & {"COMPLETE", "FAIL", "ABORT"}
            is_sent = held != "not"
            assert bool(before) or held != "whole" or not is_over
            if is_sent and not before:  # the run is not sent yet, or is filtered
                continue
            for part, called, what, change in changes(events):
                key = part, called, what
                holding = support_for(support_table, part, called)
                is_known = looked[key] >= OFTEN and (holding.held != "part" or True in seen[holding])
                if is_known or not (is_sent or part == "event") or (changed := change()) == events:
                    continue
                looked[key] += 1
                differs = image(target, changed) != before
                seen[holding].add(differs)
                if (holding.held == "not" and differs) or (holding.held == "whole" and not differs):
                    wrong.add((holding.held, *key, str(differs)))
    assert wrong == set()
    assert [each[:2] for each in support_table if each not in seen and each.part not in NO_VALUE] == []
    assert [each[:2] for each in support_table if each.held == "part" and True not in seen[each]] == []


def test_every_target_declares_what_it_holds() -> None:
    assert {each.options.type for each in SINKS.values()} | OF_INCIDENTS == TARGETS.built_in.keys()
    for kind in OF_INCIDENTS:
        assert [each.held for each in target_module(kind).support_table(SINKS["file"].options)] == ["not"]


def lost(sink_: Sink, world: SinkWorld, looked: LossSelection | None = None) -> dict[tuple[str, str], tuple[int, int]]:
    """Return the lost items by kind and name, with their count and the number of runs."""
    items = loss_report(open_bronze(world.settings), sink_, looked or LossSelection())["items"]
    return {(each["part"], each["name"]): (each["things"], each["runs"]) for each in items if each["things"]}


def test_what_is_lost_is_counted_once_a_run(tmp_path: Path) -> None:
    """A run of four events repeats the same information four times. A failed run has no edges (rule 1)."""
    world = SinkWorld(tmp_path)
    good, failed = [*runs_made()][:2]
    for event in failed:
        event["run"] = event["run"] | {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17567"}
    world.store(*bodies([*good, *failed]))
    of = lost(SINKS["purview"], world)
    assert of["masked column", ""] == (1, 1)
    assert of["other edge", ""] == (1, 1)
    assert of["dataset-wide edge", ""] == (1, 1)
    assert of["subtype", "FILTER"] == (1, 1)
    assert of["run facet", "nominalTime"] == (2, 2)
    assert of["nested column", ""] == (4, 2)
    assert of["output facet", "outputStatistics"] == (2, 2)
    assert ("value edge", "") not in of
    only_failed = lost(SINKS["purview"], world, LossSelection(run=failed[0]["run"]["runId"]))
    assert ("masked column", "") not in only_failed
    assert only_failed["run facet", "nominalTime"] == (1, 1)
    assert lost(SINKS["file"], world) == {}


def test_runs_whose_inputs_cannot_be_filled_are_losses_of_merged_runs(tmp_path: Path) -> None:
    """A MERGE reports no input.

    If the run counts, its column lineage names the input. Without it, the input is unknown.
    """
    world = SinkWorld(tmp_path)
    told, failed, silent = (
        table("out", **facets) for facets in ({"columnLineage": COLUMNS}, {"columnLineage": COLUMNS}, {})
    )
    states = {"COMPLETE": told, "FAIL": failed, "ABORT": silent}
    world.store(*bodies([run_event(eventType=state, inputs=[], outputs=[out]) for state, out in states.items()]))
    world.store(*bodies([run_event(inputs=[], outputs=[silent]), run_event(eventType="START", outputs=[silent])]))
    assert lost(SINKS["openlineage by runs"], world)["missing input", ""] == (3, 3)
    assert ("missing input", "") not in lost(SINKS["purview"], world) | lost(SINKS["datahub"], world)
    assert lost(SINKS["openlineage"], world) == {}


def test_an_event_of_which_nothing_is_sent_is_one_loss() -> None:
    event = stored([body(dataset_event(dataset=table("out", schema=SCHEMA, tags=TAGS)))])
    met = [
        each for each in losses_of(event, target_module("datahub").support_table(SINKS["datahub"].options)) if each.runs
    ]
    assert [(each.part, each.name, each.things) for each in met] == [("event", "DATASET", 1)]


def test_the_newest_events_of_a_span_that_the_filter_lets_by(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    world.store(*bodies([run_event(job={"namespace": name, "name": "j"}) for name in ("prod", "test", "prod")]))
    of = sink(type="purview", url=URL, key={"env": "KEY"}, only={"namespaces": ["prod"]})
    bronze = open_bronze(world.settings)
    found = loss_report(bronze, of, LossSelection())
    assert (found["events"], found["left_out"], found["truncated"]) == (2, 1, False)
    found = loss_report(bronze, of, LossSelection(limit=1))
    assert (found["events"], found["truncated"]) == (1, True)
    assert loss_report(bronze, of, LossSelection(since_us=4_000_000_000_000_000))["events"] == 0
    assert loss_report(bronze, of, LossSelection(until_us=1))["events"] == 0


def test_words_of_events_forge_no_lines_of_losses_and_no_labels_of_metrics(tmp_path: Path) -> None:
    world, forged = SinkWorld(tmp_path), "forged\r\n2026 ERROR\x1b[2J"
    silent = Finding(
        kind="not_reported", certain=True, name="load", time="2026-03-01T12:00:00Z", reason="r", advice="a"
    )
    run = {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566", "facets": {forged: {"value": 1}}}
    world.store(body(run_event(run=run)), finding_event(forged, [silent], HistorySpan(0, 1)))
    assert ("run facet", "forged\\r\\n2026 ERROR\\x1b[2J") in lost(SINKS["purview"], world)
    FindingMeter(open_bronze(world.settings)).update_metrics()
    labels = [sample.labels["comparison"] for metric in COMPARED.collect() for sample in metric.samples]
    assert labels == ["forged\\r\\n2026 ERROR\\x1b[2J"]


def test_losses_by_command(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    (tmp_path / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": {"out": {**DATAHUB}}}))
    (made,) = [*runs_made()][3]
    world.store(body(made))
    asked = ["--data", str(tmp_path), "--json"]
    of_run = CliRunner().invoke(app, ["losses", "out", made["run"]["runId"], *asked])
    assert of_run.exit_code == 0, of_run.output
    found = json.loads(of_run.stdout)
    assert {"part": "long text", "name": "run.errorMessage", "held": "not", "things": 1, "runs": 1} in [
        {key: each[key] for key in ("part", "name", "held", "things", "runs")} for each in found["items"]
    ]
    refused = CliRunner().invoke(app, ["losses", "out", "nothing", *asked])
    assert "nothing" in str(refused.exception)
