"""Tests of the lineage rules 1-12 (docs/reference/lineage.md) that `rule_cases/` does not cover.

The form of names: test_rule_02_names.py. The tables are a, b, c, d. An edge is (from column, to column, how). Later
events in a test's list are received later.
"""

from functools import partial
from itertools import permutations
from typing import Any

import pytest

from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.selectors import Selector
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.snapshots.derived_snapshots import FactSnapshot
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Bounds, Subject
from headwater.questions.unused import dataset_verdicts
from tests.reference.small_events import (
    ALIAS,
    CLEAR,
    FILTERED,
    GUID,
    HASHED,
    SECOND,
    STREAM,
    A,
    B,
    C,
    D,
    changed,
    made,
    renamed,
    run,
    with_schema,
    x_from,
)  # fmt: skip
from tests.reference.world_events import (
    PRODUCER,
    RECEIPT_US,
    START_US,
    Json,
    at,
    column_lineage,
    dataset,
    dataset_event,
    deliver,
    facet,
    job_event,
    parent,
    schema,
    source,
    step,
    symlinks,
    uuid,
)  # fmt: skip
from tests.support.data.lineage_world import read_facts, world

AX = (*A, "x")
DAY = 24 * 3600


def x(one: str, other: str, how: str = "direct") -> tuple[str, str, str]:
    """Return the edge from column x to column x."""
    return f"{one}.x", f"{other}.x", how


def stats() -> Json:
    """Return the output facets that prove that rows were written."""
    return {"outputFacets": {"outputStatistics": facet(rowCount=3, size=700)}}


def entries(target: tuple[str, str], fields: dict[str, list[Json]], *whole: Json) -> Json:
    """Return a `lineage` facet of a run or job with one entry."""
    told = {name: {"inputs": [one | {"type": "DATASET"} for one in inputs]} for name, inputs in fields.items()}
    inputs = [one | {"type": "DATASET"} for one in whole]
    return facet(
        entries=[{"namespace": target[0], "name": target[1], "type": "DATASET", "inputs": inputs, "fields": told}]
    )


def session(number: int) -> Json:
    """Return run facets that make the run a child of a notebook session."""
    return {"parent": parent(uuid(900 + number), ("jobs", "app"))}


# 1 Merging the events of a run


MERGED = [
    run(1, 1, made(B, {"x": [source(A, "x")]}), kind="START", reads=[dataset(A)]),
    run(1, 2, made(B, {"x": [source(C, "x", HASHED)]}), kind="RUNNING", reads=[dataset(C)]),
    run(1, 3, dataset(D) | stats()),
    run(1, 3, kind="OTHER"),
]


@pytest.mark.parametrize("order", list(permutations(MERGED)))
def test_rule_01_any_order_and_repetition_give_one_run(order: tuple[Json, ...]) -> None:
    lineage = world(*order, *order[:2])
    assert lineage.states == ["COMPLETE"]
    assert lineage.edges == {x("c", "b", "masked")}
    assert lineage.tables == {("c", "b", "columns"), ("a", "d", "opaque"), ("c", "d", "opaque")}


@pytest.mark.parametrize(
    ("complete", "fail", "state"),
    [
        ("2026-03-01T12:00:02Z", "2026-03-01T12:00:01.999Z", "COMPLETE"),
        ("2026-03-01T12:00:02.1Z", "2026-03-01T12:00:02.09Z", "COMPLETE"),
        ("2026-03-01T12:00:02+00:00", "2026-03-01T13:00:03+01:00", "FAIL"),
        ("2026-03-01T12:00:02Z", "2026-03-01T13:59:01+02:00", "COMPLETE"),
        ("2026-03-01T12:00:02", "2026-03-01T12:00:01Z", "COMPLETE"),
        ("2026-03-01T12:00:02", "2026-03-01T14:00:03+02:00", "FAIL"),
        ("yesterday", "2026-03-01T12:59:59Z", "COMPLETE"),
        ("yesterday", "2026-03-01T13:00:01Z", "FAIL"),
    ],
    ids=["fraction", "short-fraction", "zone", "zone-earlier", "no-zone", "no-zone-2", "no-time", "no-time-2"],
)
def test_rule_01_events_are_ordered_by_instant(complete: str, fail: str, state: str) -> None:
    assert world(run(1, 0) | {"eventTime": complete}, run(1, 0, kind="FAIL") | {"eventTime": fail}).states == [state]


@pytest.mark.parametrize("kinds", [("START", "RUNNING"), ("RUNNING", "COMPLETE"), ("COMPLETE", "OTHER")])
@pytest.mark.parametrize("turn", [1, -1])
def test_rule_01_at_one_instant_start_running_terminal_other(kinds: tuple[str, str], turn: int) -> None:
    """The test uses ten runs, because the order of the event ids could agree by chance."""
    older, newer = kinds
    for number in range(10):
        two = [run(number, 5, x_from(A, C), kind=older), run(number, 5, x_from(B, C), kind=newer)]
        assert world(*two[::turn], run(number, 1), run(number, 6)).edges == {x("b", "c")}


def test_rule_01_then_the_event_id_decides_whatever_came_first() -> None:
    two = [run(1, 5, x_from(table, C)) for table in (A, B)]
    assert world(*two).edges == world(*two[::-1]).edges
    assert len(world(*two).edges) == 1


def test_rule_01_a_facets_newest_value_wins_whole() -> None:
    older = run(1, 1, made(B, {"x": [source(A, "x")], "y": [source(A, "y")]}), kind="START")
    assert world(older, run(1, 2, x_from(C, B))).edges == {x("c", "b")}


