"""Datasets and jobs that events have mentioned since a generation, so that cached lists update only these."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB
from headwater.index.stored.database import one_value
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import job_key

_ENTITIES = "SELECT kind, name FROM entities WHERE generation > ?"
_DATASETS = "SELECT name FROM datasets WHERE generation > ?"


class Touched(NamedTuple):
    """The numbers of dataset names, as sent, and of job keys."""

    datasets: set[int]
    jobs: set[int]


def touched_since(live: LiveGraph, generation: int) -> Touched | None:
    """Return what events after a generation mention, or None if names may mean other datasets since then.

    Tags and deletions through the API are not included: `LiveGraph.acted` is the generation of the newest of them.
    """
    if generation == live.generation:
        return Touched(set(), set())
    if not generation or live.moved > generation:
        return None
    found = Touched({name for (name,) in live.sql.execute(_DATASETS, (generation,))}, set())
    for kind, name in live.sql.execute(_ENTITIES, (generation,)):
        if kind in (DATASET, JOB):
            (found.jobs if kind == JOB else found.datasets).add(name)
    return found


def job_names(live: LiveGraph, keys: Iterable[int]) -> set[Name]:
    """Return some jobs' keys and all their former names, which differ from the key if it is an artifact id."""
    rows = live.sql.execute(
        "WITH these AS (SELECT value AS key FROM json_each(?1)) SELECT key FROM these UNION "
        "SELECT j.shown FROM jobs j JOIN these t ON t.key = j.key UNION "
        "SELECT r.job FROM these t JOIN jobs j ON j.key = t.key AND j.shown <> j.key JOIN runs r ON r.job_key = j.key",
        (one_value(keys),),
    )
    names = [live.names.name(number) for (number,) in rows]
    return {*names, *(job_key(name, None) for name in names)}
