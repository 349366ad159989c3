"""Test the reference solver itself, case by case against docs/reference/lineage.md."""

import copy
from collections import defaultdict
from collections.abc import Callable
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.reference import gaps
from tests.reference.nesting import Way
from tests.reference.questions import (
    caveats,
    exposed_until,
    impact,
    surface,
    tagged,
    unused,
    unused_reasons,
    upstream,
)
from tests.reference.records import Delivered
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
)
from tests.reference.solver import Reference, meaningful
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
    source,
    symlinks,
    uuid,
)
from tests.reference.worlds import FEW, FEWEST, random_world, world_in_namespace, worlds

SNAPSHOT = {"eventTrigger": "PERIODIC", "eventContentMode": "COMPLETE_SNAPSHOT"}

Question = Callable[[Reference], Any]


def edge(origin: Any, target: Any, kind: str = "DIRECT", *, masked: bool = False, x: str = "x", y: str = "x") -> Any:
    return (*origin, "", x, *target, "", y, kind, masked)


def columns(lineage: Reference) -> Any:
    return lineage.column_edges


def tables(lineage: Reference) -> Any:
    """Return table edges without generations."""
    return {(*edge[:2], *edge[3:5], edge[6]) for edge in lineage.table_edges}


def short(node: Any) -> str:
    """Return `c@2.x` for column x of the generation of c that run 2 started."""
    return f"{node[1]}{'@' + str(int(node[2][-12:], 16)) if node[2] else ''}.{node[3]}"


def states(lineage: Reference) -> Any:
    return set(lineage.run_states.values())


def both(lineage: Reference) -> Any:
    return columns(lineage), tables(lineage)


def states_and_columns(lineage: Reference) -> Any:
    return states(lineage), lineage.column_edges


def verdicts(lineage: Reference) -> Any:
    return {column[1:]: verdict for column, verdict in unused(lineage).items()}


def jobs(lineage: Reference) -> Any:
    return set(lineage.job_keys.values())


FAIL_LATE = [run(1, 1, x_from(A, B)), run(1, 2, kind="FAIL")]
FAIL_THEN = [run(1, 1, kind="FAIL"), run(1, 1, x_from(A, B))]
SESSION = {"parent": parent(uuid(90), ("jobs", "app"), uuid(99))}
TWO_APPENDS = [run(n, n, x_from(origin, C), run_facets=SESSION) for n, origin in ((1, A), (2, B))]
TWO_SESSIONS = [run(1, 1, x_from(A, C)), run(2, 2, x_from(B, C))]
REBOUND = [
    run(1, 1, dataset(A, symlinks=symlinks(ALIAS)), job="make a"),
    run(2, 5, dataset(B, symlinks=symlinks(ALIAS)), job="make b"),
]
RENAMED = [
    run(1, 1, x_from(A, B)),
    run(2, 5, renamed(B, C), job="rename"),
    run(3, 9, x_from(A, D), reads=[dataset(B)], job="after"),
]
DROPPED = [run(1, 1, x_from(A, B)), run(2, 5, changed(B, "DROP"), job="drop")]
STREAMING = [
    run(1, 1, x_from(A, C), kind="START", job_facets={"jobType": STREAM["jobType"] | {"emissionPattern": SNAPSHOT}}),
    run(1, 2, x_from(B, D), kind="RUNNING"),
    run(1, 3, kind="RUNNING"),
]
WHOLE = made(B, {"z": []}, source(A, "x"), columns="y")
LINEAGE = facet(
    entries=[
        {
            "namespace": C[0],
            "name": C[1],
            "type": "DATASET",
            "inputs": [source(A, "x") | {"type": "DATASET"}, {"namespace": D[0], "name": D[1], "type": "DATASET"}],
            "fields": {"y": {"inputs": [source(B, "x", HASHED) | {"type": "DATASET"}]}},
        }
    ]
)
OPAQUE_BESIDE = [
    run(4, 1, dataset(B), reads=[dataset(A)], run_facets=SESSION),
    run(5, 2, made(B, {"x": [source(A, "x", CLEAR)]}), run_facets=SESSION),
]
LOOP = [run(1, 1, dataset(A), reads=[dataset(A)])]
DECLARED = [
    job_event(at(1), ("jobs", "job"), [], [x_from(A, C)]),
    job_event(at(2), ("jobs", "job"), [], [x_from(B, C)]),
    dataset_event(at(1), x_from(D, C)),
    dataset_event(at(2), made(C, {"x": [source(D, "y")]}), PRODUCER + "/other"),
    run(1, 3, x_from(A, B)),
]

