"""The work of the index is linear in an event: in the number of its outputs, and in the length of their names."""

import json
import sqlite3
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from headwater.events.position import Source
from headwater.index.reading.search_file import SearchFile
from headwater.index.stored.binding_table import SqliteNaming
from headwater.index.stored.candidate_table import CandidateTable
from headwater.index.stored.database import open_for_writing
from headwater.index.stored.edge_set_table import EdgeSetTable
from headwater.index.stored.name_numbers import NameNumbers
from headwater.index.stored.run_numbers import RunNumbers
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from tests.reference.small_events import ALIAS, SECOND, A, B, Named, run, x_from
from tests.reference.world_events import START_US, Json, symlinks
from tests.until_end import until_end

FEW, MANY = 200, 1600


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 4])
def test_votes_are_looked_up_in_steps_linear_in_the_outputs_of_an_event(tmp_path: Path, jobs: int) -> None:
    few, many = (
        steps_of_counting(
            written(tmp_path / str(count), [run_of(job, range(count)) for job in range(jobs)]), datasets(range(count))
        )
        for count in (FEW, MANY)
    )
    assert many < few * MANY / FEW * 1.5


@pytest.mark.slow
def test_votes_are_looked_up_in_steps_linear_in_the_jobs_that_write_one_dataset(tmp_path: Path) -> None:
    few, many = (
        steps_of_counting(
            written(tmp_path / str(count), [run_of(job, range(1)) for job in range(count)]), datasets(range(1))
        )
        for count in (FEW, MANY)
    )
    assert many < few * MANY / FEW * 1.5


@pytest.mark.timeout(60)
def test_a_name_of_a_million_characters_is_found_by_its_last_part(tmp_path: Path) -> None:
    """Where a pattern looks for the last part from every character on, this takes an hour."""
    long = ("s3://lake", "a" * 1_000_000 + "/mailing")
    path = written(tmp_path, [run(1, 0, x_from(A, long), job="b" * 1_000_000 + ".load")])
    searched = SearchFile(path)
    until_end(searched.sql)
    found, _ = searched.find(["mailing"], ["dataset"])
    assert [(hit.whole, hit.match) for hit in found] == [(Name(*long), "exact")]


@pytest.mark.slow
@pytest.mark.timeout(60)
def test_ten_thousand_symlinks_of_one_dataset_are_learnt_in_one_go(tmp_path: Path) -> None:
    """Where each name is looked up for each of the others, this takes minutes."""
    links = symlinks(*((ALIAS[0], f"db.t{number}") for number in range(20_000)))
    path = written(tmp_path, [run(1, 0, x_from(A, B, symlinks=links))])
    sql = open_for_writing(path)
    naming = SqliteNaming(sql, NameNumbers(sql))
    assert naming.bound(Name(ALIAS[0], "db.t19999"), 0) == Name(*B)
    assert len(naming.names_of(Name(*B))) == 20_001
    sql.close()


@pytest.mark.slow
def test_what_a_recurring_run_binds_again_is_read_once(tmp_path: Path) -> None:
    path = written(tmp_path, [bound_again(number) for number in range(1, MANY)])
    sql = open_for_writing(path)
    naming = SqliteNaming(sql, NameNumbers(sql))
    written(tmp_path, [bound_again(MANY)], before=MANY - 1)
    steps = counted_steps(sql, naming.refresh)
    assert naming.bindings[Name(*ALIAS)][-1] == (MANY * SECOND + START_US, Name(*B))
    assert steps < MANY, "those of before are read again"
    sql.close()


def bound_again(number: int) -> Json:
    """Return the event of a run of its own, whose output has the symlink that it always has."""
    return run(number, number, x_from(A, B, symlinks=symlinks(ALIAS)))


def run_of(job: int, outputs: Iterable[int]) -> Json:
    """Return the event of a job that writes all these datasets in one run."""
    return run(job + 1, job, *(x_from(A, each) for each in datasets(outputs)), job=f"job{job}")


def datasets(numbers: Iterable[int]) -> list[Named]:
    return [("s3://lake", f"out{number}") for number in numbers]


def written(folder: Path, events: list[Json], before: int = 0) -> Path:
    """Return the index file of events, indexed in one batch, behind so many of before."""
    path = folder / "index.sqlite"
    indexer = Indexer(path, default_rules())
    numbers = range(before + 1, before + len(events) + 1)
    stored = [BronzeEvent(f"{number:064x}", number, number, None) for number in numbers]
    indexer.add(
        Source("local", "1", "0"),
        numbers[-1],
        stored,
        lambda asked: {number: json.dumps(events[number - before - 1]) for number in asked},
    )
    indexer.close()
    return path


def steps_of_counting(path: Path, outputs: Iterable[Named]) -> int:
    """Return the steps of SQLite's machine while the candidates that can count are read of each output."""
    sql = open_for_writing(path)
    names = NameNumbers(sql)
    candidates = CandidateTable(sql, names, RunNumbers(sql), EdgeSetTable(sql, names))

    def count() -> None:
        for output in outputs:
            assert candidates.that_can_count(candidates.job_outputs_of([Name(*output)]))

    steps = counted_steps(sql, count)
    sql.close()
    return steps


def counted_steps(sql: sqlite3.Connection, work: Callable[[], None]) -> int:
    """Return the steps of SQLite's machine that some work takes."""
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    sql.set_progress_handler(step, 1)
    work()
    sql.set_progress_handler(None, 1)
    return steps
