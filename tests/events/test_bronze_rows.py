"""The rows that bronze stores for an event: its id, names, flags and facets."""

import json
import random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.common.errors import InvalidEvent
from headwater.events.column_lineage_facet import read_column_lineage
from headwater.events.event import Content, Event
from headwater.events.event_reader import EventReader
from headwater.events.facet_digests import content_digests
from headwater.events.position import Position, Source
from headwater.events.rows import content_rows, event_row
from headwater.tables import COLUMN_LINEAGE, EVENTS, SCHEMAS
from tests.support.data.samples import body, dataset, run_event, sample_lines

RUN = "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566"
PLACE = Position(Source("local", "life", "0"), 7, 1_795_000_000_000_000)


def read(event: dict[str, Any] | bytes) -> Event:
    found = EventReader().read([event if isinstance(event, bytes) else body(event)])[0]
    assert isinstance(found, Event), found
    return found


def shuffled(value: Any, rng: random.Random) -> Any:
    if isinstance(value, dict):
        keys = list(value)
        rng.shuffle(keys)
        return {key: shuffled(value[key], rng) for key in keys}
    return [shuffled(item, rng) for item in value] if isinstance(value, list) else value


def test_an_event_keeps_its_id_whatever_the_order_of_keys_and_spaces() -> None:
    for line in sample_lines("spark-3.5.7-listener-1.53.0.ndjson")[::10]:
        event = json.loads(line)
        again = json.dumps(shuffled(event, random.Random(1)), indent=2).encode()
        assert read(line).id == read(again).id