CASES: list[tuple[str, list[Json], Question, Any]] = [
    ("1 a late FAIL takes the edges back", FAIL_LATE, states_and_columns, ({"FAIL"}, set())),
    ("1 at one instant FAIL wins whatever the order", FAIL_THEN, states, {"FAIL"}),
    (
        "1 START only is RUNNING and has no edges",
        [run(1, 1, x_from(A, B), kind="START")],
        states_and_columns,
        ({"RUNNING"}, set()),
    ),
    ("1 OTHER after COMPLETE ends nothing", [run(1, 1, x_from(A, B)), run(1, 2, kind="OTHER")], states, {"COMPLETE"}),
    ("1 an event far ahead ranks below all", [run(1, 1), run(1, 48 * 3600, kind="FAIL")], states, {"COMPLETE"}),
    (
        "1 no zone is UTC",
        [run(1, 2) | {"eventTime": "2026-03-01T12:00:02"}, run(1, 1, kind="FAIL")],
        states,
        {"COMPLETE"},
    ),
    (
        "1 no time is the time of receipt",
        [run(1, 1) | {"eventTime": "yesterday"}, run(1, 9, kind="FAIL")],
        states,
        {"COMPLETE"},
    ),
    (
        "1 a UUID is known in lower case",
        [run(171, 1), run(171, 2, kind="FAIL") | {"run": {"runId": uuid(171).upper()}}],
        states,
        {"FAIL"},
    ),
    (
        "1 a run id that is no UUID is known with its job",
        [run(1, 1, job=job) | {"run": {"runId": "m"}} for job in "jk"],
        lambda r: set(r.run_states),
        {'["m","jobs","j"]', '["m","jobs","k"]'},
    ),
    (
        "1 a columnLineage that names nothing is absent",
        [run(1, 1, x_from(A, B), kind="START"), run(1, 2, made(B, {}))],
        columns,
        {edge(A, B)},
    ),
    (
        "1 a field without inputs is a statement",
        [run(1, 1, x_from(A, B), kind="START"), run(1, 2, made(B, {"x": []}))],
        columns,
        set(),
    ),
    (
        "6 a field without inputs ends what an older execution said",
        [run(1, 1, x_from(A, B)), run(2, 2, made(B, {"x": []}))],
        columns,
        set(),
    ),
    (
        "1 null is absent, _deleted removes",
        [
            run(1, 1, x_from(A, B), x_from(A, C), kind="START"),
            run(1, 2, dataset(B, columnLineage=None), dataset(C, columnLineage=facet(_deleted=True))),
        ],
        columns,
        {edge(A, B)},
    ),
    (
        "1 datasets of all events count",
        [run(1, 1, reads=[dataset(A)], kind="START"), run(1, 2, dataset(B))],
        tables,
        {(*A, *B, True)},
    ),
    ("2 a table name means its newest location", [*REBOUND, run(3, 9, x_from(ALIAS, C))], columns, {edge(B, C)}),
    (
        "2 at an earlier time it means the earlier location",
        [*REBOUND, run(3, 4, x_from(ALIAS, C))],
        columns,
        {edge(A, C)},
    ),
    ("2 before all bindings it means the earliest", [*REBOUND, run(3, 0, x_from(ALIAS, C))], columns, {edge(A, C)}),
    (
        "2 LOCATION binds the other way",
        [run(1, 1, x_from(B, ALIAS, symlinks=symlinks(A, kind="LOCATION")))],
        columns,
        {edge(B, A)},
    ),
    (
        "2 bindings are not chained",
        [*REBOUND[:1], run(2, 2, dataset(D, symlinks=symlinks(A))), run(3, 3, x_from(ALIAS, C))],
        lambda r: (columns(r), r.names.bound(*A, START_US)),
        ({edge(A, C)}, D),
    ),
    (
        "2 a leading slash is no part of an object-store name",
        [run(1, 1, x_from(("abfss://l@s", "/t"), B))],
        columns,
        {edge(("abfss://l@s", "t"), B)},
    ),
    (
        "3 a session's GUID is stripped, statement suffix kept",
        [run(1, 1, job=f"nb_{GUID.replace('-', '_')}.save.t"), run(2, 1, job=f"nb-{GUID}"), run(3, 1, job=GUID)],
        jobs,
        {("jobs", "nb.save.t"), ("jobs", "nb"), ("jobs", GUID)},
    ),
    (
        "3 an artifact id stands for the name",
        [
            run(
                1,
                1,
                job="nb.x.y",
                run_facets={"spark_properties": facet(properties={"spark.trident.artifact.id": "i"})},
            )
        ],
        jobs,
        {("jobs", "i.x.y")},
    ),
    (
        "4 whole-dataset entries reach schema and fields",
        [run(1, 1, WHOLE)],
        columns,
        {edge(A, B, "INDIRECT", y="y"), edge(A, B, "INDIRECT", y="z")},
    ),
    (
        "4 without a schema of its own all lists count if none is complete",
        [
            run(2, 0, with_schema(B, "k")),
            run(3, 9, with_schema(B, "l")),
            run(1, 1, made(B, {}, source(A, "x")), job="2"),
        ],
        columns,
        {edge(A, B, "INDIRECT", y="k"), edge(A, B, "INDIRECT", y="l")},
    ),
    (
        "4 a complete list before the run removes what older lists have",
        [
            run(2, 0, with_schema(B, "k")),
            run(3, 1, with_schema(B, "l"), job="3.append_data_exec_v1"),
            run(4, 9, with_schema(B, "m"), job="4"),
            run(1, 2, made(B, {}, source(A, "x")), job="2"),
        ],
        columns,
        {edge(A, B, "INDIRECT", y="l"), edge(A, B, "INDIRECT", y="m")},
    ),
    (
        "4 else the earliest later one",
        [run(3, 9, with_schema(B, "l")), run(1, 1, made(B, {}, source(A, "x")), job="2")],
        columns,
        {edge(A, B, "INDIRECT", y="l")},
    ),
    (
        "4 old transformationType MASKED masks",
        [run(1, 1, dataset(B, columnLineage=column_lineage({"x": [source(A, "x")]}, transformationType="MASKED")))],
        columns,
        {edge(A, B, masked=True)},
    ),
    (
        "4 each transformation is an edge",
        [run(1, 1, made(B, {"x": [source(A, "x", HASHED, FILTERED)]}))],
        columns,
        {edge(A, B, masked=True), edge(A, B, "INDIRECT")},
    ),
    (
        "4 all inputs of a run with one output",
        [run(1, 1, x_from(A, C), reads=[dataset(B)])],
        tables,
        {(*A, *C, False), (*B, *C, False)},
    ),
    (
        "4 of several outputs the opaque one has all inputs and all sources of the others",
        [run(1, 1, x_from(A, C), dataset(D), reads=[dataset(B)])],
        tables,
        {(*A, *C, False), (*A, *D, True), (*B, *D, True)},
    ),
    (
        "4 a lineage facet counts for its own output alone",
        [run(1, 1, x_from(A, B), reads=[dataset(B)], run_facets={"lineage": LINEAGE})],
        both,
        (
            {edge(A, B), edge(A, C, "INDIRECT", y="y"), edge(B, C, masked=True, y="y")},
            {(*A, *B, False), (*A, *C, False), (*B, *C, False), (*D, *C, False)},
        ),
    ),
    (
        "4 a deleted lineage facet takes back what came before",
        [
            run(1, 1, kind="START", run_facets={"lineage": LINEAGE}),
            run(1, 2, x_from(A, B), run_facets={"lineage": facet(_deleted=True)}),
        ],
        columns,
        {edge(A, B)},
    ),
    (
        "4 no dataset feeds itself unless column lineage says so",
        [run(1, 1, dataset(B), reads=[dataset(A), dataset(B)])],
        tables,
        {(*A, *B, True)},
    ),
    (
        "5 MERGE: sources come from column lineage",
        [run(1, 1, made(B, {"x": [source(A, "x"), source(B, "x")]}), reads=[dataset(B)])],
        tables,
        {(*A, *B, False), (*B, *B, False)},
    ),
    ("6 two appends of one session both stay", TWO_APPENDS, columns, {edge(A, C), edge(B, C)}),
    ("6 a newer execution replaces", TWO_SESSIONS, columns, {edge(B, C)}),
    (
        "6 the columns stay when a newer execution is opaque, which counts as well",
        [*TWO_SESSIONS, run(3, 3, dataset(C), reads=[dataset(D)])],
        both,
        ({edge(B, C)}, {(*B, *C, False), (*D, *C, True)}),
    ),
    (
        "6 without any column lineage the newest counts",
        [run(1, 1, dataset(C), reads=[dataset(A)]), run(2, 2, dataset(C), reads=[dataset(B)])],
        tables,
        {(*B, *C, True)},
    ),
    ("6 an opaque run beside one with columns", OPAQUE_BESIDE, tables, {(*A, *B, False)}),
    (
        "6 jobs are united",
        [run(1, 1, x_from(A, C), job="1"), run(2, 2, x_from(B, C), job="2")],
        columns,
        {edge(A, C), edge(B, C)},
    ),
    ("6 streaming counts while running, by its newest snapshot", STREAMING, columns, {edge(B, D)}),
    (
        "6 in an accumulating stream the newest value of a facet counts whole",
        [run(1, n, x_from(origin, C), kind="RUNNING", job_facets=STREAM) for n, origin in ((1, A), (2, B))],
        columns,
        {edge(B, C)},
    ),
    (
        "6 declared lineage is a layer of its own",
        DECLARED,
        columns,
        {edge(B, C), edge(D, C), edge(D, C, x="y"), edge(A, B)},
    ),
    (
        "8 tags: newest of each producer, false is none",
        [
            dataset_event(at(1), dataset(A, tags=facet(tags=[{"key": "PII", "value": "true", "field": "X"}]))),
            dataset_event(at(2), dataset(A)),
            dataset_event(
                at(1), dataset(A, tags=facet(tags=[{"key": "pii", "value": "False", "field": "y"}])), "other"
            ),
        ],
        lambda r: tagged(r, "pii"),
        {(*A, "", "x")},
    ),
    (
        "10 a drop ends",
        DROPPED,
        lambda r: (columns(r), r.dropped, impact(r, *A, "x", "value"), upstream(r, *B, "x", "value")),
        ({edge(A, B)}, {B}, {}, {(*A, "x"): (1, False)}),
    ),
    (
        "10 the next write shows again",
        [*DROPPED, run(3, 9, dataset(B), reads=[dataset(D)], job="new")],
        columns,
        {edge(A, B)},
    ),
    ("10 at one instant the write wins", [*DROPPED, run(3, 5, dataset(B), job="new")], columns, {edge(A, B)}),
    ("10 a failed drop hides nothing", [*DROPPED, run(2, 6, kind="FAIL")], columns, {edge(A, B)}),
    (
        "10 a rename carries history, the old name is free",
        RENAMED,
        lambda r: {(short(each[:4]), short(each[4:8])) for each in columns(r)},
        {("a.x", "c@2.x"), ("a.x", "d.x")},
    ),
    ("10 TRUNCATE ends nothing", [run(1, 1, x_from(A, B)), run(2, 2, changed(B, "TRUNCATE"))], columns, {edge(A, B)}),
    (
        "11 an RDD self loop is no writer and no reader",
        [*LOOP, run(2, 0, with_schema(A, "x"), job="2")],
        lambda r: (tables(r), verdicts(r)),
        (set(), {("a", "x"): "unknown"}),
    ),
    (
        "11 Delta's own tables are no datasets",
        [
            run(
                1,
                1,
                dataset(B),
                reads=[dataset(("s3://lake", "a/_delta_log")), dataset(("s3://lake", "delta_table_state_3"))],
            )
        ],
        tables,
        set(),
    ),
    ("12 columns match casefolded", [run(1, 1, made(B, {"X": [source(A, "ID")]}))], columns, {edge(A, B, x="id")}),
    (
        "12 two that differ in case only match exactly",
        [run(1, 1, made(B, {"X": [source(A, "ID")]}, columns="X x"))],
        columns,
        {edge(A, B, x="id", y="X")},
    ),
]


