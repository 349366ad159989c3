"""Rule 1: the parts of a run, in any order and number, as one run."""

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Any

from msgspec import Struct

from headwater.lineage.generations import Change
from headwater.lineage.jobs import job_key
from headwater.lineage.name import Name
from headwater.lineage.naming import Naming, Speaker
from headwater.lineage.part import DELETED, NO_COLUMN_LINEAGE, Mention, Part, Saying, end_of

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

    started_us, last_us: of its first and its last event.
    time_us: what it is ordered by: its end, or its newest event with lineage where it has no end to wait for.
    outputs: without those that it drops; drops: whether there are such.
    declared: (hash, time) of the `lineage` facets of run and job, all that ever came.
    newest: what orders runs of equal time.
    """

    key: str
    kind: str
    job: Name
    job_key: Name
    execution: str
    parent: str | None
    state: str
    processing: str
    started_us: int
    ended_us: int | None
    last_us: int
    time_us: int
    inputs: dict[Name, RunDataset]
    outputs: dict[Name, RunDataset]
    declared: tuple[Declared, ...]
    drops: bool
    producer: str
    newest: str

    @property
    def speaker(self) -> Speaker:
        """Whose mentions its own are."""
        return Speaker(self.key, self.kind != "RUN", self.started_us)

    @property
    def makes_edges(self) -> bool:
        """Rule 6: batch runs once they are COMPLETE, others from their first event on; declarations always."""
        return self.kind != "RUN" or self.processing != "BATCH" or self.state == "COMPLETE"


def fold(parts: Iterable[Part], naming: Naming) -> Run:
    """Merge the parts of one run, at least one; the order and repetition of parts make no difference."""
    ordered = in_order(parts)
    newest, said = ordered[-1], [part.saying for part in ordered]
    processing = newest_of(said, "processing") or "BATCH"
    speaking = _speaking(ordered, processing)
    end = end_of(ordered)
    started_us = min(part.time_us for part in ordered)
    who = Speaker(newest.run_key, newest.kind != "RUN", started_us)
    outputs = _datasets(_outputs(speaking, who, naming))
    written = {name: dataset for name, dataset in outputs.items() if dataset.lifecycle != "DROP"}
    return Run(
        key=newest.run_key,
        kind=newest.kind,
        job=newest.saying.job,
        job_key=job_key(newest.saying.job, newest_of(said, "artifact")),
        execution=newest_of(ordered, "execution") or newest.run_key,
        parent=newest_of(ordered, "parent"),
        state="DECLARED" if newest.kind != "RUN" else end.type if end else "RUNNING",
        processing=processing,
        started_us=started_us,
        ended_us=end.time_us if end else None,
        last_us=max(part.time_us for part in ordered),
        time_us=_time(ordered, processing, end),
        inputs=_datasets(_inputs(speaking, who, naming)),
        outputs=written,
        declared=_declared(speaking),
        drops=len(written) < len(outputs),
        producer=newest.saying.producer,
        newest=newest.run_key if newest.kind == "RUN" else newest.event_id,
    )


def sent_changes(parts: Iterable[Part]) -> list[Change]:
    """Return what a run drops and renames by the names as sent, oldest first; nothing unless it is COMPLETE."""
    found: list[tuple[Any, Change]] = []
    for part in parts:
        for each in part.outputs if part.kind == "RUN" else ():
            if each.lifecycle == "DROP":
                found.append((part.order, Change(part.time_us, each.name, None)))
            elif each.lifecycle == "RENAME" and each.previous:
                found.append((part.order, Change(part.time_us, each.previous, each.name)))
    end = end_of(parts) if found else None
    ordered = sorted(found, key=lambda each: each[0])
    return [change for _, change in ordered] if end and end.type == "COMPLETE" else []


def sent_writes(parts: Iterable[Part]) -> Iterator[tuple[int, Name]]:
    """Yield (time, name as sent) of the outputs of a run that counts, other than those it drops last, or renames."""
    ordered = in_order(parts)
    said = [part.saying for part in ordered]
    processing = newest_of(said, "processing") or "BATCH"
    end = end_of(ordered)
    complete = end is not None and end.type == "COMPLETE"
    if ordered[-1].kind == "RUN" and (processing != "BATCH" or complete):
        words = {each.name: each.lifecycle for part in ordered for each in part.outputs if each.lifecycle}
        for part in _speaking(ordered, processing):
            for each in part.outputs:
                renames = complete and each.lifecycle == "RENAME" and each.previous
                if words.get(each.name) != "DROP" and not renames:
                    yield part.time_us, each.name
            yield from ((part.time_us, name) for name in part.saying.leads_to)


def in_order(parts: Iterable[Part]) -> list[Part]:
    """Return what counts of the parts of one run, each once, the newest last."""
    ordered = sorted({part.event_id: part for part in parts}.values(), key=attrgetter("order"))
    return ordered if ordered[-1].kind == "RUN" else ordered[-1:]  # a declaration replaces the one before


def _speaking(ordered: Sequence[Part], processing: str) -> Sequence[Part]:
    """Return the events that say what a run reads and writes."""
    return _snapshot(ordered) if processing != "BATCH" and any(part.saying.snapshot for part in ordered) else ordered


def newest_of(ordered: Sequence[Part] | Sequence[Saying], name: str) -> str | None:
    """Return the newest value of a field that is not None."""
    return next((value for each in reversed(ordered) if (value := getattr(each, name)) is not None), None)


def _carries(part: Part) -> bool:
    return any(content_hash != DELETED for _, content_hash in part.saying.declared) or any(
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
    if ordered[-1].kind != "RUN" and not ordered[-1].order.credible:
        return 0
    if processing == "BATCH":
        return (end or ordered[-1]).time_us
    return _snapshot(ordered)[-1].time_us


def _declared(ordered: Sequence[Part]) -> tuple[Declared, ...]:
    found: dict[str, tuple[Declared, ...]] = {}
    for part in ordered:
        for entity, content_hash in part.saying.declared:
            found[entity] = _accumulated(found.get(entity, ()), content_hash, part.time_us)
    return tuple(declared for of_entity in found.values() for declared in of_entity)


def _accumulated(before: tuple[Declared, ...], content_hash: str, time_us: int) -> tuple[Declared, ...]:
    """Add up `lineage` facets of one entity; a deletion ends what was said before."""
    if content_hash == DELETED:
        return ()
    return before if (content_hash, time_us) in before else (*before, (content_hash, time_us))


Meant = tuple[Name, Mention, int]
"""The dataset that a mention means, and the time of its event (us)."""


def _inputs(ordered: Sequence[Part], who: Speaker, naming: Naming) -> Iterator[Meant]:
    for part in ordered:
        for each in part.inputs:
            yield naming.input(who, each.name, part.time_us), each, part.time_us


def _outputs(ordered: Sequence[Part], who: Speaker, naming: Naming) -> Iterator[Meant]:
    """Yield the outputs; whatever is said of what is dropped last is about what the DROP ends."""
    told = [(naming.bound(each.name, part.time_us), each, part.time_us) for part in ordered for each in part.outputs]
    words = {location: each.lifecycle for location, each, _ in told if each.lifecycle}
    for location, each, time_us in told:
        lifecycle = "DROP" if words.get(location) == "DROP" else each.lifecycle
        yield naming.output(who, each.name, time_us, lifecycle), each, time_us


def _datasets(meant: Iterable[Meant]) -> dict[Name, RunDataset]:
    found: dict[Name, RunDataset] = {}
    for name, mention, time_us in meant:
        dataset = found.get(name) or found.setdefault(name, RunDataset(name))
        _add(dataset, mention, time_us)
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
