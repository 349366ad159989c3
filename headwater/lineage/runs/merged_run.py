"""Rule 1: merge the facts of a run, in any order and number, into one run."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import Change
from headwater.lineage.names.name_resolution import MentionSource, NameResolver
from headwater.lineage.runs.job_identity import is_statement_half, job_key
from headwater.lineage.runs.run_facts import (
    DELETED,
    NO_COLUMN_LINEAGE,
    DatasetUse,
    EventContent,
    RunFacts,
    attempts_of,
    end_of,
)

Declared = tuple[str, int]
"""A `lineage` facet: (content hash, time of its event in us)."""


class ScriptDataset(NamedTuple):
    """A dataset of a run that has SQL.

    schema: hash of the columns that the run lists for it; names: all names that its events use for it, symlinks
    included.
    """

    dataset: Name
    is_input: bool
    is_output: bool
    schema: str | None
    names: tuple[str, ...]


class Script(NamedTuple):
    """The SQL of a run: the hash of its facet, the producer, and the datasets that it may use."""

    sql: str
    producer: str
    datasets: tuple[ScriptDataset, ...]


class RunDataset(Struct, gc=False):
    """A dataset of a run, merged from all its events.

    lineage_us: time of the event with its newest `columnLineage`.
    replaced: (hash, time) of older `columnLineage` that newer events of the run replaced.
    aliases: other names that the events of the run use for it, symlinks included.
    metadata: columns of metadata tables that the run reads under its name (rule 11.4).
    disagrees: events of the run report different lists or `columnLineage` for it.
    """

    name: Name
    schema: str | None = None
    lineage: str | None = None
    lineage_us: int = 0
    declared: tuple[Declared, ...] = ()
    lifecycle: str | None = None
    rows_confirmed: bool = False
    version: str | None = None
    is_part: bool = False
    filters: tuple[str, ...] = ()
    aliases: frozenset[Name] = frozenset()
    replaced: tuple[Declared, ...] = ()
    metadata: frozenset[str] = frozenset()
    disagrees: bool = False

    @property
    def names(self) -> frozenset[Name]:
        """All names that the events of the run use for it."""
        return self.aliases | {self.name.plain}


class Run(Struct):
    """A run, merged from all its events; times in microseconds since 1970-01-01 UTC.

    started_us, last_us: times of its first and its last event.
    state, ended_us: of its newest attempt; completed: some attempt of it is COMPLETE.
    time_us: the time of rule 6.1: its end, or its newest event with lineage if it is not a batch run.
    inputs, outputs, declared: by the events up to the end of its newest COMPLETE attempt, if there is one.
    outputs: without those that it drops; drops: it drops some.
    declared: (hash, time) of all `lineage` facets of run and job.
    newest: orders runs of equal time.
    script: its SQL, if an event leaves open where columns of an output come from.
    write_signs: what its events show of how it writes; failed: its newest COMPLETE attempt has a FAIL, too.
    job: canonical name; sent_job: name in its newest event, None if that is the same.
    forms: names that mean other datasets in its events (rule 2.1).
    has_scripts: its events give different SQL.
    """

    key: str
    kind: str
    job: Name
    job_key: Name
    execution: str
    parent: str | None
    state: str
    completed: bool
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
    script: Script | None = None
    write_signs: frozenset[str] = frozenset()
    failed: bool = False
    sent_job: Name | None = None
    forms: Mapping[Name, Name] = MappingProxyType({})
    has_scripts: bool = False

    @property
    def speaker(self) -> MentionSource:
        """The context in which the names in its events are resolved."""
        return MentionSource(self.key, self.kind != "RUN", self.started_us, self.forms)

    @property
    def makes_edges(self) -> bool:
        """Rule 1.12: batch runs make edges once they are COMPLETE; other runs and declarations always do."""
        return self.kind != "RUN" or self.processing != "BATCH" or self.completed


def fold(facts: Iterable[RunFacts], naming: NameResolver) -> Run:
    """Merge the facts of one run, at least one. Their order and repetition make no difference."""
    ordered = in_order(facts)
    newest, said = ordered[-1], [fact.content for fact in ordered]
    processing = newest_of(said, "processing") or "BATCH"
    counted = _counted(ordered, processing)
    speaking = _speaking(counted.facts, processing)
    end = counted.end
    started_us = min(fact.time_us for fact in ordered)
    forms = {name: form for each in said for name, form in each.forms}
    who = MentionSource(newest.run_key, newest.kind != "RUN", started_us, forms)
    outputs = _datasets(_outputs(speaking, who, naming))
    written = {name: dataset for name, dataset in outputs.items() if dataset.lifecycle != "DROP"}
    inputs = _datasets(_inputs(speaking, who, naming))
    return Run(
        key=newest.run_key,
        kind=newest.kind,
        job=newest.content.job,
        sent_job=newest.content.sent_job,
        job_key=job_key(newest.content.job, newest_of(said, "artifact")),
        execution=newest_of(ordered, "execution") or newest.run_key,
        parent=newest_of(ordered, "parent"),
        state="DECLARED" if newest.kind != "RUN" else end.type if end else "RUNNING",
        completed=counted.completed is not None,
        processing=processing,
        started_us=started_us,
        ended_us=end.time_us if end else None,
        last_us=max(fact.time_us for fact in ordered),
        time_us=_time(ordered, processing, counted.completed or end),
        inputs=inputs,
        outputs=written,
        declared=_declared(speaking),
        drops=len(written) < len(outputs),
        producer=newest.content.producer,
        script=_script(speaking, who, naming, inputs, written),
        write_signs=frozenset(sign for fact in counted.facts for sign in fact.content.write_signs),
        failed=counted.failed,
        newest=newest.run_key if newest.kind == "RUN" else newest.event_id,
        forms=forms,
        has_scripts=len({fact.content.sql for fact in speaking if fact.content.sql}) > 1,
    )


def later_attempts(facts: Iterable[RunFacts]) -> Sequence[RunFacts]:
    """Return the events of a batch run after its newest COMPLETE attempt; empty if no attempt is COMPLETE."""
    ordered, processing = _ordered(facts)
    counted = _counted(ordered, processing)
    return ordered[len(counted.facts) :] if counted.completed else ()


class _Counted(NamedTuple):
    """The events of a run that decide what it reads and writes (rule 1.8).

    completed: the end of its newest COMPLETE attempt; failed: that attempt has a FAIL, too.
    end: the end of its newest attempt.
    """

    facts: Sequence[RunFacts]
    completed: RunFacts | None
    end: RunFacts | None
    failed: bool = False


def _counted(ordered: Sequence[RunFacts], processing: str) -> _Counted:
    """Leave out the attempts of a batch run after its newest COMPLETE one, which take nothing back."""
    is_batch = ordered[-1].kind == "RUN" and processing == "BATCH"
    attempts = attempts_of(ordered) if is_batch else [ordered]
    ends = [end_of(attempt) for attempt in attempts]
    for number, end in reversed([*enumerate(ends, 1)]):
        if end is not None and end.type == "COMPLETE":
            failed = any(fact.type == "FAIL" for fact in attempts[number - 1])
            return _Counted([fact for attempt in attempts[:number] for fact in attempt], end, ends[-1], failed)
    return _Counted(ordered, None, ends[-1])


def _script(
    ordered: Sequence[RunFacts],
    who: MentionSource,
    naming: NameResolver,
    inputs: Mapping[Name, RunDataset],
    outputs: Mapping[Name, RunDataset],
) -> Script | None:
    """Return the SQL of a run, with the datasets that it may use and their names in the events."""
    sql = newest_of([fact.content for fact in ordered], "sql")
    content = ordered[-1].content
    if not sql or not outputs or content.kind != "RUN" or is_statement_half(content.job):
        return None
    names: dict[Name, set[str]] = {}
    for name, use, _ in (*_inputs(ordered, who, naming), *_outputs(ordered, who, naming)):
        called = (name.name, use.name.name, *(link.name.name for link in use.symlinks))
        names.setdefault(name, set()).update(called)
    return Script(
        sql,
        content.producer,
        tuple(
            ScriptDataset(
                name,
                name in inputs,
                name in outputs,
                _schema(name, outputs) or _schema(name, inputs),
                tuple(sorted(called)),
            )
            for name, called in sorted(names.items())
            if name in inputs or name in outputs
        ),
    )


def _schema(name: Name, datasets: Mapping[Name, RunDataset]) -> str | None:
    return datasets[name].schema if name in datasets else None


def sent_changes(facts: Iterable[RunFacts]) -> list[Change]:
    """Return what a run drops and renames, by names as sent, oldest first; empty unless it is COMPLETE."""
    found: list[tuple[Any, Change]] = []
    counted = _counted(*_ordered(facts))
    for fact in counted.facts if counted.completed else ():
        for each in fact.outputs if fact.kind == "RUN" else ():
            if each.lifecycle == "DROP":
                found.append((fact.order, Change(fact.time_us, each.name, None)))
            elif each.lifecycle == "RENAME" and each.previous:
                found.append((fact.order, Change(fact.time_us, each.previous, each.name)))
    return [change for _, change in sorted(found, key=lambda each: each[0])]


def sent_writes(facts: Iterable[RunFacts]) -> Iterator[tuple[int, Name]]:
    """Yield (time, name as sent) of the outputs of a run, without those that it finally drops, or renames.

    A run or attempt that did not complete counts as well, because it may have written them.
    """
    ordered, processing = _ordered(facts)
    if ordered[-1].kind == "RUN":
        counted = _counted(ordered, processing)
        yield from _sent_writes(counted.facts, processing, completed=counted.completed is not None)
        yield from _sent_writes(ordered[len(counted.facts) :], processing, completed=False)


def _sent_writes(facts: Sequence[RunFacts], processing: str, *, completed: bool) -> Iterator[tuple[int, Name]]:
    lifecycles = {each.name: each.lifecycle for fact in facts for each in fact.outputs if each.lifecycle}
    for fact in _speaking(facts, processing) if facts else ():
        for each in fact.outputs:
            renames = completed and each.lifecycle == "RENAME" and each.previous
            if lifecycles.get(each.name) != "DROP" and not renames:
                yield fact.time_us, each.name
        yield from ((fact.time_us, name) for name in fact.content.leads_to)


def _ordered(facts: Iterable[RunFacts]) -> tuple[list[RunFacts], str]:
    """Return the facts of a run in order, and its processing type."""
    ordered = in_order(facts)
    return ordered, newest_of([fact.content for fact in ordered], "processing") or "BATCH"


def in_order(facts: Iterable[RunFacts]) -> list[RunFacts]:
    """Return the deciding facts of one run, each once, the newest last.

    All events of a run count, the newest JobEvent, and the newest value of each facet of DatasetEvents (rule 6.5).
    """
    ordered = sorted({fact.event_id: fact for fact in facts}.values(), key=attrgetter("order"))
    if ordered[-1].kind == "DATASET":
        return [_with_facets(ordered)]
    return ordered if ordered[-1].kind == "RUN" else ordered[-1:]  # the newest JobEvent replaces all older ones


def _with_facets(ordered: Sequence[RunFacts]) -> RunFacts:
    """Return the newest of several DatasetEvents, with the newest value of each facet that lineage uses."""
    newest, uses = ordered[-1], [use for fact in ordered for use in fact.content.outputs]
    if len(ordered) == 1 or not newest.content.outputs:
        return newest
    schema, lineage, declared = (
        next((value for use in reversed(uses) if (value := getattr(use, name)) is not None), None)
        for name in ("schema", "lineage", "declared")
    )
    use = replace(newest.content.outputs[0], schema=schema, lineage=lineage, declared=declared)
    return replace(newest, content=replace(newest.content, outputs=(use,)))


def _speaking(ordered: Sequence[RunFacts], processing: str) -> Sequence[RunFacts]:
    """Return the events that describe what a run reads and writes (rule 1.11)."""
    return _snapshot(ordered) if processing != "BATCH" and any(fact.content.snapshot for fact in ordered) else ordered


def newest_of(ordered: Sequence[RunFacts] | Sequence[EventContent], name: str) -> str | None:
    """Return the newest value of a field that is not None."""
    return next((value for each in reversed(ordered) if (value := getattr(each, name)) is not None), None)


def _carries(fact: RunFacts) -> bool:
    return any(content_hash != DELETED for _, content_hash in fact.content.declared) or any(
        use.declared or use.lineage not in NO_COLUMN_LINEAGE for use in fact.outputs
    )


def _snapshot(ordered: Sequence[RunFacts]) -> Sequence[RunFacts]:
    """Return the one event that describes a run with complete snapshots (rule 1.11).

    It is the newest event with lineage, else with inputs and outputs, else with either.
    """
    whole, part = (lambda fact: bool(fact.inputs and fact.outputs)), (lambda fact: bool(fact.inputs or fact.outputs))
    for says in (_carries, whole, part):
        found = [fact for fact in ordered if says(fact)]
        if found:
            return found[-1:]
    return ordered[-1:]


def _time(ordered: Sequence[RunFacts], processing: str, end: RunFacts | None) -> int:
    if ordered[-1].kind != "RUN" and not ordered[-1].order.credible:
        return 0
    if processing == "BATCH":
        return (end or ordered[-1]).time_us
    return _snapshot(ordered)[-1].time_us


def _declared(ordered: Sequence[RunFacts]) -> tuple[Declared, ...]:
    found: dict[str, tuple[Declared, ...]] = {}
    for fact in ordered:
        for entity, content_hash in fact.content.declared:
            found[entity] = _accumulated(found.get(entity, ()), content_hash, fact.time_us)
    return tuple(declared for of_entity in found.values() for declared in of_entity)


def _accumulated(before: tuple[Declared, ...], content_hash: str, time_us: int) -> tuple[Declared, ...]:
    """Add a `lineage` facet of one entity to those before it; a deletion removes them."""
    if content_hash == DELETED:
        return ()
    return before if (content_hash, time_us) in before else (*before, (content_hash, time_us))


NameMatches = tuple[Name, DatasetUse, int]
"""(dataset that a mention means, mention, time of its event in us)"""


def _inputs(ordered: Sequence[RunFacts], who: MentionSource, naming: NameResolver) -> Iterator[NameMatches]:
    for fact in ordered:
        for each in fact.inputs:
            yield naming.input(who, each.name, fact.time_us), each, fact.time_us


def _outputs(ordered: Sequence[RunFacts], who: MentionSource, naming: NameResolver) -> Iterator[NameMatches]:
    """Yield the outputs. If the last report of an output is DROP, all its mentions mean the dropped generation."""
    told = [(naming.bound(each.name, fact.time_us), each, fact.time_us) for fact in ordered for each in fact.outputs]
    lifecycles = {location: each.lifecycle for location, each, _ in told if each.lifecycle}
    for location, each, time_us in told:
        lifecycle = "DROP" if lifecycles.get(location) == "DROP" else each.lifecycle
        yield naming.output(who, each.name, time_us, lifecycle), each, time_us


def _datasets(meant: Iterable[NameMatches]) -> dict[Name, RunDataset]:
    found: dict[Name, RunDataset] = {}
    for name, use, time_us in meant:
        dataset = found.get(name) or found.setdefault(name, RunDataset(name))
        _add(dataset, use, time_us)
    for dataset in found.values():
        dataset.schema = None if dataset.schema == DELETED else dataset.schema
        dataset.lineage = None if dataset.lineage == DELETED else dataset.lineage
    return found


def _add(dataset: RunDataset, use: DatasetUse, time_us: int) -> None:
    """Update a dataset by a newer mention; the newest value of each facet counts."""
    if use.schema is not None:
        dataset.disagrees = dataset.disagrees or bool(dataset.schema and dataset.schema != use.schema)
        dataset.schema = use.schema
    if use.lineage is not None:
        if dataset.lineage and dataset.lineage != use.lineage:  # true for neither None nor `DELETED`, which is empty
            dataset.disagrees = True
            dataset.replaced = (*dataset.replaced, (dataset.lineage, dataset.lineage_us))
        dataset.lineage, dataset.lineage_us = use.lineage, time_us
    if use.declared is not None:
        dataset.declared = _accumulated(dataset.declared, use.declared, time_us)
    dataset.lifecycle = use.lifecycle or dataset.lifecycle
    dataset.version = use.version or dataset.version
    dataset.rows_confirmed = dataset.rows_confirmed or use.rows_confirmed
    if use.symlinks or use.name != dataset.name:
        dataset.aliases |= {use.name, *(link.name for link in use.symlinks)}
    dataset.is_part = dataset.is_part or use.is_part
    if use.metadata:
        dataset.metadata |= {*use.metadata}
    if use.filters:
        dataset.filters = tuple(sorted({*dataset.filters, *use.filters}))
