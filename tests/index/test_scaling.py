"""The work of the index is linear in the content of events, in Python calls and in steps of SQLite's
virtual machine.
"""

import json
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from headwater.events.position import Source
from headwater.index.reading.search_file import SearchFile
from headwater.index.stored.database import open_for_writing
from headwater.index.stored.datasets import SqliteNaming
from headwater.index.stored.edge_sets import EdgeSetTable
from headwater.index.stored.numbers import NameNumbers
from headwater.index.writing.indexer import CpuLimit, Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.edges.facet_contents import FacetContentsInMemory
from headwater.lineage.edges.output_lineage import EdgeRules, OutputLineage
from headwater.lineage.edges.run_edges import derive_output_lineages
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.event_reading import FactsReader
from headwater.lineage.runs.merged_run import merge_run
from tests.reference.small_events import ALIAS, SECOND, STREAM, A, B, changed, renamed, run, with_schema, x_from
from tests.reference.world_events import START_US, Json, dataset, facet, schema, source, symlinks, uuid
from tests.support.cleanup import until_end

FEW, MANY = 100, 400
SLACK = 1.3
"""Allowed growth. Quadratic work would grow fourfold; sorting and fixed costs of a batch cause small deviations."""


class Counting(CpuLimit):
    """Counts how often SQLite calls the limit, and never stops it."""

    looks = 0

    def is_spent(self) -> bool:
        self.looks += 1
        return False


def lake(name: str) -> tuple[str, str]:
    return ("s3://lake", name)


def outputs(count: int, **facets: Any) -> list[Json]:
    return [dataset(lake(f"out{number}"), **facets) for number in range(count)]


def linked(count: int, kind: str) -> Json:
    """Return a dataset with `count` symlinks of a kind."""
    found = [{"namespace": "s3://other", "name": f"t{number}", "type": kind} for number in range(count)]
    return dataset(B, symlinks=facet(identifiers=found))


def below(number: int, parent: int, *written: Json) -> Json:
    """Return a run with a parent run."""
    told = facet(run={"runId": uuid(parent)}, job={"namespace": "jobs", "name": f"job{parent}"})
    return run(number, number, *written, reads=[dataset(A)], job=f"job{number}", run_facets={"parent": told})


def wide_lineage(count: int) -> Json:
    """Return a `lineage` facet of a run with `count` outputs."""
    own = {"namespace": A[0], "name": A[1], "type": "DATASET"}
    entries = [{"namespace": "s3://lake", "name": f"out{n}", "type": "DATASET", "inputs": [own]} for n in range(count)]
    return {"lineage": facet(entries=entries)}


