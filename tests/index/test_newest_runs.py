"""The newest run of each job, updated batch by batch, is the newest of all its runs."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pytest

from headwater.events.position import Source
from headwater.index.stored.database import open_for_writing
from headwater.index.stored.numbers import RunNumbers
from headwater.index.stored.runs import NEWEST_RUN, NewestRunTable
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from tests.reference.small_events import STREAM, A, B, run, x_from
from tests.reference.world_events import Json, dataset
from tests.support.cleanup import until_end
from tests.support.few_of_many import few_of

RUNS = 300
_WRONG = f"SELECT key FROM jobs WHERE newest IS NOT ({NEWEST_RUN.format('jobs.key')})"
_STALE = "SELECT key FROM jobs WHERE state IS NOT (SELECT state FROM runs WHERE run = newest)"


@pytest.mark.parametrize("seed", few_of(range(100), 6))
def test_it_is_the_newest_of_all_after_every_batch(tmp_path: Path, seed: int) -> None:
    random = Random(seed)
    index = until_end(Indexer(tmp_path / "index.sqlite", default_rules()))
    sql = until_end(open_for_writing(tmp_path / "index.sqlite"))
    for batch in range(8):
        take(index, [some_event(random) for _ in range(3)], batch * 3)
        assert sql.execute(_WRONG).fetchall() == sql.execute(_STALE).fetchall() == []


def some_event(random: Random) -> Json:
    """Return an event of a few runs at three times, so that runs tie, change their job and appear older."""
    number, second, kind = random.randrange(6), random.randrange(3), random.choice(["START", "RUNNING", "COMPLETE"])
    written = random.choice([[], [dataset(B)], [x_from(A, B)]])
    of_job = STREAM if number < 3 else {}
    return run(number, second, *written, kind=kind, job=random.choice("xy"), job_facets=of_job)


def test_a_batch_looks_at_the_newest_alone_of_many_that_end_at_one_instant(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    index = Indexer(path, default_rules())
    take(index, [run(number, 0) for number in range(RUNS)])
    index.close()
    sql = until_end(open_for_writing(path))
    query = "SELECT job_key, k.key, time_us FROM runs r JOIN run_keys k ON k.id = r.run"
    job, key, time_us = sql.execute(query).fetchone()
    steps = 0

    def step() -> None:
        nonlocal steps
        steps += 1

    table = NewestRunTable(sql, RunNumbers(sql))
    sql.set_progress_handler(step, 1)
    table.add_run(job, key, time_us, previous=(0, 0))
    table.flush()
    assert 0 < steps < RUNS, "the runs of one time are sorted again"


def take(index: Indexer, events: Sequence[Json], behind: int = 0) -> None:
    bodies = {number: json.dumps(event) for number, event in enumerate(events, behind + 1)}
    stored = [BronzeEvent(f"{number:064x}", number, number, None) for number in bodies]
    index.process_events(
        Source("local", "1", "0"), behind + len(stored), stored, lambda asked: {n: bodies[n] for n in asked}
    )