@pytest.mark.parametrize("newer", [dataset(B), dataset(B, columnLineage=None), made(B, {})])
def test_rule_01_what_says_nothing_displaces_nothing(newer: Json) -> None:
    assert world(run(1, 1, x_from(A, B), kind="START"), run(1, 2, newer)).edges == {x("a", "b")}


def test_rule_01_a_column_without_inputs_has_no_upstream_from_then_on() -> None:
    assert world(run(1, 1, x_from(A, B), kind="START"), run(1, 2, made(B, {"x": []}))).edges == set()


@pytest.mark.parametrize("where", ["run_facets", "job_facets"])
def test_rule_01_lineage_facets_add_up(where: str) -> None:
    told: list[dict[str, Any]] = [{where: {"lineage": entries(C, {"x": [source(table, "x")]})}} for table in (A, B)]
    assert world(run(1, 1, kind="START", **told[0]), run(1, 2, **told[1])).edges == {x("a", "c"), x("b", "c")}


def test_rule_01_deleted_is_a_tombstone_of_one_facet_of_one_dataset() -> None:
    older = run(1, 1, x_from(A, B), x_from(A, C), kind="START")
    assert world(older, run(1, 2, dataset(B, columnLineage=facet(_deleted=True)))).edges == {x("a", "c")}
    assert world(older, run(1, 0, dataset(B, columnLineage=facet(_deleted=True))), run(1, 3)).edges == {
        x("a", "b"),
        x("a", "c"),
    }


def test_rule_01_datasets_are_those_of_all_events_a_later_one_without_removes_nothing() -> None:
    events = [run(1, 1, kind="START", reads=[dataset(A)]), run(1, 2, dataset(C), kind="RUNNING"), run(1, 3)]
    assert world(*events).tables == {("a", "c", "opaque")}


@pytest.mark.parametrize(
    ("kinds", "state"),
    [
        (["COMPLETE", "ABORT"], "ABORT"),
        (["ABORT", "FAIL", "COMPLETE"], "FAIL"),
        (["COMPLETE", "OTHER"], "COMPLETE"),
        (["START", "RUNNING", "OTHER"], "RUNNING"),
        (["START"], "RUNNING"),
        (["RUNNING", "START", "COMPLETE"], "COMPLETE"),
    ],
)
def test_rule_01_the_state_at_one_instant(kinds: list[str], state: str) -> None:
    for order in permutations(kinds):
        assert world(*(run(1, 5, kind=kind) for kind in order)).states == [state]


@pytest.mark.parametrize(("last", "edges"), [("COMPLETE", 1), ("FAIL", 0), ("ABORT", 0)])
def test_rule_01_between_instants_the_newest_terminal_event_is_the_state(last: str, edges: int) -> None:
    lineage = world(run(1, 2, kind=last), run(1, 1, x_from(A, B), kind="FAIL"))
    assert (lineage.states, len(lineage.edges)) == ([last], edges)


def test_rule_01_run_ids_uuids_in_lower_case_others_with_their_job() -> None:
    upper = run(171, 2, kind="FAIL") | {"run": {"runId": uuid(171).upper()}}
    others = [run(1, 1, job=job) | {"run": {"runId": "scheduled__1"}} for job in ("j", "k", "j")]
    assert set(world(run(171, 1), upper, *others).run_states) == {
        uuid(171),
        '["scheduled__1","jobs","j"]',
        '["scheduled__1","jobs","k"]',
    }


@pytest.mark.parametrize(("ahead", "state"), [(DAY + 3600 + 2, "COMPLETE"), (DAY, "FAIL")])
def test_rule_01_more_than_24_h_ahead_of_receipt_ranks_below_all(ahead: int, state: str) -> None:
    """The receipt is an hour after the start of the test data."""
    assert world(run(1, 1), run(1, ahead, kind="FAIL")).states == [state]


@pytest.mark.parametrize(
    ("output", "landed"),
    [
        (x_from(A, B), False),
        (x_from(A, B) | stats(), True),
        (x_from(A, B, version=facet(datasetVersion="4")), True),
        (x_from(A, B) | {"outputFacets": {"subset": facet()}}, False),
        (x_from(A, B) | {"outputFacets": {}}, False),
    ],
)
def test_rule_01_complete_does_not_prove_that_rows_landed(output: Json, landed: bool) -> None:
    lineage = world(run(1, 1, output, kind="START"), run(1, 2, dataset(B)))
    assert (lineage.states, lineage.edges, lineage.rows_confirmed) == (["COMPLETE"], {x("a", "b")}, {"b": landed})


# 2 Names: bindings


BOUND = [
    run(1, 10, dataset(A, symlinks=symlinks(ALIAS)), job="first"),
    run(2, 20, dataset(B, symlinks=symlinks(ALIAS)), job="second"),
]


@pytest.mark.parametrize(("second", "location"), [(0, "a"), (10, "a"), (19, "a"), (20, "b"), (99, "b")])
@pytest.mark.parametrize("turn", [1, -1])
def test_rule_02_a_name_means_its_newest_binding_up_to_then_else_the_earliest(
    second: int, location: str, turn: int
) -> None:
    assert world(*[*BOUND, run(3, second, x_from(ALIAS, D))][::turn]).edges == {x(location, "d")}


@pytest.mark.parametrize("sent", [("hive://META:9083", "DB.T"), ("hive://meta", "Db.t")])
def test_rule_02_an_identifier_whose_system_folds_case_is_one_name(sent: tuple[str, str]) -> None:
    events = [run(1, 1, dataset(B, symlinks=symlinks(sent))), run(2, 2, x_from(ALIAS, C))]
    assert world(*events).edges == {x("b", "c")}


