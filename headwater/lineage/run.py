"""Rule 1: the parts of a run, in any order and number, as one run."""

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from headwater.lineage.jobs import job_key
from headwater.lineage.name import Name
from headwater.lineage.naming import end_of
from headwater.lineage.part import DELETED, NO_COLUMN_LINEAGE, Mention, Part

Resolve = Callable[[Name, int], Name]

Declared = tuple[str, int]
"""A `lineage` facet: its content hash, the time of its event."""


class RunDataset(Struct, gc=False):
    """A dataset as a whole run mentions it; `lineage_us` is the time of the event that its lineage came with."""

    name: Name
    schema: str | None = None
    lineage: str | None = None
    lineage_us: int = 0
    declared: tuple[Declared, ...] = ()
    lifecycle: str | None = None
    landed: bool = False
    version: str | None = None


class Run(Struct):
    """A run as its events say together.

    time_us: what it is ordered by: its end, or its newest event with lineage where it has no end to wait for.
    declared: (hash, time) of the `lineage` facets of run and job, all that ever came.
    newest: what orders runs of equal time.
    """

    key: str
    kind: str
    job: Name
    job_key: Name
    execution: str
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    time_us: int
    inputs: dict[Name, RunDataset]
    outputs: dict[Name, RunDataset]
    declared: tuple[Declared, ...]
    producer: str
    newest: str

    @property
    def makes_edges(self) -> bool:
        """Rule 6: batch runs once they are COMPLETE, others from their first event on; declarations always."""
        return self.kind != "RUN" or self.processing != "BATCH" or self.state == "COMPLETE"


def fold(parts: Iterable[Part], resolve: Resolve) -> Run:
    """Merge the parts of one run, at least one; the order and repetition of parts make no difference."""
    ordered = sorted({part.event_id: part for part in parts}.values(), key=lambda part: part.order)
    newest = ordered[-1]
    if newest.kind != "RUN":
        ordered = [newest]  # a declaration replaces the one before
    processing = _newest(ordered, "processing") or "BATCH"
    speaking = _snapshot(ordered) if processing != "BATCH" and any(part.snapshot for part in ordered) else ordered
    end = end_of(ordered)
    return Run(
        key=newest.run_key,
        kind=newest.kind,
        job=newest.job,
        job_key=job_key(newest.job, _newest(ordered, "artifact")),
        execution=_newest(ordered, "execution") or newest.run_key,
        state="DECLARED" if newest.kind != "RUN" else end.type if end else "RUNNING",
        processing=processing,
        started_us=min(part.time_us for part in ordered),
        ended_us=end.time_us if end else None,
        time_us=_time(ordered, processing, end),
        inputs=_datasets(speaking, "inputs", resolve),
        outputs=_datasets(speaking, "outputs", resolve),
        declared=_declared(speaking),
        producer=newest.producer,
        newest=newest.run_key if newest.kind == "RUN" else newest.event_id,
    )


def _newest(ordered: Sequence[Part], name: str) -> str | None:
    return next((value for part in reversed(ordered) if (value := getattr(part, name)) is not None), None)


def _carries(part: Part) -> bool:
    return any(content_hash != DELETED for _, content_hash in part.declared) or any(
        mention.declared or mention.lineage not in NO_COLUMN_LINEAGE for mention in part.outputs
    )


def _snapshot(ordered: Sequence[Part]) -> Sequence[Part]:
    """Return the one event that says all: the newest with lineage, else with datasets."""
    for says in (_carries, lambda part: bool(part.inputs or part.outputs)):
        found = [part for part in ordered if says(part)]
        if found:
            return found[-1:]
    return ordered[-1:]


def _time(ordered: Sequence[Part], processing: str, end: Part | None) -> int:
    if processing == "BATCH":
        return (end or ordered[-1]).time_us
    return _snapshot(ordered)[-1].time_us


def _declared(ordered: Sequence[Part]) -> tuple[Declared, ...]:
    found: dict[str, tuple[Declared, ...]] = {}
    for part in ordered:
        for entity, content_hash in part.declared:
            found[entity] = _accumulated(found.get(entity, ()), content_hash, part.time_us)
    return tuple(declared for of_entity in found.values() for declared in of_entity)


def _accumulated(before: tuple[Declared, ...], content_hash: str, time_us: int) -> tuple[Declared, ...]:
    """Add up `lineage` facets of one entity; a deletion ends what was said before."""
    if content_hash == DELETED:
        return ()
    return before if (content_hash, time_us) in before else (*before, (content_hash, time_us))


def _datasets(ordered: Sequence[Part], side: str, resolve: Resolve) -> dict[Name, RunDataset]:
    found: dict[Name, RunDataset] = {}
    for part in ordered:
        for mention in getattr(part, side):
            name = resolve(mention.name, part.time_us)
            dataset = found.get(name) or found.setdefault(name, RunDataset(name))
            _add(dataset, mention, part.time_us)
    for dataset in found.values():
        dataset.schema = None if dataset.schema == DELETED else dataset.schema
        dataset.lineage = None if dataset.lineage == DELETED else dataset.lineage
    return found


def _add(dataset: RunDataset, mention: Mention, time_us: int) -> None:
    """Let a facet's newest value win; parts come in order."""
    if mention.schema is not None:
        dataset.schema = mention.schema
    if mention.lineage is not None:
        dataset.lineage, dataset.lineage_us = mention.lineage, time_us
    if mention.declared is not None:
        dataset.declared = _accumulated(dataset.declared, mention.declared, time_us)
    dataset.lifecycle = mention.lifecycle or dataset.lifecycle
    dataset.version = mention.version or dataset.version
    dataset.landed = dataset.landed or mention.landed
