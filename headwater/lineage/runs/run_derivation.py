"""Derive the lineage of one run from its facts. Runs that report the same again come from a cache."""

from collections.abc import Iterable, Mapping, Sequence, Set
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from headwater.lineage.edges.current_candidates import (
    ATTEMPTED,
    CARRIES,
    INFERRED,
    OPAQUE,
    SILENT,
    Candidate,
    JobOutput,
)
from headwater.lineage.edges.run_edges import (
    EdgeRules,
    OutputLineage,
    SchemaAt,
    attempted_output_lineages,
    output_lineages,
)
from headwater.lineage.edges.write_kinds import ADDS, Write, write_kind
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run, RunDataset, fold, in_order, later_attempts, newest_of
from headwater.lineage.runs.recurring_runs import RecurringCandidate, RunShape, ShapeMemo
from headwater.lineage.runs.run_facts import DatasetUse, RunFacts

Said = Mapping[JobOutput, Candidate[OutputLineage]]


class Derived(NamedTuple):
    """The result of deriving one run.

    used: names as sent, for datasets or in lineage facets.
    alike: the same object for runs that report the same about the same datasets, except for versions.
    schema_sources: datasets whose columns it takes from other runs. Another schema of one of them at its time may
    change the result.
    """

    run: Run
    lineage: Said
    used: Set[Name]
    alike: object
    schema_sources: Set[Name] = frozenset()


class RunDerivation:
    """Derives runs one at a time.

    shapes: its cache. Callers must remove entries whose names or columns have changed their meaning.
    """

    def __init__(self, rules: EdgeRules):
        self.shapes = ShapeMemo(rules.contents, rules.naming)
        self._schema_sources: set[Name] = set()
        self._rules = rules._replace(schema_at=partial(self._lent, rules.schema_at))

    def derive(self, facts: Sequence[RunFacts], nominal_us: int | None = None) -> Derived:
        """Derive a run from all its facts, at least one; nominal_us: its nominal time, or that of a run above it."""
        ordered = in_order(facts)
        key = self.shapes.key(ordered)
        shape = self.shapes.find(key)
        schema_sources: Set[Name] = frozenset()
        later: Said = {}
        if shape is not None:
            run = self._like(shape, ordered)
        else:
            self._schema_sources.clear()
            run = fold(facts, self._rules.naming)
            candidates = _recurring(run, self._rules)
            if events := later_attempts(facts):  # such a run is not cached
                attempt = fold(events, self._rules.naming)
                later = _said(attempt, _recurring(attempt, self._rules), nominal_us)
            shape = self.shapes.keep(key, facts, run, candidates, uses_schema_sources=bool(self._schema_sources))
            schema_sources = frozenset(self._schema_sources)
        return Derived(run, {**_said(run, shape.candidates, nominal_us), **later}, shape.used, shape, schema_sources)

    def _lent(self, schema_at: SchemaAt, dataset: Name, time_us: int) -> str | None:
        """Return the schema by the rules, and record its dataset as a source."""
        self._schema_sources.add(dataset)
        return schema_at(dataset, time_us)

    def _like(self, shape: RunShape, ordered: Sequence[RunFacts]) -> Run:
        """Return what `fold` returns for a batch run whose events have the same content as those of a cached run."""
        newest, times = ordered[-1], [fact.time_us for fact in ordered]
        end = ordered[shape.ended] if shape.ended >= 0 else None
        return replace(
            shape.run,
            key=newest.run_key,
            execution=newest_of(ordered, "execution") or newest.run_key,
            parent=newest_of(ordered, "parent"),
            started_us=min(times),
            ended_us=end and end.time_us,
            last_us=max(times),
            time_us=(end or newest).time_us,
            inputs=self._dated(shape.run.inputs, ((fact, each) for fact in ordered for each in fact.inputs)),
            outputs=self._dated(shape.run.outputs, ((fact, each) for fact in ordered for each in fact.outputs)),
            newest=newest.run_key,
        )

    def _dated(
        self, datasets: dict[Name, RunDataset], uses: Iterable[tuple[RunFacts, DatasetUse]]
    ) -> dict[Name, RunDataset]:
        """Set the versions of datasets and the times of their lineage."""
        told = [(fact, each) for fact, each in uses if each.lineage is not None or each.version]
        found = dict(datasets) if told else datasets
        for fact, each in told:
            name = self._rules.naming.resolve(each.name, fact.time_us)
            if dataset := found.get(name):
                at_us = dataset.lineage_us if each.lineage is None else fact.time_us
                found[name] = replace(dataset, version=each.version or dataset.version, lineage_us=at_us)
        return found


def job_output_of(run: Run, found: OutputLineage) -> JobOutput:
    """Return the job output of a run: with its job, or for a DatasetEvent with its producer."""
    if run.kind == "RUN":
        return JobOutput(ATTEMPTED if found.attempt else "observed", run.job_key, found.output)
    return JobOutput("declared", run.job_key if run.kind == "JOB" else Name("", run.producer), found.output)


def _recurring(run: Run, rules: EdgeRules) -> list[RecurringCandidate]:
    every = (*output_lineages(run, rules), *attempted_output_lineages(run, rules))
    return [recurring_candidate(run, found) for found in every]


def _said(run: Run, candidates: Iterable[RecurringCandidate], nominal_us: int | None) -> Said:
    return {candidate.job_output: _candidate(run, candidate, nominal_us) for candidate in candidates}


def recurring_candidate(run: Run, found: OutputLineage) -> RecurringCandidate:
    """Return what a run reports about one of its outputs, without the fields that differ from run to run."""
    return RecurringCandidate(
        job_output_of(run, found), weight_of(found), found.rows_confirmed, _write_kind(run, found), found
    )


def _write_kind(run: Run, found: OutputLineage) -> int:
    """Return one of `WRITE_KINDS`."""
    written = run.outputs.get(found.output) if found.output and run.completed else None
    if written is None:
        return ADDS
    alone = len(run.outputs) == 1
    return write_kind(
        Write(run.job.name, written.name, written.lifecycle, run.write_signs, written.is_part, alone, run.failed)
    )


def _candidate(run: Run, candidate: RecurringCandidate, nominal_us: int | None) -> Candidate[OutputLineage]:
    _, weight, rows_confirmed, rewrites, lineage = candidate
    return Candidate(
        run.time_us,
        run.newest,
        run.key,
        run.execution,
        run.started_us,
        run.last_us,
        weight,
        rows_confirmed,
        rewrites,
        run.time_us if nominal_us is None or run.kind != "RUN" else min(nominal_us, run.time_us),
        lineage,
    )


def weight_of(found: OutputLineage) -> int:
    """Return how much a run reports about an output; see `Candidate.weight`."""
    if found.attempt:
        return OPAQUE
    if found.carries:
        return INFERRED if found.inferred else CARRIES
    return OPAQUE if found.opaque or found.tables or found.also_read or found.jobs else SILENT