def test_rule_02_two_locations_never_merge_because_they_share_a_name() -> None:
    lineage = world(*BOUND, run(3, 30, x_from(A, C)), run(4, 31, x_from(B, D), job="other"))
    assert lineage.edges == {x("a", "c"), x("b", "d")}
    assert lineage.impact(AX) == {"c.x": (1, False), "d.x": (1, False)}  # the name moved together with its rows (10.11)


def test_rule_02_an_identifier_of_type_location_is_the_place_itself() -> None:
    lineage = world(run(1, 1, x_from(C, ALIAS, symlinks=symlinks(A, kind="LOCATION"))))
    assert lineage.edges == {x("c", "a")}


def test_rule_02_at_one_instant_the_smaller_location_wins() -> None:
    both = [run(n, 5, dataset(table, symlinks=symlinks(ALIAS)), job=str(n)) for n, table in ((1, B), (2, A))]
    for order in (both, both[::-1]):
        assert world(*order, run(3, 9, x_from(ALIAS, D))).edges == {x("a", "d")}


def test_rule_02_a_name_never_binds_to_itself_and_bindings_are_not_chained() -> None:
    chained = [run(1, 1, dataset(A, symlinks=symlinks(ALIAS, A))), run(2, 2, dataset(B, symlinks=symlinks(A)), job="2")]
    assert world(*chained, run(3, 3, x_from(ALIAS, D))).edges == {x("a", "d")}


def test_rule_02_questions_accept_the_alias() -> None:
    lineage = world(*BOUND[:1], run(3, 30, x_from(A, C)))
    assert lineage.impact((*lineage.resolve(ALIAS), "x")) == {"c.x": (1, False)}


# 3 Jobs


UNDERSCORED = GUID.replace("-", "_")


@pytest.mark.parametrize(
    ("name", "key"),
    [
        (f"nb_{GUID}", "nb"),
        (f"nb-{GUID}.save.t", "nb.save.t"),
        (f"nb_{UNDERSCORED}.append.t", "nb.append.t"),
        (f"nb__{GUID.upper()}.x", "nb.x"),
        (GUID, GUID),
        (f"{GUID}.save.t", f"{GUID}.save.t"),
        (f"_{GUID}", f"_{GUID}"),
        (f"nb.save.t_{GUID}", f"nb.save.t_{GUID}"),
        (f"nb_{GUID}x.save", f"nb_{GUID}x.save"),
        ("nb_3f2a9c1e-0000_4000-8000-00000000aa01", "nb_3f2a9c1e-0000_4000-8000-00000000aa01"),
        ("", ""),
    ],
)
def test_rule_03_a_guid_is_stripped_as_session_suffix_only(name: str, key: str) -> None:
    assert job_key(Name("fabric/Sales", name), None) == Name("fabric/Sales", key)


@pytest.mark.parametrize("property_name", ["trident.artifact.id", "spark.trident.artifact.id"])
def test_rule_03_the_artifact_outlives_the_name_the_statement_stays(property_name: str) -> None:
    facets = {"spark_properties": facet(properties={property_name: GUID})}
    old, new = (run(n, n, job=f"{name}.save.t", run_facets=facets) for n, name in enumerate(("nb_old", "nb_new")))
    assert world(old, new).jobs == {f"{GUID}.save.t"}


def test_rule_03_children_that_share_a_name_are_told_apart_by_what_they_write() -> None:
    assert world(run(1, 1, x_from(A, B)), run(2, 2, x_from(A, C))).edges == {x("a", "b"), x("a", "c")}


# 4 Sources of edges


def test_rule_04_a_lineage_facet_counts_alone() -> None:
    output = x_from(A, B, lineage=facet(fields={"x": {"inputs": [source(C, "x", HASHED) | {"type": "DATASET"}]}}))
    lineage = world(run(1, 1, output, reads=[dataset(D)]))
    assert lineage.edges == {x("c", "b", "masked")}
    assert lineage.tables == {("c", "b", "columns")}


WHOLE = made(B, {"k": []}, source(A, "f", FILTERED), columns="")


@pytest.mark.parametrize(
    ("others", "columns"),
    [
        ([run(1, 1, with_schema(B, "x y"), kind="START")], "kxy"),
        ([run(2, 4, with_schema(B, "p")), run(3, 6, with_schema(B, "q"))], "kpq"),
        ([run(2, 7, with_schema(B, "q")), run(3, 6, with_schema(B, "p"))], "kpq"),
        ([run(2, 4, with_schema(B, "p"), kind="FAIL"), run(1, 2, with_schema(B, "x"), kind="START")], "kx"),
        ([], "k"),
    ],
    ids=["own-run", "before-and-later", "only-later", "own-before-others", "fields-only"],
)
def test_rule_04_dataset_wide_entries_reach_every_column(others: list[Json], columns: str) -> None:
    reached = {edge for edge in world(run(1, 5, WHOLE, job="j"), *others).edges if edge[0] == "a.f"}
    assert reached == {("a.f", f"b.{column}", "indirect") for column in columns}


def test_rule_04_tables_of_a_run_with_one_output_are_column_lineage_and_all_inputs() -> None:
    lineage = world(run(1, 1, made(C, {"x": [source(A, "x")]}, source(D, "k")), reads=[dataset(B)]))
    assert lineage.tables == {(one, "c", "columns") for one in "abd"}


