"""What the index has heard of since a generation: all else is as it was, so that lists are brought up to date by it."""

from typing import NamedTuple

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.stored.catalog_tables import DATASET, JOB

_ENTITIES = "SELECT kind, name FROM entities WHERE generation > ?"
_DATASETS = "SELECT name FROM datasets WHERE generation > ?"


class Touched(NamedTuple):
    """Numbers of the names of datasets, as sent, and of the keys of jobs."""

    datasets: set[int]
    jobs: set[int]


def touched_since(live: LiveGraph, generation: int) -> Touched | None:
    """Return what an event behind a generation is about; None where names mean something else since.

    What somebody tagged or hid by hand is not among it: `LiveGraph.acted` says when that was.
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
