"""The parts of a run to what silver keeps of it: its state, the datasets it names, and what it says of each output."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from msgspec.structs import asdict
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.run_edges import EdgeRules, OutputLineage
from headwater.lineage.names.dataset_history import EVER_US
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Speaker, bindings_of
from headwater.lineage.rules.declared_writes import ReportedWrite, decided_kind
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.commit_proofs import CommitProofs
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.run_derivation import RunDerivation
from headwater.lineage.runs.run_facts import RunFacts
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.silver.candidate_rows import CANDIDATE, CandidateRow, row_of
from headwater.spark.silver.content_texts import TextContents, joined, lineage_of, refs_in
from headwater.spark.silver.known import Known
from headwater.spark.silver.texts import digest_of, proofs_of, read_facts, read_said, text_of
from headwater.tables import RUN_DATASETS, RUNS, ListOf, StructOf, Table, without

_USE = StructOf(without(RUN_DATASETS, "run_key", "batch", "rules_hash"))

DERIVED = Table(
    "derived",
    {
        **without(RUNS, "batch", "rules_hash"),
        "datasets": ListOf(_USE),
        "changes": ListOf(CANDIDATE),
        "missing": "string",
        "lenders": "string",
        "stored": "boolean",
        "spellings": ListOf(StructOf({"dataset_namespace": "string", "dataset_name": "string", "column": "string"})),
    },
)
"""changes: candidates that are new or other than before, and those that are `gone`.

missing: datasets whose schemas are needed first; lenders: all whose schemas of other runs are; stored: the run has a
row already; spellings: `sent_spellings` of the run's events, each once a task.
"""

GROUP = ("run_key", "parts", "contents", "said")
"""What is read of a run: rows of new events and its row of table `runs`."""

Mark = tuple[str, str, str]
"""Of a candidate the keys of its output and its execution, and a hash of all that it says."""

Now = Mapping[str, tuple[CandidateRow, Mark]]
"""What a run says now, by the keys of groups."""

_BUCKETS = 16
"""Runs are put into so many, each behind what its runs refer to: a task holds the contents of one at a time."""


def derive(rows: DataFrame, contents: DataFrame, known: Known, *, small: bool) -> DataFrame:
    """Return rows of `DERIVED`.

    rows: in the columns `GROUP`, and `above_us` with the nominal time of a run above, if one has it, and `proofs` with
    what commits prove about a run.
    contents: rows of `CONTENT`, all that these refer to.
    """
    if "above_us" not in rows.columns:
        rows = rows.withColumn("above_us", F.lit(None).cast("long"))
    if "proofs" not in rows.columns:
        rows = rows.withColumn("proofs", F.lit(None).cast("string"))
    rows = rows.withColumn("bucket", F.pmod(F.hash("run_key"), F.lit(1 if small else _BUCKETS)))
    held = refs_in(rows, "bucket").join(contents, "ref", "left").select("bucket", "ref", "value")
    every = held.unionByName(rows, allowMissingColumns=True).select(
        "bucket", "ref", "value", *GROUP, "above_us", "proofs"
    )
    every = every.coalesce(1) if small else every.repartition("bucket")
    return map_rows(every.sortWithinPartitions("bucket", "run_key"), Derive(known), DERIVED)


@dataclass(frozen=True)
class Derive:
    """The rules, applied to one run at a time."""

    known: Known

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Take (bucket, ref, value, *`GROUP`, above_us, proofs): of each bucket first its contents; yield `DERIVED`."""
        task = _Task(self.known)
        for (_, run_key), group in groupby(rows, key=itemgetter(0, 3)):
            if run_key is None:
                task.hold((ref, value) for _, ref, value, *_ in group)
            else:
                yield task.derive([tuple(row) for _, _, _, *row in group])