def test_rule_04_of_several_outputs_only_opaque_ones_take_all_inputs() -> None:
    lineage = world(run(1, 1, x_from(A, C), dataset(D), reads=[dataset(A), dataset(B)]))
    assert lineage.tables == {("a", "c", "columns"), ("a", "d", "opaque"), ("b", "d", "opaque")}


def test_rule_04_no_dataset_feeds_itself_unless_column_lineage_says_so() -> None:
    assert world(run(1, 1, dataset(B), reads=[dataset(A), dataset(B)])).tables == {("a", "b", "opaque")}


@pytest.mark.parametrize(
    ("old", "steps", "how"),
    [
        ({}, [], "direct"),
        ({"transformationType": "MASKED"}, [], "masked"),
        ({"transformationType": "IDENTITY"}, [], "direct"),
        ({"transformationType": "HASHED"}, [], "direct"),
        ({}, [CLEAR], "direct"),
        ({}, [HASHED], "masked"),
        ({}, [FILTERED], "indirect"),
        ({}, [{"type": "SOMETHING", "subtype": "X"}], "direct"),
    ],
)
def test_rule_04_what_a_transformation_means(old: dict[str, Any], steps: list[Json], how: str) -> None:
    output = dataset(B, columnLineage=column_lineage({"x": [source(A, "x", *steps)]}, **old))
    assert world(run(1, 1, output)).edges == {x("a", "b", how)}


@pytest.mark.parametrize("empty", [column_lineage({}), facet(), facet(fields=None)])
def test_rule_04_a_facet_without_any_edge_carries_no_lineage(empty: Json) -> None:
    lineage = world(run(1, 1, dataset(B, columnLineage=empty), reads=[dataset(A)]))
    assert (lineage.edges, lineage.tables) == (set(), {("a", "b", "opaque")})


def test_rule_04_a_facet_that_names_only_columns_without_inputs_carries_no_lineage_if_the_run_reads() -> None:
    lineage = world(run(1, 1, made(B, {"x": []}), reads=[dataset(A)]))
    assert (lineage.edges, lineage.tables) == (set(), {("a", "b", "opaque")})


def test_rule_04_the_constants_of_the_rules_account_for_columns() -> None:
    events = [
        run(1, 1, made(B, {"x": [source(A, "x", CLEAR)]}, columns="x load_ts s s.t"), reads=[with_schema(A, "x y")])
    ]
    facts, contents = read_facts(deliver(events))

    def verdict(*columns: str) -> str:
        rules = UserRules(constants=tuple(Selector(A[0], "*b", column) for column in columns))
        seen = FactSnapshot(facts, contents, partial(apply_masking_rules, rules))
        return {each.key: each.verdict for each in dataset_verdicts(seen, rules, seen.counted_edges(), Name(*A))}["y"]

    assert (verdict(), verdict("LOAD_*"), verdict("load_ts", "s")) == ("unknown", "unknown", "unused")


# 5 MERGE


@pytest.mark.parametrize("inputs", [[], [dataset(B)]], ids=["none", "target"])
def test_rule_05_the_sources_of_a_merge_come_from_fields_and_dataset(inputs: list[Json]) -> None:
    merge = made(B, {"x": [source(A, "x"), source(B, "x")]}, source(C, "id", step("INDIRECT")), columns="x")
    lineage = world(run(1, 1, merge, reads=inputs))
    assert lineage.edges == {x("a", "b"), x("b", "b"), ("c.id", "b.x", "indirect")}
    assert lineage.tables == {(one, "b", "columns") for one in "abc"}


# 6 Current, historical and as-of


@pytest.mark.parametrize(
    "kinds", [["START"], ["START", "RUNNING"], ["START", "FAIL"], ["COMPLETE", "ABORT"], ["OTHER"]]
)
def test_rule_06_batch_runs_make_edges_only_when_complete(kinds: list[str]) -> None:
    lineage = world(*(run(1, n, x_from(A, B), kind=kind, reads=[dataset(A)]) for n, kind in enumerate(kinds)))
    assert (lineage.edges, lineage.tables) == (set(), set())


@pytest.mark.parametrize(
    "job_type",
    [
        facet(processingType="STREAMING", integration="SPARK"),
        facet(processingType="SERVICE", integration="CUSTOM"),
        facet(processingType="BATCH", integration="FLINK"),
        facet(processingType="streaming", integration="SPARK"),
    ],
)
@pytest.mark.parametrize("kind", ["START", "RUNNING", "FAIL"])
def test_rule_06_streams_make_edges_from_their_first_event_on(job_type: Json, kind: str) -> None:
    assert world(run(1, 1, x_from(A, B), kind=kind, job_facets={"jobType": job_type})).edges == {x("a", "b")}


@pytest.mark.parametrize(("mode", "sources"), [("COMPLETE_SNAPSHOT", "b"), ("ACCUMULATIVE", "ab")])
def test_rule_06_the_newest_snapshot_of_a_stream_says_all(mode: str, sources: str) -> None:
    pattern = facet(processingType="STREAMING", emissionPattern={"eventContentMode": mode})
    events = [run(1, n, dataset(C), kind="RUNNING", reads=[dataset(table)]) for n, table in enumerate((A, B))]
    lineage = world(*events, run(1, 9, kind="RUNNING", job_facets={"jobType": pattern}))
    assert lineage.tables == {(one, "c", "opaque") for one in sources}