WORLDS: dict[str, Callable[[int], Sequence[Json]]] = {
    "outputs of which nothing is said": lambda n: [run(1, 1, *outputs(n), reads=[dataset(A)])],
    "outputs with a schema": lambda n: [run(1, 1, *(with_schema(lake(f"o{i}"), f"x y{i}") for i in range(n)))],
    "outputs with lineage": lambda n: [run(1, 1, *(x_from(A, lake(f"o{i}"), columns="x") for i in range(n)))],
    "outputs with lineage of four jobs": lambda n: [
        run(job, job, *(x_from(A, lake(f"o{i}")) for i in range(n)), job=f"job{job}") for job in range(4)
    ],
    "outputs with versions": lambda n: [run(1, 1, *outputs(n, version=facet(datasetVersion="7")))],
    "outputs of a lineage facet": lambda n: [run(1, 1, run_facets=wide_lineage(n))],
    "outputs of a failed run with both lineage facets": lambda n: [
        run(1, 1, *(x_from(A, lake(f"out{i}")) for i in range(n)), kind="FAIL", run_facets=wide_lineage(n))
    ],
    "inputs": lambda n: [run(1, 1, dataset(B), reads=[with_schema(lake(f"in{i}"), "x") for i in range(n)])],
    "outputs and as many inputs": lambda n: [run(1, 1, *outputs(n), reads=[dataset(lake(f"in{i}")) for i in range(n)])],
    "columns": lambda n: [run(1, 1, with_schema(B, " ".join(f"c{i}" for i in range(n))))],
    "nested columns": lambda n: [run(1, 1, with_schema(B, "s " + " ".join(f"s.c{i}" for i in range(n))))],
    "edges of columns": lambda n: [
        run(
            1, 1, dataset(B, columnLineage=facet(fields={f"c{i}": {"inputFields": [source(A, "x")]} for i in range(n)}))
        )
    ],
    "other names of a dataset": lambda n: [run(1, 1, linked(n, "TABLE"))],
    "places of a dataset": lambda n: [run(1, 1, linked(n, "LOCATION"))],
    "tags": lambda n: [run(1, 1, dataset(B, tags=facet(tags=[{"key": f"k{i}", "value": "v"} for i in range(n)])))],
    "parents of one run": lambda n: [below(1, 2 + i, dataset(B)) for i in range(n)],
    "runs below one": lambda n: [below(2 + i, 1, dataset(B)) for i in range(n)],
    "runs of one job that write one dataset": lambda n: [run(i, i, with_schema(B, "x")) for i in range(n)],
    "schemas of one dataset": lambda n: [run(i, i, with_schema(B, f"x{i}")) for i in range(n)],
    "jobs that write one dataset": lambda n: [run(i, i, x_from(A, B), job=f"job{i}") for i in range(n)],
    "events of one run": lambda n: [run(1, i, dataset(lake(f"o{i}")), kind="RUNNING") for i in range(n)],
    "datasets dropped": lambda n: [run(1, 1, *(changed(lake(f"o{i}"), "DROP") for i in range(n)))],
    "datasets renamed": lambda n: [run(1, 1, *(renamed(lake(f"o{i}"), lake(f"p{i}")) for i in range(n)))],
    "generations of a dataset": lambda n: [
        run(i, i, changed(B, "DROP") if i % 2 else with_schema(B, "x")) for i in range(n)
    ],
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_the_index_does_work_linear_in_what_events_say(tmp_path: Path, world: str) -> None:
    few, many = (work_of_indexing(tmp_path / str(count), WORLDS[world](count)) for count in (FEW, MANY))
    ratios = [of_many / of_few / (MANY / FEW) for of_few, of_many in zip(few, many, strict=True)]
    assert max(ratios) < SLACK, f"{world}: SQLite steps and Python calls grow by {ratios} relative to linear growth"


PARENT = {"parent": facet(run={"runId": uuid(1)}, job={"namespace": "jobs", "name": "application"})}

WRITERS: dict[str, Callable[[int], Sequence[Json]]] = {
    "a dataset": WORLDS["jobs that write one dataset"],
    "a dataset that is dropped now and then": lambda n: [
        run(i, i, changed(B, "DROP") if i % (n // 4) == 0 else x_from(A, B), job=f"job{i}") for i in range(n)
    ],
    "a dataset that statements write, too": lambda n: [
        run(i, i, dataset(B), job=f"app.{'create_data_source_table_as_select' if i < 4 else i}.b") for i in range(n)
    ],
    "a dataset, in updates of one run": lambda n: [
        run(1, i, x_from(A, B), kind="RUNNING", job_facets=STREAM) for i in range(n)
    ],
    "a dataset, in runs of one execution": lambda n: [run(2 + i, i, x_from(A, B), run_facets=PARENT) for i in range(n)],
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WRITERS)
def test_a_batch_costs_what_it_says_however_much_was_said_before(tmp_path: Path, world: str) -> None:
    few, many = (work_of_indexing(tmp_path / str(count), WRITERS[world](count), FEW // 10) for count in (FEW, MANY))
    ratios = [of_many / of_few / (MANY / FEW) for of_few, of_many in zip(few, many, strict=True)]
    assert max(ratios) < SLACK, f"{world}: SQLite steps and Python calls grow by {ratios} relative to linear growth"


def test_the_outputs_of_a_run_share_the_list_of_its_inputs_while_a_run_has_it(tmp_path: Path) -> None:
    read = tuple(Name(*lake(f"in{number}")) for number in range(MANY))
    said = [
        OutputLineage(
            Name(*lake(f"o{number}")),
            source_datasets=read,
            opaque_inputs=read,
            other_inputs=(),
            has_column_lineage=False,
        )
        for number in range(FEW)
    ]
    with closing(open_for_writing(tmp_path / "index.sqlite")) as sql:
        table = EdgeSetTable(sql, NameNumbers(sql))
        numbers = [table.edge_set_number(group, lineage) for group, lineage in enumerate(said)]
        stored = "SELECT sum(length(value)) FROM {}"
        assert sql.execute(stored.format("edges")).fetchone() < sql.execute(stored.format("input_lists")).fetchone()
        afresh = EdgeSetTable(sql, NameNumbers(sql))
        assert [afresh.lineage_of_edge_set(number) for number in numbers] == said
        assert [afresh.edge_set_number(group, lineage) for group, lineage in enumerate(said)] == numbers
        table.add_run_times({numbers[0]: [1]})
        for generation, left in ((1, 1), (_LATER, 1), (2 * _LATER, 0)):
            table.delete_unreported(generation)
            assert sql.execute("SELECT count(*) FROM input_lists").fetchone() == (left,)
            if generation == _LATER:
                assert table.lineage_of_edge_set(numbers[0]) == said[0]
                table.recount_runs([numbers[0]])


_LATER = 10_000
"""Number of generations after which no reader needs edges that no run reports any more."""


class CountedText(str):
    """A string that counts how often strings of its class are hashed."""

    hashed = 0

    def __hash__(self) -> int:
        CountedText.hashed += 1
        return super().__hash__()


def test_a_run_looks_at_each_pair_of_input_and_output_a_fixed_number_of_times() -> None:
    """The lineage omits a column of each output, so each output may be made from everything that the run reads."""
    few, many = hashed_names_of(20), hashed_names_of(80)
    assert many / few / (80 / 20) ** 2 < SLACK


def hashed_names_of(count: int) -> int:
    """Return how often the rules hash a name while they derive a run with `count` inputs and outputs."""
    lineage = facet(fields={"x": {"inputFields": [source(lake("in0"), "x")]}})
    written = [dataset(lake(f"o{number}"), schema=schema(["x", "y"]), columnLineage=lineage) for number in range(count)]
    read = [dataset(lake(f"in{number}")) for number in range(count)]
    contents, naming = FacetContentsInMemory(), NameResolver()
    reader = FactsReader(lambda namespace, name: Name(namespace, CountedText(name)), contents)
    fact = reader.read_event("id", 1, json.dumps(run(1, 1, *written, reads=read)))
    merged = merge_run([fact], naming)
    rules = EdgeRules(contents, naming, lambda _, column: column, lambda _, __: None)
    CountedText.hashed = 0
    found = derive_output_lineages(merged, rules)
    assert [len(each.other_inputs) for each in found] == [count - 1] * count
    return CountedText.hashed


@pytest.mark.timeout(60)
def test_a_name_of_a_million_characters_is_found_by_its_last_part(tmp_path: Path) -> None:
    """A pattern that searches for the last part from every character on would take an hour."""
    long = ("s3://lake", "a" * 1_000_000 + "/mailing")
    path = written(tmp_path, [run(1, 0, x_from(A, long), job="b" * 1_000_000 + ".load")])
    searched = SearchFile(path)
    until_end(searched.sql)
    found, _ = searched.find_hits(["mailing"], ["dataset"])
    assert [(hit.dataset_or_job, hit.match) for hit in found] == [(Name(*long).shortened, "exact")]


def test_what_a_recurring_run_binds_again_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, [bound_again(number) for number in range(1, MANY)])
    sql = until_end(open_for_writing(path))
    naming = SqliteNaming(sql, NameNumbers(sql))
    written(tmp_path, [bound_again(MANY)], behind=MANY - 1)
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    sql.set_progress_handler(step, 1)
    naming.refresh()
    assert naming.bindings[Name(*ALIAS)][-1] == (MANY * SECOND + START_US, Name(*B))
    assert 0 < steps < MANY, "earlier bindings are read again"


def bound_again(number: int) -> Json:
    """Return the event of a new run whose output always has the same symlink."""
    return run(number, number, x_from(A, B, symlinks=symlinks(ALIAS)))


def written(folder: Path, events: Sequence[Json], behind: int = 0) -> Path:
    """Return the index file of events, indexed in one batch after `behind` other events."""
    path = folder / "index.sqlite"
    indexer = Indexer(path, default_rules())
    take(indexer, events, behind)
    indexer.close()
    return path


def take(indexer: Indexer, events: Sequence[Json], behind: int = 0) -> None:
    bodies = {number: json.dumps(event) for number, event in enumerate(events, behind + 1)}
    stored = [BronzeEvent(f"{number:064x}", number, number, None) for number in bodies]
    last = behind + len(stored)
    indexer.process_events(
        Source("local", "1", "0"), last, stored, lambda asked: {number: bodies[number] for number in asked}
    )


def work_of_indexing(folder: Path, events: Sequence[Json], batch: int | None = None) -> tuple[int, int]:
    """Return the number of SQLite steps (in hundreds) and of Python calls while events are indexed in batches."""
    bound = Counting(check_steps=100)
    indexer = until_end(Indexer(folder / "index.sqlite", default_rules(), bound))
    calls = 0

    def call(*_: object) -> None:
        nonlocal calls
        calls += 1

    sys.setprofile(call)
    try:
        for start in range(0, len(events), batch or len(events)):
            take(indexer, events[start : start + (batch or len(events))], start)
    finally:
        sys.setprofile(None)
    return bound.looks, calls
