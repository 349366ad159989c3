"""Whole runs as one OpenLineage event, checked with the published schemas and with our own lineage rules."""

import json
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.events.validation import validate_event
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.edges.output_lineage import EdgeRules, OutputLineage
from headwater.lineage.edges.run_edges import derive_output_lineages
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.name_resolution import NameResolver, event_bindings
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.merged_run import merge_run
from headwater.sinks.control.service import preview_payloads
from headwater.sinks.interface.shape import SinkEvent, run_key_of
from headwater.sinks.interface.target_registry import open_sink
from tests.support.data.made_events import body, job_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, samples, sink, stored
from tests.support.servers.sink_target import sink_server

PLAIN = {"type": "openlineage", "url": "http://127.0.0.1:1"}
FACET = {"_producer": "https://example.org", "_schemaURL": "https://example.org/facet.json"}
RUN = {"runId": "0195c000-0000-7000-9000-000000000001"}


def converted(of: Sequence[SinkEvent], how: str = "runs") -> list[dict[str, Any]]:
    """Return the events that a sink would post."""
    with closing(open_sink(sink(**PLAIN, **{"as": how}), no_token)) as target:  # type: ignore[arg-type]
        convert = target.convert if how == "events" else lambda some: target.convert_runs(some, {})  # type: ignore[attr-defined]
        return [json.loads(payload.body) for payload in convert(of)]


def at(minute: int, **members: Any) -> dict[str, Any]:
    return run_event(**{"run": RUN, "eventTime": f"2026-03-01T12:{minute:02}:00Z"} | members)


def dataset(name: str, **facets: Any) -> dict[str, Any]:
    return {
        "namespace": "postgres://db:5432",
        "name": name,
        "facets": {key: FACET | each for key, each in facets.items()},
    }


def broken(event: dict[str, Any]) -> set[str]:
    """Return the schema errors of an event in all its parts."""
    return {problem.message for problem in validate_event(event) if problem.severity == "error"}


@pytest.mark.slow
def test_what_a_verbatim_sink_sends_of_the_sample_events_is_as_valid_as_what_was_posted() -> None:
    posted = samples()
    sent = converted(posted, "events")
    assert sent == [json.loads(event.body) for event in posted]
    assert sum(not broken(event) for event in sent) > 300


def test_one_event_of_a_run_breaks_no_schema_that_its_events_keep() -> None:
    by_run: dict[str | None, set[str]] = defaultdict(set)
    for event in samples():
        by_run[run_key_of(event.head)] |= broken(json.loads(event.body))
    merged = [event for event in stored(map(body, converted(samples()))) if event.head.kind == "RUN"]
    assert len(merged) == len({run_key_of(event.head) for event in merged}) > 20
    for event in merged:
        assert broken(json.loads(event.body)) <= by_run[run_key_of(event.head)], event.head.run_id


def said(of: Sequence[SinkEvent]) -> dict[str, list[OutputLineage]]:
    """Return the lineage of each complete run by the rules."""
    contents, runs = FacetContentsInMemory(), defaultdict(list)
    reader = FactsReader(default_rules().canonical, contents)
    for event in of:
        fact = reader.read_event(event.head.event_id, event.head.received_us, event.body.decode())
        runs[fact.run_key].append(fact)
    found = {}
    for key, facts in runs.items():
        naming = NameResolver()
        for fact in facts:
            naming.add_bindings(event_bindings(fact))
        rules = EdgeRules(contents, naming, lambda _, column: column, lambda _, __: None)
        if facts[0].kind == "RUN" and (run := merge_run(facts, naming)).state == "COMPLETE":
            found[key] = sorted(map(sorted_edges, derive_output_lineages(run, rules)), key=repr)
    return found


def sorted_edges(lineage: OutputLineage) -> Any:
    names = [
        sorted(map(repr, part))
        for part in (lineage.edges, lineage.source_datasets, lineage.column_sources, lineage.other_inputs)
    ]
    return [
        repr(lineage.output),
        *names,
        sorted(map(repr, lineage.opaque_inputs)),
        lineage.has_column_lineage,
        lineage.rows_confirmed,
    ]


