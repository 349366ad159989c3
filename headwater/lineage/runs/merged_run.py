"""Rule 1: merge the facts of a run into one run. The order and repetition of the facts make no difference."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import attrgetter
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange
from headwater.lineage.names.name_resolution import MentionSource, NameResolver
from headwater.lineage.runs.airflow_assets import UseInEvent, without_replaced_assets
from headwater.lineage.runs.jobs import is_ctas_statement, job_key
from headwater.lineage.runs.run_facts import (
    DELETED,
    NO_COLUMN_LINEAGE,
    DatasetUse,
    EventContent,
    RunFacts,
    split_attempts,
    terminal_event,
)

DeclaredFacet = tuple[str, int]
"""A lineage facet: (content hash, time in us of the event with the facet)."""


class ScriptDataset(NamedTuple):
    """A dataset that the SQL of a run may use.

    is_input, is_output: whether the run lists the dataset as an input, and as an output.
    schema: the content hash of the columns that the run lists for the dataset; None without a list.
    names: all names that the events of the run use for the dataset, including symlinks, without namespaces.
    """

    dataset: Name
    is_input: bool
    is_output: bool
    schema: str | None
    names: tuple[str, ...]


class Script(NamedTuple):
    """The SQL of a run.

    sql: the content hash of the `sql` facet. producer: the producer of the run.
    datasets: the inputs and outputs of the run, which the SQL may use.
    """

    sql: str
    producer: str
    datasets: tuple[ScriptDataset, ...]


class RunDataset(Struct, gc=False):
    """A dataset of a run, merged from all its events.

    schema, lineage: the content hashes of the newest `schema` and `columnLineage` facet; None without a facet.
    lineage_us: the time of the event with the newest `columnLineage` facet in microseconds.
    declared_facets: the `lineage` facets of the dataset.
    lifecycle: the newest `lifecycleStateChange` of the dataset in upper case; None without one.
    rows_confirmed: whether the events prove that the run wrote rows of the dataset.
    version: the newest version of the dataset in the events; None without one.
    is_part: whether the run uses only a part of the dataset (`DatasetUse.is_part`).
    filter_columns: the columns by which the run selects rows of the dataset (rule 4.11).
    aliases: other names that the events of the run use for the dataset, including symlinks.
    replaced_lineage: the older `columnLineage` facets that newer events of the run replaced.
    metadata_columns: the columns of a metadata table that the run reads under the name of the dataset (rule 11.4).
    has_conflicts: whether events of the run report different schemas or `columnLineage` facets for the dataset.
    is_only_altered: whether each mention of the dataset reports the lifecycle change ALTER.
    is_asset: whether the dataset is an inlet or outlet of an Airflow task (rule 4.14).
    """

    name: Name
    schema: str | None = None
    lineage: str | None = None
    lineage_us: int = 0
    declared_facets: tuple[DeclaredFacet, ...] = ()
    lifecycle: str | None = None
    rows_confirmed: bool = False
    version: str | None = None
    is_part: bool = False
    filter_columns: tuple[str, ...] = ()
    aliases: frozenset[Name] = frozenset()
    replaced_lineage: tuple[DeclaredFacet, ...] = ()
    metadata_columns: frozenset[str] = frozenset()
    has_conflicts: bool = False
    is_only_altered: bool = True
    is_asset: bool = False

    @property
    def names(self) -> frozenset[Name]:
        """All names that the events of the run use for the dataset."""
        return self.aliases | {self.name.without_generation}


class Run(Struct):
    """A run or declaration, merged from all its events. Times are in microseconds since 1970-01-01 UTC.

    key: the key of the run or declaration. kind: RUN, JOB or DATASET.
    job: the canonical name of the job. job_key: the key of the job.
    execution: the key of the root run, else of the parent run, else of the run itself.
    parent: the key of the parent run; None without one.
    state: the type of the terminal event of the newest attempt, RUNNING without one, or DECLARED for a declaration.
    is_completed: whether some attempt of the run is COMPLETE.
    processing: BATCH, STREAMING or SERVICE.
    started_us, last_us: the times of the first and the last event of the run.
    ended_us: the end of the newest attempt; None if this attempt has not ended.
    time_us: the time of the run (rule 6.1). For a batch run, this is its end; for other runs, it is the time of the
    newest event with lineage.
    inputs, outputs: the datasets of the run, by name. If an attempt is COMPLETE, only events up to the end of the
    newest COMPLETE attempt count. The outputs do not contain the datasets that the run drops.
    declared_facets: all `lineage` facets of the run and the job in the same events.
    has_drops: whether the run drops a dataset.
    tie_breaker: a text that orders runs with the same time.
    script: the SQL of the run; None if the run has no SQL or if its lineage does not need the SQL.
    write_signs: the write signs in the events (`EventContent.write_signs`).
    has_failed: whether the newest COMPLETE attempt also has a FAIL event.
    sent_job: the name of the job in the newest event as sent; None if it is equal to `job`.
    name_forms: maps each name that means another dataset in the events to that dataset (rule 2.1).
    has_scripts: whether the events of the run give different SQL.
    """

    key: str
    kind: str
    job: Name
    job_key: Name
    execution: str
    parent: str | None
    state: str
    is_completed: bool
    processing: str
    started_us: int
    ended_us: int | None
    last_us: int
    time_us: int
    inputs: dict[Name, RunDataset]
    outputs: dict[Name, RunDataset]
    declared_facets: tuple[DeclaredFacet, ...]
    has_drops: bool
    producer: str
    tie_breaker: str
    script: Script | None = None
    write_signs: frozenset[str] = frozenset()
    has_failed: bool = False
    sent_job: Name | None = None
    name_forms: Mapping[Name, Name] = MappingProxyType({})
    has_scripts: bool = False

    @property
    def mention_source(self) -> MentionSource:
        """The run as the source of mentions, which name resolution needs for the names in its events."""
        return MentionSource(self.key, self.kind != "RUN", self.started_us, self.name_forms)

    @property
    def may_have_edges(self) -> bool:
        """Rule 1.12: whether the run may make edges. Batch runs make edges only if they are COMPLETE."""
        return self.kind != "RUN" or self.processing != "BATCH" or self.is_completed


ResolvedMention = tuple[Name, DatasetUse, int]
"""(dataset that the mention means, mention, time of the event with the mention in us)"""


def merge_run(facts: Iterable[RunFacts], naming: NameResolver) -> Run:
    """Merge the facts of one run into a `Run`.

    facts: at least one fact, in any order; repetitions make no difference.
    """
    ordered = order_deciding_facts(facts)
    newest, contents = ordered[-1], [fact.content for fact in ordered]
    processing = newest_value(contents, "processing") or "BATCH"
    counted = _select_counted_facts(ordered, processing)
    describing = _describing_facts(counted.facts, processing)
    end = counted.newest_end
    started_us = min(fact.time_us for fact in ordered)
    forms = {name: form for each in contents for name, form in each.name_forms}
    source = MentionSource(newest.run_key, newest.kind != "RUN", started_us, forms)
    may_write = _may_write(processing, newest.kind, is_completed=counted.completion is not None)
    output_mentions = list(_resolve_outputs(describing, source, naming, may_write=may_write))
    outputs = _merge_datasets(output_mentions)
    written = {name: dataset for name, dataset in outputs.items() if dataset.lifecycle != "DROP"}
    input_mentions = list(_resolve_inputs(describing, source, naming))
    if newest.kind == "RUN" and counted.completion is None:
        input_mentions += _resolve_renamed(describing, source, naming)
    inputs = _merge_datasets(input_mentions)
    return Run(
        key=newest.run_key,
        kind=newest.kind,
        job=newest.content.job,
        sent_job=newest.content.sent_job,
        job_key=job_key(newest.content.job, newest_value(contents, "artifact_id")),
        execution=newest_value(ordered, "execution") or newest.run_key,
        parent=newest_value(ordered, "parent"),
        state="DECLARED" if newest.kind != "RUN" else end.type if end else "RUNNING",
        is_completed=counted.completion is not None,
        processing=processing,
        started_us=started_us,
        ended_us=end.time_us if end else None,
        last_us=max(fact.time_us for fact in ordered),
        time_us=_run_time_us(ordered, processing, counted.completion or end),
        inputs=inputs,
        outputs=written,
        declared_facets=_declared_facets(describing),
        has_drops=len(written) < len(outputs),
        producer=newest.content.producer,
        script=_script_of_run(describing, [*input_mentions, *output_mentions], inputs, written),
        write_signs=frozenset(sign for fact in counted.facts for sign in fact.content.write_signs),
        has_failed=counted.has_failed,
        tie_breaker=newest.run_key if newest.kind == "RUN" else newest.event_id,
        name_forms=forms,
        has_scripts=len({fact.content.sql for fact in describing if fact.content.sql}) > 1,
    )


def later_attempts(facts: Iterable[RunFacts]) -> Sequence[RunFacts]:
    """Return the events of a batch run after its newest COMPLETE attempt; empty if no attempt is COMPLETE."""
    ordered, processing = _ordered_facts_and_processing(facts)
    counted = _select_counted_facts(ordered, processing)
    return ordered[len(counted.facts) :] if counted.completion else ()


class _CountedFacts(NamedTuple):
    """The events of a run that decide what the run reads and writes (rule 1.8).

    facts: these events, from oldest to newest.
    completion: the terminal event of the newest COMPLETE attempt; None if no attempt is COMPLETE.
    newest_end: the terminal event of the newest attempt; None if this attempt has not ended.
    has_failed: whether the newest COMPLETE attempt also has a FAIL event.
    """

    facts: Sequence[RunFacts]
    completion: RunFacts | None
    newest_end: RunFacts | None
    has_failed: bool = False


def _select_counted_facts(ordered: Sequence[RunFacts], processing: str) -> _CountedFacts:
    """Return the events of a run without the attempts after its newest COMPLETE attempt.

    These attempts do not change what the completed run wrote. If no attempt is COMPLETE, all events count.
    """
    is_batch = ordered[-1].kind == "RUN" and processing == "BATCH"
    attempts = split_attempts(ordered) if is_batch else [ordered]
    ends = [terminal_event(attempt) for attempt in attempts]
    for number, end in reversed([*enumerate(ends, 1)]):
        if end is not None and end.type == "COMPLETE":
            failed = any(fact.type == "FAIL" for fact in attempts[number - 1])
            return _CountedFacts([fact for attempt in attempts[:number] for fact in attempt], end, ends[-1], failed)
    return _CountedFacts(ordered, None, ends[-1])


def _script_of_run(
    ordered: Sequence[RunFacts],
    mentions: Iterable[ResolvedMention],
    inputs: Mapping[Name, RunDataset],
    outputs: Mapping[Name, RunDataset],
) -> Script | None:
    """Return the SQL of a run with the datasets that the SQL may use; None if the SQL is not needed.

    It is not needed if inlets or outlets count as datasets of the run, because these declare tables only (rule 4.14).

    mentions: the mentions of inputs and outputs in the events of the run.
    """
    sql = newest_value([fact.content for fact in ordered], "sql")
    content = ordered[-1].content
    if not sql or not outputs or content.kind != "RUN" or is_ctas_statement(content.job):
        return None
    if any(dataset.is_asset for dataset in (*inputs.values(), *outputs.values())):
        return None
    names: dict[Name, set[str]] = {}
    for name, use, _ in mentions:
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
                _schema_hash(name, outputs) or _schema_hash(name, inputs),
                tuple(sorted(called)),
            )
            for name, called in sorted(names.items())
            if name in inputs or name in outputs
        ),
    )


def _schema_hash(name: Name, datasets: Mapping[Name, RunDataset]) -> str | None:
    return datasets[name].schema if name in datasets else None


def changes_as_sent(facts: Iterable[RunFacts]) -> list[DatasetChange]:
    """Return the drops and renames of a run with names as sent, the oldest first; empty unless the run is COMPLETE."""
    found: list[tuple[Any, DatasetChange]] = []
    counted = _select_counted_facts(*_ordered_facts_and_processing(facts))
    for fact in counted.facts if counted.completion else ():
        for each in fact.outputs if fact.kind == "RUN" else ():
            if each.lifecycle == "DROP":
                found.append((fact.order, DatasetChange(fact.time_us, each.name, None)))
            elif each.lifecycle == "RENAME" and each.previous_name:
                found.append((fact.order, DatasetChange(fact.time_us, each.previous_name, each.name)))
    return [change for _, change in sorted(found, key=lambda each: each[0])]


def writes_as_sent(facts: Iterable[RunFacts]) -> Iterator[tuple[int, Name]]:
    """Yield (time in us, name as sent) for each output of a run that the run does not finally drop or rename.

    Runs and attempts that did not complete count as well, because they may have written their outputs.
    """
    ordered, processing = _ordered_facts_and_processing(facts)
    if ordered[-1].kind == "RUN":
        counted = _select_counted_facts(ordered, processing)
        yield from _attempt_writes(counted.facts, processing, completed=counted.completion is not None)
        yield from _attempt_writes(ordered[len(counted.facts) :], processing, completed=False)


def _attempt_writes(facts: Sequence[RunFacts], processing: str, *, completed: bool) -> Iterator[tuple[int, Name]]:
    reports = ((each.name, each.lifecycle) for _, each in _counted_outputs(facts))
    dropped = _dropped_outputs(reports, may_write=_may_write(processing, "RUN", is_completed=completed))
    describing = _describing_facts(facts, processing) if facts else ()
    for fact, each in _counted_outputs(describing):
        renames = completed and each.lifecycle == "RENAME" and each.previous_name
        if each.name not in dropped and not renames:
            yield fact.time_us, each.name
    for fact in describing:
        yield from ((fact.time_us, name) for name in fact.content.declared_targets)


def _ordered_facts_and_processing(facts: Iterable[RunFacts]) -> tuple[list[RunFacts], str]:
    """Return (facts of a run from oldest to newest, processing type of the run)."""
    ordered = order_deciding_facts(facts)
    return ordered, newest_value([fact.content for fact in ordered], "processing") or "BATCH"


def order_deciding_facts(facts: Iterable[RunFacts]) -> list[RunFacts]:
    """Return the facts of one run or declaration that count, each once, the newest last.

    All events of a run count. Of several JobEvents, only the newest counts. Several DatasetEvents become one fact with
    the newest value of each facet (rule 6.5).
    """
    ordered = sorted({fact.event_id: fact for fact in facts}.values(), key=attrgetter("order"))
    if ordered[-1].kind == "DATASET":
        return [_merge_dataset_events(ordered)]
    return ordered if ordered[-1].kind == "RUN" else ordered[-1:]  # the newest JobEvent replaces all older JobEvents


def _merge_dataset_events(ordered: Sequence[RunFacts]) -> RunFacts:
    """Return the newest of several DatasetEvents, with the newest schema and the newest lineage facet of each kind."""
    newest, uses = ordered[-1], [use for fact in ordered for use in fact.content.outputs]
    if len(ordered) == 1 or not newest.content.outputs:
        return newest
    schema, lineage, declared_facet = (
        next((value for use in reversed(uses) if (value := getattr(use, name)) is not None), None)
        for name in ("schema", "lineage", "declared_facet")
    )
    use = replace(newest.content.outputs[0], schema=schema, lineage=lineage, declared_facet=declared_facet)
    return replace(newest, content=replace(newest.content, outputs=(use,)))


def _describing_facts(ordered: Sequence[RunFacts], processing: str) -> Sequence[RunFacts]:
    """Return the events that describe what a run reads and writes (rule 1.11).

    If a streaming or service run sends complete snapshots, this is one event; otherwise these are all events.
    """
    return (
        _snapshot_event(ordered)
        if processing != "BATCH" and any(fact.content.is_snapshot for fact in ordered)
        else ordered
    )


def newest_value(ordered: Sequence[RunFacts] | Sequence[EventContent], name: str) -> str | None:
    """Return the newest value of a field that is not None; None without one. name: the name of the field."""
    return next((value for each in reversed(ordered) if (value := getattr(each, name)) is not None), None)


def _has_lineage(fact: RunFacts) -> bool:
    return any(content_hash != DELETED for _, content_hash in fact.content.declared_facets) or any(
        use.declared_facet or use.lineage not in NO_COLUMN_LINEAGE for use in fact.outputs
    )


def _snapshot_event(ordered: Sequence[RunFacts]) -> Sequence[RunFacts]:
    """Return the event that describes a run with complete snapshots, as a sequence of one item (rule 1.11).

    It is the newest event with lineage, else the newest with inputs and outputs, else the newest with inputs or
    outputs, else the newest event.
    """
    whole, part = (lambda fact: bool(fact.inputs and fact.outputs)), (lambda fact: bool(fact.inputs or fact.outputs))
    for is_described in (_has_lineage, whole, part):
        found = [fact for fact in ordered if is_described(fact)]
        if found:
            return found[-1:]
    return ordered[-1:]


def _run_time_us(ordered: Sequence[RunFacts], processing: str, end: RunFacts | None) -> int:
    if ordered[-1].kind != "RUN" and not ordered[-1].order.credible:
        return 0
    if processing == "BATCH":
        return (end or ordered[-1]).time_us
    return _snapshot_event(ordered)[-1].time_us


def _declared_facets(ordered: Sequence[RunFacts]) -> tuple[DeclaredFacet, ...]:
    found: dict[str, tuple[DeclaredFacet, ...]] = {}
    for fact in ordered:
        for entity, content_hash in fact.content.declared_facets:
            found[entity] = _add_declared_facet(found.get(entity, ()), content_hash, fact.time_us)
    return tuple(declared for of_entity in found.values() for declared in of_entity)


def _add_declared_facet(
    facets: tuple[DeclaredFacet, ...], content_hash: str, time_us: int
) -> tuple[DeclaredFacet, ...]:
    """Return the `lineage` facets of one entity with a newer facet added. If this facet is a deletion, none remain."""
    if content_hash == DELETED:
        return ()
    return facets if (content_hash, time_us) in facets else (*facets, (content_hash, time_us))


def _resolve_inputs(
    ordered: Sequence[RunFacts], source: MentionSource, naming: NameResolver
) -> Iterator[ResolvedMention]:
    uses = [(fact, each) for fact in ordered for each in fact.inputs]
    for fact, each in without_replaced_assets(uses):
        yield naming.resolve_input(source, each.name, fact.time_us), each, fact.time_us


def _resolve_renamed(
    ordered: Sequence[RunFacts], source: MentionSource, naming: NameResolver
) -> Iterator[ResolvedMention]:
    """Yield the previous names in the RENAMEs of a run that did not complete, as inputs (rule 10.4)."""
    for fact, each in _counted_outputs(ordered):
        if each.lifecycle == "RENAME" and each.previous_name:
            yield (
                naming.resolve_input(source, each.previous_name, fact.time_us),
                DatasetUse(each.previous_name),
                fact.time_us,
            )


def _counted_outputs(facts: Sequence[RunFacts]) -> Sequence[UseInEvent]:
    return without_replaced_assets([(fact, each) for fact in facts for each in fact.outputs])


def _resolve_outputs(
    ordered: Sequence[RunFacts], source: MentionSource, naming: NameResolver, *, may_write: bool = False
) -> Iterator[ResolvedMention]:
    """Yield the mentions of outputs with the datasets that they mean.

    If the last report of an output is DROP, all mentions of this output mean the dropped generation.
    may_write: whether the run did not complete. If so, a DROP counts only if all reports of the output are DROP.
    """
    uses = [
        (naming.location_at(each.name, fact.time_us), each, fact.time_us) for fact, each in _counted_outputs(ordered)
    ]
    dropped = _dropped_outputs(((location, each.lifecycle) for location, each, _ in uses), may_write=may_write)
    for location, each, time_us in uses:
        is_written = may_write and location not in dropped and each.lifecycle == "DROP"
        use = replace(each, lifecycle=None) if is_written else each
        lifecycle = "DROP" if location in dropped else use.lifecycle
        yield naming.resolve_output(source, each.name, time_us, lifecycle), use, time_us


def _may_write(processing: str, kind: str, *, is_completed: bool) -> bool:
    """Tell whether a run is a batch run that did not complete. It may have written outputs before it dropped them."""
    return kind == "RUN" and processing == "BATCH" and not is_completed


def _dropped_outputs(reports: Iterable[tuple[Name, str | None]], *, may_write: bool) -> Set[Name]:
    """Return the outputs that a run finally drops: the last report with a lifecycle is DROP.

    reports: (output, lifecycle) of each mention, from oldest to newest.
    may_write: whether the run did not complete. If so, all reports of a dropped output must be DROP.
    """
    lifecycles = list(reports)
    last = {name: lifecycle for name, lifecycle in lifecycles if lifecycle}
    others = {name for name, lifecycle in lifecycles if lifecycle != "DROP"} if may_write else set()
    return {name for name, lifecycle in last.items() if lifecycle == "DROP"} - others


def _merge_datasets(mentions: Iterable[ResolvedMention]) -> dict[Name, RunDataset]:
    found: dict[Name, RunDataset] = {}
    for name, use, time_us in mentions:
        dataset = found.get(name) or found.setdefault(name, RunDataset(name))
        _merge_mention(dataset, use, time_us)
    for dataset in found.values():
        dataset.schema = None if dataset.schema == DELETED else dataset.schema
        dataset.lineage = None if dataset.lineage == DELETED else dataset.lineage
    return found


def _merge_mention(dataset: RunDataset, use: DatasetUse, time_us: int) -> None:
    """Update a dataset by a newer mention of the dataset, so that the newest value of each facet counts."""
    if use.schema is not None:
        dataset.has_conflicts = dataset.has_conflicts or bool(dataset.schema and dataset.schema != use.schema)
        dataset.schema = use.schema
    if use.lineage is not None:
        if dataset.lineage and dataset.lineage != use.lineage:  # false for None and for `DELETED`, which is empty
            dataset.has_conflicts = True
            dataset.replaced_lineage = (*dataset.replaced_lineage, (dataset.lineage, dataset.lineage_us))
        dataset.lineage, dataset.lineage_us = use.lineage, time_us
    if use.declared_facet is not None:
        dataset.declared_facets = _add_declared_facet(dataset.declared_facets, use.declared_facet, time_us)
    dataset.lifecycle = use.lifecycle or dataset.lifecycle
    dataset.is_only_altered = dataset.is_only_altered and use.lifecycle == "ALTER"
    dataset.version = use.version or dataset.version
    dataset.rows_confirmed = dataset.rows_confirmed or use.rows_confirmed
    if use.symlinks or use.name != dataset.name:
        dataset.aliases |= {use.name, *(link.name for link in use.symlinks)}
    dataset.is_part = dataset.is_part or use.is_part
    dataset.is_asset = dataset.is_asset or use.is_asset
    if use.metadata_columns:
        dataset.metadata_columns |= {*use.metadata_columns}
    if use.filter_columns:
        dataset.filter_columns = tuple(sorted({*dataset.filter_columns, *use.filter_columns}))
