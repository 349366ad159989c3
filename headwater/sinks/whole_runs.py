"""What the lake knows of the runs of a batch beside the batch: for targets that take runs whole."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from headwater.events.position import Source
from headwater.lake.bronze_follower import StoredHead, heads_of_runs, stored_bodies
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_key
from headwater.sinks.sink_shape import Payload, SinkEvent, Target

BACK_US = 7 * 24 * 3600 * 1_000_000
"""How long before a batch its runs may have begun: what is older is not looked for."""
EACH = 100
"""Events of a run beside the batch: its first ones and its last ones, half of them each."""
MOST_BYTES = 16 << 20
"""Of bodies beside a batch; the oldest are left out first."""


def converted(bronze: Bronze, target: Target, events: Sequence[SinkEvent]) -> list[Payload]:
    """Convert events, behind all else that the lake has of their runs if the target takes runs whole."""
    return target.convert([*_beside(bronze, events), *events] if target.takes_runs else events)


def run_of(head: StoredHead) -> str | None:
    """Return what the events of one run share, None for what is of no run."""
    return run_key(head.run_id, Name(head.job_namespace or "", head.job_name or "")) if head.run_id else None


def _beside(bronze: Bronze, events: Sequence[SinkEvent]) -> list[SinkEvent]:
    runs = {event.head.run_id for event in events if event.head.run_id}
    keys = {run_of(event.head) for event in events}
    if not runs:
        return []
    since_us = min(event.head.received_us for event in events) - BACK_US
    there = {(event.source, event.head.sequence) for event in events}
    stored = heads_of_runs(bronze, runs, since_us)
    heads = _chosen(
        [(source, head) for source, head in stored if run_of(head) in keys and (source, head.sequence) not in there]
    )
    bodies = {source: stored_bodies(bronze, source, sequences) for source, sequences in _sequences(heads).items()}
    return [SinkEvent(source, head, bodies[source][head.sequence].encode()) for source, head in heads]


def _chosen(heads: Sequence[tuple[Source, StoredHead]]) -> list[tuple[Source, StoredHead]]:
    """Return what is read of each run, in the order of receipt."""
    by_run: dict[str | None, list[int]] = defaultdict(list)
    for place, (_, head) in enumerate(heads):
        by_run[run_of(head)].append(place)
    places = sorted({place for of_run in by_run.values() for place in _ends(of_run)}, reverse=True)
    return [heads[place] for place in reversed([*_within(heads, places)])]


def _ends(places: Sequence[int]) -> Sequence[int]:
    return places if len(places) <= EACH else [*places[: EACH // 2], *places[-EACH // 2 :]]


def _within(heads: Sequence[tuple[Source, StoredHead]], newest_first: Sequence[int]) -> Iterator[int]:
    left = MOST_BYTES
    for place in newest_first:
        left -= heads[place][1].size
        if left < 0:
            return
        yield place


def _sequences(heads: Collection[tuple[Source, StoredHead]]) -> dict[Source, list[int]]:
    found: dict[Source, list[int]] = defaultdict(list)
    for source, head in heads:
        found[source].append(head.sequence)
    return found