def test_rule_06_without_lineage_the_newest_snapshot_with_inputs_and_outputs_says_all() -> None:
    pattern = facet(processingType="STREAMING", emissionPattern={"eventContentMode": "COMPLETE_SNAPSHOT"})
    both = run(1, 1, dataset(C), kind="RUNNING", reads=[dataset(A)], job_facets={"jobType": pattern})
    lineage = world(both, run(1, 2, dataset(C), kind="RUNNING"))
    assert lineage.tables == {("a", "c", "opaque")}


def test_rule_06_two_appends_of_one_execution_both_stay() -> None:
    appends = [run(n, n, x_from(table, C), run_facets=session(1)) for n, table in ((1, A), (2, B))]
    assert world(*appends).edges == {x("a", "c"), x("b", "c")}


@pytest.mark.parametrize("turn", [1, -1])
def test_rule_06_a_newer_execution_with_column_lineage_replaces(turn: int) -> None:
    first = [run(n, n, x_from(table, D), run_facets=session(1)) for n, table in ((1, A), (2, B))]
    second = [run(3, 3, x_from(C, D), run_facets=session(2))]
    assert world(*[*first, *second][::turn]).edges == {x("c", "d")}


def test_rule_06_the_root_run_is_the_execution_even_of_different_parents() -> None:
    facets = [{"parent": parent(uuid(90 + n), ("jobs", "step"), uuid(99))} for n in (1, 2)]
    appends = [run(n, n, x_from(table, C), run_facets=facets[n - 1]) for n, table in ((1, A), (2, B))]
    assert world(*appends).edges == {x("a", "c"), x("b", "c")}


def test_rule_06_a_newest_execution_without_column_lineage_removes_none_and_is_opaque() -> None:
    lineage = world(run(1, 1, x_from(A, C)), run(2, 2, dataset(C), reads=[dataset(B)]))
    assert (lineage.edges, lineage.tables) == ({x("a", "c")}, {("a", "c", "columns"), ("b", "c", "opaque")})


def test_rule_06_where_nobody_has_columns_the_newest_execution_counts() -> None:
    lineage = world(run(1, 1, dataset(C), reads=[dataset(A)]), run(2, 2, dataset(C), reads=[dataset(B)]))
    assert lineage.tables == {("b", "c", "opaque")}


def test_rule_06_jobs_are_united_and_a_late_fail_takes_back() -> None:
    events = [run(1, 1, x_from(A, C), job="1"), run(2, 2, x_from(B, C), job="2")]
    assert world(*events).edges == {x("a", "c"), x("b", "c")}
    assert world(*events, run(2, 3, job="2", kind="FAIL")).edges == {x("a", "c")}


def test_rule_06_after_a_failed_run_the_one_before_is_current_again() -> None:
    events = [run(1, 1, x_from(A, C)), run(2, 2, x_from(B, C)), run(2, 3, kind="FAIL")]
    assert world(*events).edges == {x("a", "c")}


DECLARED = [
    job_event(at(1), ("jobs", "job"), [], [x_from(A, C)]),
    job_event(at(2), ("jobs", "job"), [], [x_from(B, C)]),
    dataset_event(at(3), x_from(D, C)),
    dataset_event(at(1), made(C, {"x": [source(D, "y")]}), PRODUCER + "/catalogue"),
]


def test_rule_06_declared_lineage_is_a_layer_that_the_newest_event_replaces() -> None:
    declared = {x("b", "c"), x("d", "c"), ("d.y", "c.x", "direct")}
    assert world(*DECLARED).edges == world(*DECLARED[::-1]).edges == declared
    assert world(*DECLARED, run(1, 9, x_from(A, B))).edges == declared | {x("a", "b")}


def test_rule_06_a_declaration_replaces_the_one_before_whatever_either_says() -> None:
    other_output = job_event(at(2), ("jobs", "job"), [], [x_from(B, D)])
    assert world(DECLARED[0], other_output).edges == {x("b", "d")}
    by_alias = dataset_event(at(1), x_from(A, ALIAS))
    bound = run(1, 0, reads=[dataset(C, symlinks=symlinks(ALIAS))])
    assert world(bound, by_alias).edges == {x("a", "c")}
    assert world(bound, by_alias, dataset_event(at(2), dataset(C))).edges == set()


def test_rule_06_observed_runs_never_displace_what_is_declared_of_the_same_output() -> None:
    assert world(*DECLARED[:2], run(1, 9, x_from(A, C))).edges == {x("a", "c"), x("b", "c")}


REPLACED = [run(1, 1, x_from(A, C)), run(2, 5, x_from(B, C))]


@pytest.mark.parametrize(("second", "edges"), [(0, set()), (1, {x("a", "c")}), (4, {x("a", "c")}), (5, {x("b", "c")})])
def test_rule_06_as_of_takes_events_up_to_then(second: int, edges: set[Any]) -> None:
    assert world(*REPLACED, as_of_us=START_US + second * SECOND).edges == edges


def test_rule_06_as_of_knows_names_schemas_drops_and_failures_of_then_only() -> None:
    later = [
        run(3, 8, changed(C, "DROP"), job="drop"),
        run(2, 9, kind="FAIL"),
        run(4, 9, dataset(D, symlinks=symlinks(B)), job="bind"),
        run(5, 9, reads=[with_schema(C, "x X")], job="schema"),
    ]
    assert world(*REPLACED, *later, as_of_us=START_US + 7 * SECOND).edges == {x("b", "c")}
    now = world(*REPLACED, *later)
    assert (now.impact(AX), now.dropped) == ({}, {"c"})


@pytest.mark.parametrize(("receipt", "edges"), [(0, {x("b", "c")}), (1, {x("b", "c")}), (-1, set())])
def test_rule_06_known_at_filters_by_receipt_whatever_the_time(receipt: int, edges: set[Any]) -> None:
    assert world(*REPLACED[::-1], known_at_us=RECEIPT_US + receipt * SECOND).edges == edges