@pytest.mark.parametrize(("events", "question", "expected"), [pytest.param(*case[1:], id=case[0]) for case in CASES])
def test_rule(events: list[Json], question: Question, expected: Any) -> None:
    delivered = deliver(events)

    assert question(Reference(delivered)) == expected
    assert question(Reference(delivered[::-1] + delivered)) == expected, (
        "the order or repetition of events changes the answer"
    )


LIMITS: list[tuple[dict[str, Any], Any]] = [
    ({}, {edge(B, C)}),
    ({"view": "all"}, {edge(A, C), edge(B, C)}),
    ({"as_of_us": START_US + SECOND}, {edge(A, C)}),
    ({"known_at_us": RECEIPT_US}, {edge(A, C)}),
    ({"view": "all", "seen_since_us": START_US + 2 * SECOND}, {edge(B, C)}),
]


@pytest.mark.parametrize(("limits", "expected"), LIMITS)
def test_rule_6_limits_in_time(limits: dict[str, Any], expected: Any) -> None:
    assert columns(Reference(deliver(TWO_SESSIONS), **limits)) == expected


def test_rule_1_of_a_repeated_event_the_first_receipt_counts() -> None:
    early, late = (Delivered(run(1, 1), received_us, "same") for received_us in (START_US, START_US + SECOND))

    assert states(Reference([late, early], known_at_us=START_US)) == {"COMPLETE"}