class _Task:
    """Derives the runs of a bucket; remembers what follows from what runs say again."""

    def __init__(self, known: Known):
        self._known = known
        self._contents = TextContents()
        self._missing: set[Name] = set()
        self._runs = RunDerivation(EdgeRules(self._contents, known.naming, known.key, known.schema_at(self._missing)))
        self._names: BoundedCache[str, Sequence[tuple[str, Name]]] = BoundedCache()
        self._spelt: set[tuple[Name, str]] = set()

    def hold(self, contents: Iterable[tuple[str, str | None]]) -> None:
        """Begin a bucket."""
        self._contents.forget()
        for name, columns in self._known.columns.items():
            self._contents.add_schema(name, columns)
        for ref, value in contents:
            self._contents.hold(ref, value)

    def derive(self, rows: Sequence[Row]) -> Row:
        """Take the rows of one run, in the columns `GROUP`, `above_us` and `proofs`; returns its row of `DERIVED`."""
        facts = {fact.event_id: fact for row in rows for fact in read_facts(row[1])}
        before = next((row[3] for row in rows if row[3] is not None), None)
        self._missing.clear()
        own_us = max((each.nominal_us for each in facts.values() if each.nominal_us is not None), default=None)
        nominal_us = rows[0][4] if own_us is None else own_us
        run, candidates, _, _, lenders = self._runs.derive([*facts.values()], nominal_us)
        ordered = sorted(facts.values(), key=lambda fact: fact.order)
        proofs = proofs_of(rows[0][5])
        found = (row_of(by, self._as_decided(run, by, each, proofs), run.parent) for by, each in candidates.items())
        now = {row.group_key: (row, _mark(row)) for row in found}
        known: dict[str, Mark] = {told[0]: told[1:] for told in (read_said(before) if before else ())}
        return (
            *_run_row(run, ordered),
            own_us,
            text_of([(key, *mark) for key, (_, mark) in now.items()]),
            text_of(ordered),
            joined({ref for row in rows for ref in row[2].split()}),
            list(self._uses(run, ordered)),
            [*_changed(now, known), *_gone(run, now, known)],
            text_of(sorted(self._missing)) if self._missing else None,
            text_of(sorted(lenders)) if lenders else None,
            before is not None,
            list(self._spellings(ordered)),
        )

    def _as_decided(
        self, run: Run, job_output: JobOutput, candidate: Candidate[OutputLineage], proofs: CommitProofs
    ) -> Candidate[OutputLineage]:
        """Return a candidate whose write is of the kind that users declare, or commits prove."""
        output, is_whole = job_output.output, None
        if proofs and output is not None:
            is_whole = proofs.is_whole(run.key, self._known.naming.names_of(output.plain))
        write = ReportedWrite(run.producer, run.key, candidate.rewrites, is_whole)
        kind = decided_kind(self._known.rules, job_output, write)
        return candidate if kind == candidate.rewrites else candidate._replace(rewrites=kind)

    def _spellings(self, facts: Sequence[RunFacts]) -> Iterator[dict[str, object]]:
        for fact in facts:
            for name, column in self._runs.shapes.traits(fact).spellings - self._spelt:
                self._spelt.add((name, column))
                yield {"dataset_namespace": name.namespace, "dataset_name": name.name, "column": column}

    def _uses(self, run: Run, facts: Sequence[RunFacts]) -> Iterator[dict[str, object]]:
        """Yield each name that the run uses, as sent, what it means, and the times of the run's events.

        What is declared is about names at any time.
        """
        found: dict[tuple[str, Name], Name] = {}
        who = run.speaker
        for fact in facts:
            for role, name, lifecycle in _used(fact, self._in_facet):
                found[role, name] = self._meant(who, role, name, fact.time_us, lifecycle)
        times = (run.started_us, run.last_us) if run.kind == "RUN" else (-EVER_US, EVER_US)
        for (role, name), dataset in found.items():
            yield dict(zip(_USE.fields, (role, *name.parts, *dataset, *times), strict=True))

    def _in_facet(self, content_hash: str) -> Sequence[tuple[str, Name]]:
        """Return the names in a lineage facet, each once, and whether it is a source or a target."""
        found = self._names.get(content_hash)
        if found is None:
            lines = self._contents.lineage(content_hash)
            every = (each for line in lines for each in (("source", line.source), ("target", line.target)))
            names = tuple(dict.fromkeys((role, name) for role, name in every if name))
            found = self._names.keep(content_hash, names, len(names))
        return found

    def _meant(self, who: Speaker, role: str, name: Name, time_us: int, lifecycle: str | None) -> Name:
        naming = self._known.naming
        if role in ("input", "source"):
            return naming.input(who, name, time_us)
        if role in ("output", "target"):
            return naming.output(who, name, time_us, lifecycle)
        return naming.resolve(name, time_us)


def _mark(row: CandidateRow) -> Mark:
    return row.output_key, row.execution, digest_of(row)


def _changed(now: Now, known: Mapping[str, Mark]) -> Iterator[dict[str, object]]:
    for key, (row, mark) in now.items():
        if mark != known.get(key):
            yield {**asdict(row), "gone": False, "replaced": key in known}


def _gone(run: Run, now: Now, known: Mapping[str, Mark]) -> Iterator[dict[str, object]]:
    for key, (output_key, execution, _) in known.items():
        if key not in now:
            empty: dict[str, object] = dict.fromkeys(CANDIDATE.fields)
            named = {"group_key": key, "output_key": output_key, "run_key": run.key, "execution": execution}
            yield {**empty, **named, "gone": True, "replaced": True}


def _used(
    fact: RunFacts, in_facet: Callable[[str], Sequence[tuple[str, Name]]]
) -> Iterator[tuple[str, Name, str | None]]:
    """Yield (role, name, what is said to happen to the dataset)."""
    forms = dict(fact.content.forms)
    for role, uses in (("input", fact.inputs), ("output", fact.outputs)):
        for use in uses:
            yield role, use.name, use.lifecycle
            if use.previous:
                yield "previous", use.previous, None
            for alias, _ in bindings_of(use):
                yield "symlink", alias, None
    for content_hash in lineage_of(fact):
        for role, name in in_facet(content_hash):
            yield role, forms.get(name, name), None


def _run_row(run: Run, facts: Sequence[RunFacts]) -> Iterable[object]:
    last_us, received_us = max(_credible(facts)), max(fact.received_us for fact in facts)
    late_us = max(fact.received_us - fact.time_us for fact in facts)
    return (
        run.key, run.kind, run.state, run.processing, *(run.sent_job or run.job).parts, *run.job_key.parts,
        run.execution, run.parent,
        run.producer, run.started_us, run.ended_us, last_us, received_us, max(0, late_us) // 1_000_000, len(facts),
        any(dataset.rows_confirmed for dataset in run.outputs.values()),
    )  # fmt: skip


def _credible(facts: Sequence[RunFacts]) -> list[int]:
    return [fact.time_us for fact in facts if fact.order.credible] or [facts[-1].time_us]