def test_rule_06_the_view_of_all_has_every_execution_that_ever_was_but_no_failed_one() -> None:
    events = [*REPLACED, run(3, 6, x_from(D, C), kind="FAIL"), run(4, 7, dataset(C), reads=[dataset(D)])]
    lineage = world(*events).of_all_times()
    assert lineage.edges == {x("a", "c"), x("b", "c")}
    assert lineage.tables == {("a", "c", "columns"), ("b", "c", "columns"), ("d", "c", "opaque")}


# 7 Impact and upstream


def test_rule_07_masked_means_every_path_masks_also_those_that_are_too_long_to_show() -> None:
    masks = run(1, 1, made(B, {"x": [source(A, "x", HASHED)]}), job="1")
    round_about = [run(4, 4, x_from(A, D), job="4"), run(5, 5, x_from(D, B), job="5")]
    assert world(masks, *round_about).impact(AX, depth=1) == {"b.x": (1, False), "d.x": (1, False)}


def test_rule_07_ties_go_to_the_smallest_name_and_limit_and_depth_cut() -> None:
    fan = [run(n, n, made(table, {c: [source(A, "x")] for c in "yx"}), job=str(n)) for n, table in enumerate((D, C, B))]
    lineage = world(*fan, run(9, 9, made(D, {"z": [source(C, "x"), source(B, "y")]}), job="9"))
    assert list(lineage.impact(AX)) == ["b.x", "b.y", "c.x", "c.y", "d.x", "d.y", "d.z"]
    assert lineage.via(AX, "d.z") == "b.y"
    assert lineage.cut(AX, limit=3) == (["b.x", "b.y", "c.x"], True)
    assert lineage.cut(AX, depth=1) == (["b.x", "b.y", "c.x", "c.y", "d.x", "d.y"], True)
    assert lineage.cut(AX, depth=2, limit=7)[1] is False


# 8 Tags. The surface and verdicts (rules 8 and 9) are in rule_cases/


def tag(key: str, value: str, field: str | None = None) -> Json:
    return {"key": key, "value": value, "source": "USER"} | ({"field": field} if field else {})


def tagging(second: int, *tags: Json, by: str = PRODUCER) -> Json:
    return dataset_event(at(second), dataset(A, tags=facet(tags=list(tags))), by)


OTHER = PRODUCER + "/other"


@pytest.mark.parametrize(
    ("events", "tagged"),
    [
        ([tagging(1, tag("PII", "yes", "x"), tag("pii", "true"))], {"a.x", "a.None"}),
        ([tagging(1, tag("pii", "False", "x"), tag("piis", "true", "y"))], set()),
        ([tagging(1, tag("pii", "true", "x")), tagging(2, tag("pii", "true", "y"))], {"a.y"}),
        ([tagging(1, tag("pii", "true", "x")), tagging(2, tag("pii", "true", "y"), by=OTHER)], {"a.x", "a.y"}),
        ([tagging(1, tag("pii", "true", "x")), dataset_event(at(2), dataset(A)), run(1, 3, dataset(A))], {"a.x"}),
        ([tagging(1, tag("pii", "true", "x")), tagging(2)], set()),
        ([tagging(1, tag("pii", "true", "x"), by=OTHER), tagging(2)], {"a.x"}),
    ],
    ids=["casefold", "false", "newest", "producers", "absence", "none-left", "none-of-another"],
)
@pytest.mark.parametrize("turn", [1, -1])
def test_rule_08_tags_newest_facet_of_each_producer(events: list[Json], tagged: set[str], turn: int) -> None:
    assert world(*events[::turn]).tagged("pii") == tagged


# 10 Lifecycle


DROPPED = [run(1, 1, x_from(A, B)), run(2, 5, changed(B, "DROP"), job="drop")]


@pytest.mark.parametrize("turn", [1, -1])
def test_rule_10_a_dropped_dataset_is_no_result_but_lineage_goes_through_it(turn: int) -> None:
    lineage = world(*[*DROPPED, run(3, 4, x_from(B, C), job="3")][::turn])
    assert lineage.dropped == {"b"}
    assert lineage.impact(AX) == {"c.x": (2, False)}
    assert lineage.impact((*B, "x")) == {"c.x": (1, False)}
    assert lineage.upstream((*C, "x")) == {"a.x": (2, False)}
    assert lineage.surface(AX) == {"c.x": "exposed"}


@pytest.mark.parametrize(
    "back",
    [
        run(3, 6, changed(B, "CREATE"), job="make"),
        run(3, 6, dataset(B), job="write"),
        run(3, 5, dataset(B), job="write"),
    ],
    ids=["create", "write", "write-at-once"],
)
def test_rule_10_re_creation_brings_nothing_of_the_old_generation_back(back: Json) -> None:
    lineage = world(*DROPPED, back)
    assert (lineage.dropped, lineage.impact(AX), lineage.upstream((*B, "x"))) == (set(), {}, {})


def test_rule_10_a_drop_that_failed_ends_nothing() -> None:
    lineage = world(*DROPPED, run(2, 6, kind="FAIL", job="drop"))
    assert (lineage.dropped, lineage.impact(AX)) == (set(), {"b.x": (1, False)})


def test_rule_10_a_stream_that_has_not_ended_drops_nothing() -> None:
    assert world(DROPPED[0], run(2, 5, changed(B, "DROP"), kind="RUNNING", job_facets=STREAM)).dropped == set()