@pytest.mark.slow
@settings(max_examples=50, deadline=None)
@given(worlds(), st.randoms(use_true_random=False))
def test_order_repetition_and_other_namespaces_change_nothing(world: list[Delivered], chance: Random) -> None:
    here = Reference(world)
    again = Reference(chance.sample(world, len(world)) + world[:3])
    there = Reference(world_in_namespace(world, "w1-"))

    assert (again.run_states, *both(again), unused(again)) == (here.run_states, *both(here), unused(here))
    assert sorted(there.run_states.values()) == sorted(here.run_states.values())
    assert [len(edges) for edges in both(there)] == [len(edges) for edges in both(here)]
    assert not {edge[0] for edge in there.table_edges} & {edge[0] for edge in here.table_edges}


FEATURES: dict[str, Question] = {
    "drop": lambda r: r.dropped,
    "rename": lambda r: r.generations.renames,
    "re-creation": lambda r: any(edge[6] and edge[4:6] not in r.dropped for edge in r.column_edges),
    "through a dropped generation": lambda r: any(
        not r.generations.is_dropped(edge[4:7]) and r.generations.is_dropped(edge[:3]) for edge in r.column_edges
    ),
    "re-binding": lambda r: any(len(places) > 1 for places in r.names.bindings.values()),
    "late FAIL": lambda r: any(
        {"COMPLETE"} < {e.event["eventType"] for e in run.events} and run.state == "FAIL" for run in r.runs
    ),
    "history": lambda r: len(r.current) < len(r.observed) + len(r.declared),
    "an older period that ended later": lambda r: any(
        max(group, key=lambda w: (w.period_us, w.time_us)).time_us < max(w.time_us for w in group)
        for group in meaningful(r.observed, lambda w: (w.job, w.output))
    ),
    "whole rewrites": lambda r: any(r.write_kinds.replaces_all(a, w.output) for a in r.working for w in a.writings),
    "known partitions": lambda r: any(
        r.write_kinds.is_by_parts(w.output) and "lifecycleStateChange" in a.content.outputs.get(w.output, ())
        for a in r.working
        for w in a.writings
    ),
    "loop appends": lambda r: (
        len({(w.job, w.output, w.execution) for w in r.current if w.carries})
        < len({(w.run, w.output) for w in r.current if w.carries})
    ),
    "streaming": lambda r: any(a.run and a.run.is_streaming and a.writings for a in r.accounts),
    "attempts behind a complete one": lambda r: any(
        len(run.counted) < len(run.events) and run.counts for run in r.runs
    ),
    "snapshots": lambda r: any(len(run.telling) < len(run.events) for run in r.runs),
    "declared": lambda r: any(writing.edges for writing in r.declared),
    "clock ahead": lambda r: any(event.is_ahead for event in r.events),
    "self loop": lambda r: any(account.content.is_self_loop and account.content.inputs for account in r.accounts),
    "masking": lambda r: any(edge[9] for edge in r.column_edges),
    "self edge": lambda r: any(edge[:3] == edge[4:7] for edge in r.column_edges),
    "opaque": lambda r: any(edge[6] for edge in r.table_edges),
    "lineage facet": lambda r: any(account.content.entries for account in r.accounts),
    "fed by a job that reads": lambda r: any(r.opacity.followed(w).datasets - w.reads for w in r.current if w.jobs),
    "rewrites that commits withdraw": lambda r: True in decided_by_commits(r),
    "rewrites that commits alone prove": lambda r: False in decided_by_commits(r),
    "feeds the job of its run": lambda r: any(each.content.own_fed and each.writings for each in r.working),
    "feeds another job, or one without output": lambda r: any(each.feeds_jobs for each in r.without_output),
    "feeds a job that feeds an output": lambda r: any(
        r.followed({each.job}).datasets and any(each.job in w.jobs for w in r.current)
        for a in r.working
        for each in a.content.fed
    ),
    "fed by a job of which nothing is known": lambda r: any(
        not r.opacity.followed(writing).is_complete for writing in r.current
    ),
    "case variants": lambda r: any(edge[3] != edge[3].casefold() for edge in r.column_edges),
    "nested": lambda r: any("." in edge[3] and r.nesting.above(edge[:4]) for edge in r.column_edges),
    "arrays and maps": lambda r: (
        {"_element", "_value"}
        <= {part for known in r.schemas.known.values() for each in known for path in each.paths for part in path}
    ),
    "child edges": lambda r: any(r.nesting.above(edge[:4]) and r.nesting.above(edge[4:8]) for edge in r.column_edges),
    "struct copies": lambda r: any(
        edge[8] == "DIRECT" and r.nesting.within(edge[:4]) & r.nesting.within(edge[4:8]) for edge in r.column_edges
    ),
    "children that only may be reached": lambda r: any(step.way is Way.MAY for step in r.nesting.steps(r.column_edges)),
    "tags on parents": lambda r: any(r.nesting.within(node) for node in tagged(r, "pii")),
    "tags on children": lambda r: any(r.nesting.above(node) for node in tagged(r, "pii") if node[3]),
    "re-creation by the same job and by another": lambda r: len(writers_of_recreated(r)) > 1,
    "DROP and RENAME onto it": lambda r: any(
        len({end.by_rename for end in ends}) == 2 for ends in r.generations.ends.values()
    ),
    "moved and moved onto": lambda r: any(
        name in r.generations.ends and any(end.by_rename for end in r.generations.ends[name])
        for name in r.generations.renames
    ),
    "read before re-creation": lambda r: "read_before_recreation" in unused_reasons(r).values(),
    "opaque newest execution": lambda r: any(
        not writing.carries and any(other.carries and other.execution != writing.execution for other in group)
        for group in writings_by_output(r)
        for writing in group
    ),
    "nothing said": lambda r: any(writing.says_nothing for writing in r.observed),
    "fields without inputs": lambda r: any(writing.named and not writing.edges for writing in r.current),
    "batch readers without outputs": caveats,
    "streaming readers without outputs": lambda r: any(
        a.run and a.run.is_streaming and a.content.inputs and not a.writings for a in r.working
    ),
    "runs without transformations": lambda r: any(account.hides_steps for account in r.working),
    "both halves of a statement": lambda r: any(
        writing.opaque - r.opacity.sources(writing) and "table_as_select" in writing.job[1] for writing in r.observed
    ),
    "tasks explained by runs below": lambda r: any(
        writing.opaque - r.opacity.sources(writing) and writing.job[0] == "airflow" for writing in r.observed
    ),
    "tasks not explained": lambda r: any(
        r.opacity.sources(writing) and writing.job[0] == "airflow" for writing in r.observed
    ),
    "read after its DROP": lambda r: any(
        source[2] != r.generations.newest(source[:2])[2] and r.generations.is_dropped(source)
        for account in r.working
        for source in account.content.inputs
        if account.run and account.run.parent and len(account.run.events) > 1
    ),
    "unaccounted columns": lambda r: any(writing.left_out - {gaps.WHOLE} for writing in r.current),
    "outputs unaccounted as a whole": lambda r: any(gaps.WHOLE in writing.left_out for writing in r.current),
    "unaccounted columns explained": lambda r: any(
        r.opacity.left_open(r.opacity.accounts[writing.run], writing) < writing.also_read for writing in r.current
    ),
    "inputs explained by a declaration": lambda r: any(r.opacity.declared_inputs(writing) for writing in r.observed),
    "columns that a declaration accounts for": lambda r: any(
        writing.left_out and not r.opacity.left_open_by_job(writing) for writing in r.observed
    ),
    "copied structs": lambda r: any(
        r.nesting.within(r.node(source, column)) for writing in r.current for source, column, _ in writing.copies
    ),
    "names that the SQL explains": lambda r: any(writing.doubtful for writing in r.current),
    "names that may mean inputs": lambda r: any(r.opacity.doubts(writing) for writing in r.current),
    "names that lineage in force knows": lambda r: any(
        writing.doubts - r.opacity.doubts(writing) for writing in r.current
    ),
    "exposed_until": lambda r: exposed_until(r, tagged(r, "pii")),
    "tags": lambda r: tagged(r, "pii"),
    "exposed, masked, unknown": lambda r: any(
        len(set(surface(r, {edge[:4]}).values())) == 3 for edge in r.column_edges
    ),
    "used, unused, unknown": lambda r: len(set(unused(r).values())) == 3,
}