@pytest.mark.slow
def test_by_the_rules_one_event_of_a_run_says_what_all_its_events_say() -> None:
    whole = said(samples())
    assert sum(len(lineages) for lineages in whole.values()) > 20
    assert said(stored(map(body, converted(samples())))) == whole


def test_a_run_is_one_event_at_its_end_with_all_that_was_said_of_it() -> None:
    rows = {"rowCount": 5}
    start = at(0, eventType="START", inputs=[dataset("i", schema={"fields": [{"name": "a"}]})])
    start["run"] = RUN | {"facets": {"nominalTime": FACET | {"nominalStartTime": "2026-03-01T12:00:00Z"}, "old": FACET}}
    going = at(1, eventType="RUNNING", outputs=[dataset("o") | {"outputFacets": {"outputStatistics": FACET | rows}}])
    going["run"] = RUN | {"facets": {"old": FACET | {"_deleted": True}, "odd": None}}
    end = at(2, eventType="COMPLETE", outputs=[dataset("o", documentation={"description": "d"})])
    (only,) = converted(stored(bodies([end, start, going])))
    assert only == {
        "eventTime": "2026-03-01T12:02:00.000Z",
        "producer": end["producer"],
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "eventType": "COMPLETE",
        "run": RUN | {"facets": {"nominalTime": start["run"]["facets"]["nominalTime"]}},
        "job": end["job"] | {"facets": {}},
        "inputs": start["inputs"],
        "outputs": [end["outputs"][0] | {"outputFacets": going["outputs"][0]["outputFacets"]}],
    }


def test_a_later_attempt_that_fails_takes_nothing_of_the_completed_one_back() -> None:
    first = [at(0, eventType="START", inputs=[dataset("i")]), at(1, eventType="COMPLETE", outputs=[dataset("o")])]
    again = [at(2, eventType="START", inputs=[dataset("j")]), at(3, eventType="FAIL", outputs=[dataset("p")])]
    found = converted(stored(bodies([*again, *first])))
    assert [
        (each["eventType"], each["eventTime"][14:16], [name["name"] for name in (*each["inputs"], *each["outputs"])])
        for each in found
    ] == [("COMPLETE", "01", ["i", "o"]), ("START", "02", []), ("FAIL", "03", [])]
    late = at(1, eventType="START", inputs=[dataset("i")])
    (only,) = converted(stored(bodies([late, *first[1:]])))
    assert (only["eventType"], [each["name"] for each in only["inputs"]]) == ("COMPLETE", ["i"])
    (only,) = converted(stored(bodies([*first, at(4, eventType="FAIL")])))
    assert only["eventType"] == "FAIL"