@pytest.mark.parametrize("kind", ["START", "FAIL", "ABORT"])
def test_rule_10_only_a_complete_run_drops_or_renames(kind: str) -> None:
    lineage = world(DROPPED[0], run(2, 5, changed(B, "DROP"), kind=kind), run(3, 5, renamed(B, C), kind=kind, job="3"))
    assert lineage.edges == {x("a", "b")}


@pytest.mark.parametrize("turn", [1, -1])
def test_rule_10_a_rename_carries_history_to_the_new_name_and_frees_the_old(turn: int) -> None:
    events = [run(1, 1, x_from(A, B)), run(2, 5, renamed(B, C), job="2"), run(3, 9, x_from(B, D), job="3")]
    assert world(*events[::turn]).edges == {x("a", "c"), x("b", "d")}


def test_rule_10_renames_chain_in_order_of_time() -> None:
    events = [run(1, 1, x_from(A, B)), run(2, 5, renamed(B, C), job="2"), run(3, 6, renamed(C, D), job="3")]
    assert world(*events).edges == {x("a", "d")}


def test_rule_10_alter_keeps_the_edges_of_columns_that_are_gone() -> None:
    altered = changed(B, "ALTER") | {"facets": changed(B, "ALTER")["facets"] | {"schema": schema(["y"])}}
    lineage = world(run(1, 1, x_from(A, B)), run(2, 2, altered, job="alter"))
    assert lineage.edges == {x("a", "b")}
    assert lineage.keys(Name(*B)) == ["y"]


@pytest.mark.parametrize("change", ["TRUNCATE", "OVERWRITE", "ALTER", "CREATE"])
def test_rule_10_nothing_but_a_drop_ends_anything(change: str) -> None:
    lineage = world(DROPPED[0], run(2, 5, changed(B, change), job="2"))
    assert (lineage.dropped, lineage.impact(AX)) == (set(), {"b.x": (1, False)})


# 11 Noise


@pytest.mark.parametrize(
    "noise", ["b/_delta_log", "_delta_log", "delta_source_snapshot_7", "b/delta_table_state_3_abfss"]
)
def test_rule_11_what_delta_reads_of_itself_is_no_dataset(noise: str) -> None:
    named = (A[0], noise)
    lineage = world(
        run(1, 1, made(B, {"x": [source(named, "add"), source(A, "x")]}), dataset(named), reads=[dataset(named)])
    )
    assert (lineage.edges, lineage.tables, lineage.datasets) == ({x("a", "b")}, {("a", "b", "columns")}, {"b"})


def test_rule_11_what_only_looks_like_it_is_one() -> None:
    named = (A[0], "delta_log")
    assert world(run(1, 1, dataset(B), reads=[dataset(named)])).tables == {("delta_log", "b", "opaque")}


USES = [
    run(1, 1, reads=[with_schema(A, "x y z")], job="look"),
    run(2, 2, made(B, {"x": [source(A, "x", CLEAR)]}, source(A, "z", FILTERED), columns="x"), job="2"),
]


def test_rule_11_an_rdd_self_loop_is_no_writer_and_no_reader_but_a_run() -> None:
    loop = run(3, 3, dataset(A), reads=[dataset(A)], job="map_partitions_parallel_collection")
    lineage = world(*USES, loop)
    assert lineage.tables == {("a", "b", "columns")}
    assert lineage.unused(A)["y"] == "unused"
    assert len(lineage.run_states) == 3


def test_rule_11_with_column_lineage_a_self_loop_is_a_merge() -> None:
    assert world(run(1, 1, x_from(A, A), reads=[dataset(A)])).tables == {("a", "a", "columns")}


# 12 Columns


def test_rule_12_columns_match_casefolded_shown_as_in_the_newest_schema() -> None:
    events = [run(1, 1, made(B, {"MAIL": [source(A, "Straße")]})), run(2, 2, x_from(B, C), job="2")]
    lineage = world(*events, run(3, 3, with_schema(B, "Mail"), reads=[with_schema(A, "STRASSE")], job="3"))
    assert ("a.strasse", "b.mail", "direct") in lineage.edges
    assert lineage.scene.columns(Name(*B)).displayed_spelling("mail") == "Mail"


def test_rule_12_what_a_walk_reaches_is_spelt_as_lineage_spells_it() -> None:
    lineage = world(run(1, 1, made(B, {"Mail": [source(A, "Email")]}, columns="")))
    found = reach_answer(
        lineage.scene, default_rules(), Subject(*A, "email"), lineage.counted, forward=True, mode="any",
        bounds=Bounds(10, 10),
    )  # fmt: skip
    assert [(each.column, each.via.column) for each in found.columns] == [("Mail", "Email")]


def test_rule_12_two_only_if_the_lists_of_columns_have_both() -> None:
    events = [run(1, 1, made(B, {"ID": [source(A, "X")], "id": [source(A, "x")]}, columns=""))]
    assert world(*events).edges == {("a.x", "b.id", "direct")}
    both = run(2, 2, with_schema(B, "ID id"), job="2")
    apart = {("a.x", "b.ID", "direct"), ("a.x", "b.id", "direct")}
    assert world(*events, both).edges == apart
    # a shorter list removes no columns
    assert world(*events, both, run(3, 3, with_schema(B, "id"), job="3")).edges == apart