def test_every_part_of_an_event_changes_its_id() -> None:
    event = run_event(
        inputs=[dataset("a", schema={"fields": [{"name": "id", "type": "long"}]})], outputs=[dataset("b")]
    )
    changes: list[dict[str, Any]] = [
        {"eventTime": "2026-11-21T10:44:09.189Z"},
        {"eventType": "START"},
        {"producer": "other"},
        {"schemaURL": "other"},
        {"run": {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17567"}},
        {"run": {"runId": "01a1fdb4-606f-7ed7-8ccf-b1cbfed17566", "facets": {"own": {"x": 1}}}},
        {"job": {"namespace": "prod", "name": "daily.loads"}},
        {"job": {"namespace": "prod", "name": "daily.load", "facets": {"sql": {"query": "select 1"}}}},
        {"inputs": event["outputs"], "outputs": event["inputs"]},
        {"inputs": [dataset("a", schema={"fields": [{"name": "id", "type": "int"}]})]},
        {"inputs": [{**dataset("a"), "inputFacets": {"inputStatistics": {"rowCount": 1}}}]},
        {"ourOwnMember": True},
        {"dataset": {"namespace": "n", "name": "d"}},
    ]
    ids = [read(event).id, *(read({**event, **change}).id for change in changes)]
    assert len(set(ids)) == len(changes) + 1


def test_all_recorded_events_are_told_apart() -> None:
    lines = sample_lines("spark-3.5.7-listener-1.53.0.ndjson")
    events = EventReader().read(lines)
    assert len({event.id for event in events if isinstance(event, Event)}) == len(lines) == 314


def test_what_was_remembered_never_changes_the_result() -> None:
    lines = sample_lines("spark-3.5.7-listener-1.53.0.ndjson")
    reader = EventReader()
    reader.read(lines)
    assert reader.read(lines[::-1]) == [read(line) for line in lines[::-1]]


@pytest.mark.parametrize("event_type", ["START", "RUNNING", "COMPLETE", "ABORT", "FAIL", "OTHER"])
def test_each_event_type_is_kept_as_sent(event_type: str) -> None:
    event = read(run_event(eventType=event_type))
    assert (event.kind, event.event_type, event.flags) == ("RUN", event_type, ())


@pytest.mark.parametrize(
    ("changes", "flag"),
    [
        ({"eventTime": "2026-11-21T10:44:09"}, "time_no_zone"),
        ({"eventTime": "yesterday"}, "time_invalid"),
        ({"run": {"runId": "abc-123"}}, "run_id_not_uuid"),
        ({"eventType": "DONE"}, "event_type_unknown"),
        ({"eventType": None}, "event_type_missing"),
        ({"schemaURL": None}, "schema_url_missing"),
        ({"schemaURL": "file:/__w/1/s/client/java/../../spec/OpenLineage.json"}, "schema_url_vendor"),
        ({"extra": 1}, "odd_shape"),
        ({"inputs": [{"name": "no namespace"}]}, "dataset_unnamed"),
        ({"inputs": [{"namespace": "kafka://null:-1", "name": "orders"}]}, "unknown_broker"),
    ],
)
def test_what_is_odd_about_an_event_becomes_a_flag(changes: dict[str, Any], flag: str) -> None:
    assert flag in read(run_event(**changes)).flags


def test_a_time_far_ahead_of_receipt_is_flagged() -> None:
    row = dict(
        zip(EVENTS.columns, event_row(PLACE, "{}", read(run_event(eventTime="2099-01-01T00:00:00Z"))), strict=True)
    )
    assert row["flags"] == ("time_ahead",)


def test_a_lone_surrogate_is_read_as_the_replacement_character_and_kept_as_sent() -> None:
    text = body(run_event()).replace(b"daily.load", b"daily\\ud800")
    event = read(text)
    assert (event.job_name, event.body) == ("daily\ufffd", text)
    assert "lone_surrogate" in event.flags


def test_a_number_beyond_a_double_loses_nothing_else() -> None:
    event = read(body(run_event(run={"runId": "r", "facets": {"own": {"x": 1}}})).replace(b'"x":1', b'"x":1e999'))
    assert event.run_id == "r"
    assert b"1e999" in event.body


@pytest.mark.parametrize("text", [b"", b"[]", b"{}", b'{"eventTime":"t","producer":"p","run":{}}', b"\xff", b"nul"])
def test_what_is_no_event_comes_back_as_the_reason(text: bytes) -> None:
    assert isinstance(EventReader().read([text])[0], InvalidEvent)


def test_parent_and_root_come_from_the_parent_facet() -> None:
    parent = {"run": {"runId": "p"}, "job": {"namespace": "n", "name": "j"}, "root": {"run": {"runId": "r"}}}
    event = read(run_event(run={"runId": "c", "facets": {"parent": parent}}))
    assert (event.run_id, event.parent_run_id, event.root_run_id) == ("c", "p", "r")


def test_schema_and_lineage_of_equal_content_share_a_hash_across_producers() -> None:
    fields = [{"name": "id", "type": "long"}]
    one = read(run_event(outputs=[dataset("b", schema={"_producer": "1.27", "fields": fields})]))
    two = read(run_event(outputs=[dataset("b", schema={"fields": fields, "_producer": "1.53"})]))
    assert one.id != two.id
    assert one.outputs[0].schema_hash == two.outputs[0].schema_hash


@pytest.mark.parametrize("facets", [None, {}, {"schema": None, "columnLineage": None, "lineage": None}])
def test_a_facet_that_is_null_is_no_facet(facets: Any) -> None:
    output = {"namespace": "n", "name": "o", "facets": facets, "outputFacets": None}
    event = read(run_event(run={"runId": RUN, "facets": facets}, outputs=[output]))
    assert (event.flags, event.outputs[0].schema_hash, event.lineage_hashes, event.contents) == ((), None, (), ())


def test_nested_columns_keep_their_path() -> None:
    nested = {"name": "c", "type": "int", "description": "d"}
    schema = {"fields": [{"name": "a.b", "fields": [nested]}, {"name": "x"}]}
    rows = rows_of(read(run_event(outputs=[dataset("b", schema=schema)])), "schemas")
    assert [(row["field_path"], row["type"]) for row in rows] == [
        (("a.b",), None),
        (("a.b", "c"), "int"),
        (("x",), None),
    ]


def test_each_transformation_of_each_input_is_a_row_and_dataset_wide_inputs_have_no_output_field() -> None:
    source = {"namespace": "n", "name": "s", "field": "email"}
    masked = {"type": "DIRECT", "subtype": "TRANSFORMATION", "masking": True}
    facet = {
        "fields": {
            "email_sha": {"inputFields": [{**source, "transformations": [masked, {"type": "INDIRECT"}]}]},
            "email": {"inputFields": [source], "transformationType": "IDENTITY"},
            "broken": {"inputFields": "no list"},
        },
        "dataset": [{**source, "field": "id", "transformations": [{"type": "INDIRECT", "subtype": "JOIN"}]}],
    }
    rows = rows_of(read(run_event(outputs=[dataset("b", columnLineage=facet)])), "column_lineage")
    shown = [
        (row["output_field"], row["input_field"], row["transformation_type"], row["masking"], row["ordinal"])
        for row in rows
    ]
    assert shown == [
        ("email_sha", "email", "DIRECT", True, 0),
        ("email_sha", "email", "INDIRECT", None, 1),
        ("email", "email", "IDENTITY", None, 2),
        ("broken", None, None, None, 3),
        (None, "id", "INDIRECT", None, 4),
    ]


def test_the_lineage_facet_keeps_targets_jobs_runs_and_the_absence_of_sources() -> None:
    found = [
        rows_of(read(run_event(job={"namespace": "n", "name": "j", "facets": json.loads(line)})), "column_lineage")
        for line in sample_lines("spec-facet-examples.ndjson")
        if line.startswith(b'{"lineage"')
    ]
    assert [len(rows) for rows in found] == [2, 1, 2, 1, 1, 1, 4]
    assert found[2][0]["target_name"] == "public.extracted_data"
    assert found[2][0]["input_name"] is None
    assert found[4][0]["input_run_id"] == "b7dce052-51a6-4d66-98b9-5fd8b78a79c7"


def test_every_facet_of_the_specification_is_kept_wherever_it_stands() -> None:
    for line in sample_lines("spec-facet-examples.ndjson"):
        facets = json.loads(line)
        event = read(
            run_event(
                run={"runId": "r", "facets": facets},
                inputs=[{"namespace": "n", "name": "i", "facets": facets, "inputFacets": facets}],
                outputs=[{"namespace": "n", "name": "o", "facets": facets, "outputFacets": facets}],
            )
        )
        assert event.outputs[0].facets == tuple(facets)
        rows_of(event, "schemas")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=12,
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(st.sampled_from(["schema", "columnLineage", "lineage", "symlinks", "parent", "own"]), json_values)
)
def test_no_value_of_a_facet_stops_the_reader(facets: dict[str, Any]) -> None:
    event = read(
        run_event(run={"runId": "r", "facets": facets}, outputs=[{"namespace": "n", "name": "o", "facets": facets}])
    )
    assert set(event.outputs[0].facets) == set(facets)
    rows_of(event, "column_lineage")


def rows_of(event: Event, table: str) -> list[dict[str, Any]]:
    columns = {"schemas": SCHEMAS, "column_lineage": COLUMN_LINEAGE}[table].columns
    rows = [row for content in event.contents if content.table == table for row in content_rows(content)]
    return [dict(zip(columns, row, strict=True)) for row in rows]


lineages = st.fixed_dictionaries(
    {},
    optional={
        "_producer": st.none() | st.text(),
        "dataset": st.none()
        | st.lists(st.fixed_dictionaries({}, optional={"name": st.none() | st.text(), "field": st.text()}), max_size=2),
        "fields": st.dictionaries(
            st.text(),
            st.fixed_dictionaries(
                {},
                optional={
                    "inputFields": st.lists(
                        st.fixed_dictionaries(
                            {"namespace": st.text(), "name": st.text()},
                            optional={
                                "transformations": st.lists(
                                    st.fixed_dictionaries(
                                        {},
                                        optional={"type": st.text(), "masking": st.none() | st.booleans()},
                                    ),
                                    max_size=2,
                                )
                            },
                        ),
                        max_size=2,
                    ),
                    "transformationType": st.none() | st.text(),
                    "transformationDescription": st.none() | st.text(),
                },
            ),
            max_size=3,
        ),
    },
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(lineages)
def test_lineage_that_keeps_to_the_specification_gives_what_the_general_way_gives(facet: dict[str, Any]) -> None:
    raw = json.dumps(facet).encode()
    odd = json.dumps({**facet, "fields": {**facet.get("fields", {}), "odd": 1}}).encode()
    assert read_column_lineage(raw) is not None
    assert read_column_lineage(odd) is None
    assert content_digests("columnLineage", raw) == content_digests("any other", raw)
    typed, general = (content_rows(Content("column_lineage", "", "columnLineage", text)) for text in (raw, odd))
    assert typed == general