def writings_by_output(lineage: Reference) -> list[list[Any]]:
    groups = defaultdict(list)
    for writing in lineage.current:
        groups[writing.job, writing.output].append(writing)
    return list(groups.values())


def decided_by_commits(lineage: Reference) -> set[bool]:
    """Return whether writes are whole rewrites according to events, for writes whose commits show the opposite."""
    by_events = copy.copy(lineage.write_kinds)
    by_events.committed = []
    told = [(account, output) for account in lineage.working for output in account.content.outputs]
    reported = [(each, by_events.replaces_all(*each)) for each in told]
    return {is_whole for each, is_whole in reported if lineage.write_kinds.replaces_all(*each) != is_whole}


def writers_of_recreated(lineage: Reference) -> set[bool]:
    """Return whether pairs of writers of different generations of a dataset have the same job."""
    made = [writing for writing in lineage.observed if writing.output[:2] in lineage.generations.ends]
    return {
        one.job == other.job
        for one, other in combinations(made, 2)
        if one.output[:2] == other.output[:2] and one.output != other.output
    }


@pytest.fixture(scope="module")
def many() -> list[Reference]:
    return [Reference(random_world(seed)) for seed in range(500)]


@pytest.mark.long  # the next test checks a few of the features
@pytest.mark.parametrize("feature", FEATURES)
def test_worlds_have(feature: str, many: list[Reference]) -> None:
    assert sum(bool(FEATURES[feature](lineage)) for lineage in many) >= len(many) // 100


def test_the_few_worlds_have_it_all_too() -> None:
    few = [Reference(random_world(seed)) for seed in FEWEST]
    assert set(FEWEST) < set(FEW)
    assert [name for name, found in FEATURES.items() if not any(map(found, few))] == []