def test_rule_12_a_dot_is_a_top_level_name_first_then_a_path() -> None:
    nested = run(1, 1, reads=[with_schema(A, "s s.t s.u")], job="look")
    flat = run(1, 1, reads=[with_schema(A, "s.t s")], job="look")
    use = run(2, 2, made(B, {"x": [source(A, "s.t", CLEAR)]}), job="2")
    assert world(nested, use).unused(A) == {"s": "used", "s.t": "used", "s.u": "unused"}
    assert world(flat, use).unused(A) == {"s.t": "used", "s": "unused"}


def test_rule_12_use_of_a_parent_makes_its_children_unknown() -> None:
    events = [
        run(1, 1, reads=[with_schema(A, "s s.t o")], job="look"),
        run(2, 2, made(B, {"x": [source(A, "s", CLEAR)]}), job="2"),
    ]
    assert world(*events).unused(A) == {"s": "used", "s.t": "unknown", "o": "unused"}


# Invalid input


HOSTILE = [
    'say "hi"', "it's; DROP TABLE x --", "a/b//c", "back\\slash", "line\nbreak\r\n", "tab\t", "🦆🦆🏽", "\u202egnp.exe",
    "<script>alert(1)</script>", "%2e%2e/", "\u0000", "ﬁ", "İ", "x" * 4000, " ", "{}[]",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_names_are_names_like_others(text: str) -> None:
    one, other = ((A[0], f"{which} {text} end") for which in ("one", "other"))
    lineage_facet = column_lineage({text: [source(one, text)], "same": [source(one, "plain")]})
    output = dataset(other, schema=facet(fields=[{"name": text}, {"name": "same"}]), columnLineage=lineage_facet)
    events = [run(1, 1, output, job=text), run(2, 2, made(B, {"x": [source(other, text, HASHED)]}), job=text)]
    lineage = world(*events)
    key = text.casefold()
    assert lineage.impact((*one, text)) == {f"{other[1]}.{key}": (1, False), "b.x": (2, True)}
    assert lineage.surface((*one, text)) == {f"{other[1]}.{key}": "exposed", "b.x": "masked"}
    assert lineage.unused(other) == {key: "used", "same": "unused"}


@pytest.mark.parametrize("size", [1, 2, 500])
def test_cycles_of_any_length_end(size: int) -> None:
    ring = [(A[0], f"t{n:03}") for n in range(size)]
    events = [run(n, n, x_from(ring[n - 1], ring[n]), job=str(n), reads=[dataset(ring[n - 1])]) for n in range(size)]
    lineage = world(*events)
    column = (*ring[0], "x")
    assert len(lineage.reached(column, "any", forward=True)) == len(lineage.upstream(column, "any")) == size - 1
    assert len(lineage.surface(column)) == size - 1
    assert lineage.unused(ring[0]) == {"x": "used" if size > 1 else "unknown"}


@pytest.mark.slow
def test_ten_thousand_columns_make_no_hundred_million_edges() -> None:
    """Entries for the whole dataset must not be multiplied by the columns."""
    names = [f"c{n}" for n in range(10_000)]
    wide = dataset(
        B,
        schema=facet(fields=[{"name": name} for name in names]),
        columnLineage=column_lineage({name: [source(A, name)] for name in names}, [source(A, name) for name in names]),
    )
    lineage = world(run(1, 1, wide), run(2, 2, made(C, {"x": [source(B, "c77", CLEAR)]}), job="2"))
    assert lineage.impact((*A, "c77")) == {"b.c77": (1, False), "c.x": (2, False)}
    assert len(lineage.impact((*A, "c5"), "any")) == 10_001
    assert lineage.unused(B)["c78"] == "unused"
    assert sum(map(len, lineage.graph.outgoing.values())) == 2 * (3 * 10_000 + 1)


METADATA = {
    "snapshots": "committed_at snapshot_id parent_id operation manifest_list summary",
    "history": "made_current_at snapshot_id parent_id is_current_ancestor",
    "metadata_log_entries": "timestamp file latest_snapshot_id latest_schema_id latest_sequence_number",
    "refs": "name type snapshot_id max_reference_age_in_ms min_snapshots_to_keep max_snapshot_age_in_ms",
    "files": "content file_path file_format spec_id record_count file_size_in_bytes column_sizes",
    "entries": "status snapshot_id sequence_number file_sequence_number data_file readable_metrics",
    "manifests": "content path length partition_spec_id added_snapshot_id added_data_files_count",
    "partitions": "partition spec_id record_count file_count position_delete_record_count",
    "position_deletes": "file_path pos row partition spec_id delete_file_path",
}


@pytest.mark.parametrize("columns", METADATA.values(), ids=METADATA)
def test_rule_12_metadata_of_iceberg_that_is_read_is_no_schema_of_its_table_but_that_of_what_keeps_it(
    columns: str,
) -> None:
    first, *_ = columns.split()
    copied = made(B, {name: [source(A, name, CLEAR)] for name in columns.split()}, columns=columns)
    found = world(run(1, 0, with_schema(A, "id email")), run(2, 9, copied, reads=[with_schema(A, columns)]))
    assert found.unused(A) == {"id": "unused", "email": "unused"}
    assert set(found.unused(B)) == set(columns.split())
    assert found.upstream((*B, first)) == {}
    assert ("a", "b", "columns") in found.tables


def test_rule_11_a_column_of_a_metadata_table_that_the_table_has_as_well_is_one_of_the_table() -> None:
    copied = made(B, {"path": [source(A, "path", CLEAR)]}, columns="path")
    both = [with_schema(A, METADATA["manifests"]), with_schema(A, "id path")]
    found = world(run(1, 0, with_schema(A, "id path")), run(2, 9, copied, reads=both))
    assert found.unused(A) == {"id": "unused", "path": "used"}