@pytest.mark.slow
def test_a_later_attempt_in_a_later_batch_is_sent_behind_the_completed_one(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    with sink_server() as server:
        out = sink(type="openlineage", url=server.url, **{"as": "runs"}, batch=10)
        world.store(*bodies([at(0, eventType="START", inputs=[dataset("i")]), at(1, outputs=[dataset("o")])]))
        world.settle(out)
        world.store(*bodies([at(2, eventType="START", inputs=[dataset("j")]), at(3, eventType="FAIL")]))
        world.settle(out)
        sent = [(each["eventType"], [name["name"] for name in each["outputs"]]) for each in server.taken]
        assert sent == [("COMPLETE", ["o"]), ("COMPLETE", ["o"]), ("START", []), ("FAIL", [])]


def test_nothing_is_sent_of_a_run_that_has_not_ended_but_a_stream_as_it_stands() -> None:
    assert converted(stored(bodies([at(0, eventType="START"), at(1, eventType="RUNNING")]))) == []
    stream = {"jobType": FACET | {"processingType": "STREAMING", "integration": "FLINK"}}
    job = {"namespace": "n", "name": "j", "facets": stream}
    (only,) = converted(stored(bodies([at(0, eventType="START", job=job), at(1, eventType="RUNNING", job=job)])))
    assert (only["eventType"], only["eventTime"]) == ("RUNNING", "2026-03-01T12:01:00.000Z")


def test_lineage_facets_of_a_run_add_up_each_entry_once_and_a_deleted_one_takes_them_back() -> None:
    def told(*names: str, **more: Any) -> dict[str, Any]:
        entries = [{"namespace": "n", "name": name, "type": "DATASET", "inputs": []} for name in names]
        return {"lineage": FACET | {"entries": entries} | more}

    def output(field: str, *sources: str) -> dict[str, Any]:
        inputs = [{"type": "DATASET", "namespace": "n", "name": name} for name in sources]
        return dataset("o", lineage={"inputs": [], "fields": {field: {"inputs": inputs}}})

    first = at(0, eventType="START", run=RUN | {"facets": told("a", "b")}, outputs=[output("x", "i")])
    last = at(2, run=RUN | {"facets": told("b", "c")}, outputs=[output("x", "i", "k"), output("y", "i")])
    (only,) = converted(stored(bodies([first, last])))
    assert [each["name"] for each in only["run"]["facets"]["lineage"]["entries"]] == ["a", "b", "c"]
    fields = only["outputs"][0]["facets"]["lineage"]["fields"]
    assert {key: [each["name"] for each in of["inputs"]] for key, of in fields.items()} == {"x": ["i", "k"], "y": ["i"]}
    between = at(1, eventType="RUNNING", run=RUN | {"facets": told(_deleted=True)})
    (only,) = converted(stored(bodies([first, between, last])))
    assert [each["name"] for each in only["run"]["facets"]["lineage"]["entries"]] == ["b", "c"]


@pytest.mark.slow
def test_an_end_in_a_later_batch_brings_what_came_before_and_late_events_send_the_run_again(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path)
    declared = job_event()
    with sink_server() as server:
        out = sink(
            type="openlineage", url=server.url, **{"as": "runs"}, batch=10, only={"states": ["COMPLETE", "OTHER"]}
        )
        world.store(*bodies([at(0, eventType="START", inputs=[dataset("i")]), declared]))
        world.settle(out)
        assert server.taken == [declared]
        end = at(2, outputs=[dataset("o")])
        world.store(*bodies([end, *events(1)]))
        world.settle(out)
        (sent, _) = server.taken[1:]
        assert ([each["name"] for each in sent["inputs"]], sent["outputs"]) == (["i"], end["outputs"])
        world.store(body(at(1, eventType="OTHER", outputs=[dataset("late")])))
        world.settle(out)
        again = server.taken[-1]
        assert (again["eventType"], len(again["outputs"]), len(server.taken)) == ("COMPLETE", 2, 4)
        with closing(open_sink(out, no_token)) as target:  # type: ignore[arg-type]
            (shown,) = preview_payloads(world.bronze, target, RUN["runId"])
        assert json.loads(shown["payload"]) == again


def test_a_run_without_inputs_gets_those_of_its_column_lineage() -> None:
    """Spark's MERGE sends `inputs: []`. A catalog that builds edges from inputs would show none."""
    feeds = [{"namespace": "postgres://db:5432", "name": name, "field": "x"} for name in ("b", "a", "b")]
    out = dataset("o", columnLineage={"fields": {"x": {"inputFields": feeds[:2]}, "y": {"inputFields": feeds[2:]}}})
    (sent,) = converted(stored([body(at(1, eventType="COMPLETE", inputs=[], outputs=[out]))]))
    assert [(each["namespace"], each["name"]) for each in sent["inputs"]] == [
        ("postgres://db:5432", "b"),
        ("postgres://db:5432", "a"),
    ]
    assert not broken(sent)
    known = at(1, eventType="COMPLETE", inputs=[dataset("told")], outputs=[out])
    assert [each["name"] for each in converted(stored([body(known)]))[0]["inputs"]] == ["told"]
    failed = at(1, eventType="FAIL", inputs=[], outputs=[out])
    assert converted(stored([body(failed)]))[0]["inputs"] == []
