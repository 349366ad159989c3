"""Derive the silver rows of a run from its facts: its state, the datasets that it names, and its candidates."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

from msgspec.structs import asdict
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.output_lineage import EdgeRules, OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US
from headwater.lineage.names.name_resolution import MentionSource, symlink_bindings
from headwater.lineage.rules.applied_rules import ReportedWrite, decide_write_kind
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.commit_proofs import CommitProofs
from headwater.lineage.runs.merged_run import Run
from headwater.lineage.runs.run_derivation import RunDerivation
from headwater.lineage.runs.run_facts import RunFacts
from headwater.spark.delta.arrow_rows import Row, map_rows
from headwater.spark.silver.candidate_rows import CANDIDATE, CandidateRow, candidate_row
from headwater.spark.silver.content_texts import TextContents, distinct_references, join_references, lineage_hashes
from headwater.spark.silver.derivation_context import DerivationContext
from headwater.spark.silver.texts import digest_of, json_text, proofs_of, read_candidate_digests, read_facts
from headwater.tables import RUN_DATASETS, RUNS, ListOf, StructOf, Table, columns_without

_USE = StructOf(columns_without(RUN_DATASETS, "run_key", "batch", "rules_hash"))

DERIVED = Table(
    "derived",
    {
        **columns_without(RUNS, "batch", "rules_hash"),
        "datasets": ListOf(_USE),
        "changes": ListOf(CANDIDATE),
        "missing": "string",
        "schema_sources": "string",
        "stored": "boolean",
        "spellings": ListOf(StructOf({"dataset_namespace": "string", "dataset_name": "string", "column": "string"})),
    },
)
"""One row for each run.

`datasets`: the names that the run uses. `changes`: candidates that are new, changed or `gone`.
`missing`: a list (JSON) of datasets whose schemas in other runs the derivation needs, or null.
`schema_sources`: a list (JSON) of all datasets with schemas that the derivation takes from other runs, or null.
`stored`: table `runs` contained the run before the batch.
`spellings`: columns of datasets as the lineage of the run spells them, each once per task.
"""

RUN_COLUMNS = ("run_key", "parts", "contents", "said")
"""The columns from which a run is derived. The rows of its new events and its stored row in `runs` have them."""

CandidateDigest = tuple[str, str, str]
"""(`output_key`, execution, hash of the row) of a candidate. A batch compares it to find out what has changed."""

CandidatesByKey = Mapping[str, tuple[CandidateRow, CandidateDigest]]
"""The candidates of a run, by `group_key`."""

_BUCKETS = 16
"""Number of buckets of runs. A task holds the contents of one bucket in memory at a time."""


def derive(rows: DataFrame, contents: DataFrame, context: DerivationContext, *, small: bool) -> DataFrame:
    """Derive runs. Returns rows of `DERIVED`.

    rows: the events and stored rows of runs in the columns `RUN_COLUMNS`. There are two optional columns: `above_us`
    (the nominal time that the run inherits) and `proofs` (rows of `COMMIT_PROOFS` about the run, as JSON).
    contents: rows of `CONTENT` for all references in `rows`. small: use only one task.
    """
    if "above_us" not in rows.columns:
        rows = rows.withColumn("above_us", F.lit(None).cast("long"))
    if "proofs" not in rows.columns:
        rows = rows.withColumn("proofs", F.lit(None).cast("string"))
    rows = rows.withColumn("bucket", F.pmod(F.hash("run_key"), F.lit(1 if small else _BUCKETS)))
    held = distinct_references(rows, "bucket").join(contents, "ref", "left").select("bucket", "ref", "value")
    every = held.unionByName(rows, allowMissingColumns=True).select(
        "bucket", "ref", "value", *RUN_COLUMNS, "above_us", "proofs"
    )
    every = every.coalesce(1) if small else every.repartition("bucket")
    return map_rows(every.sortWithinPartitions("bucket", "run_key"), DerivePartition(context), DERIVED)


@dataclass(frozen=True)
class DerivePartition:
    """Applies the rules to the runs of a partition, one run at a time."""

    context: DerivationContext

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows (bucket, ref, value, *`RUN_COLUMNS`, above_us, proofs) to rows of `DERIVED`.

        In each bucket, the contents must come before the runs.
        """
        task = _TaskDerivation(self.context)
        for (_, run_key), group in groupby(rows, key=itemgetter(0, 3)):
            if run_key is None:
                task.start_bucket((ref, value) for _, ref, value, *_ in group)
            else:
                yield task.derive([tuple(row) for _, _, _, *row in group])


class _TaskDerivation:
    """Derives runs, bucket by bucket. Caches results for recurring runs."""

    def __init__(self, context: DerivationContext):
        self._context = context
        self._contents = TextContents()
        self._missing: set[Name] = set()
        self._runs = RunDerivation(
            EdgeRules(self._contents, context.naming, context.key, context.schema_at(self._missing))
        )
        self._names: BoundedCache[str, Sequence[tuple[str, Name]]] = BoundedCache()
        self._sent_spellings: set[tuple[Name, str]] = set()

    def start_bucket(self, contents: Iterable[tuple[str, str | None]]) -> None:
        """Replace the contents by those of the next bucket."""
        self._contents.clear()
        for name, columns in self._context.columns.items():
            self._contents.add_schema(name, columns)
        for ref, value in contents:
            self._contents.add(ref, value)

    def derive(self, rows: Sequence[Row]) -> Row:
        """Convert the rows of one run (`RUN_COLUMNS`, `above_us` and `proofs`) to its row of `DERIVED`."""
        facts = {fact.event_id: fact for row in rows for fact in read_facts(row[1])}
        before = next((row[3] for row in rows if row[3] is not None), None)
        self._missing.clear()
        own_us = max((each.nominal_us for each in facts.values() if each.nominal_us is not None), default=None)
        nominal_us = rows[0][4] if own_us is None else own_us
        run, candidates, _, _, schema_sources = self._runs.derive([*facts.values()], nominal_us)
        ordered = sorted(facts.values(), key=lambda fact: fact.order)
        proofs = proofs_of(rows[0][5])
        found = (
            candidate_row(by, self._with_decided_write(run, by, each, proofs), run.parent)
            for by, each in candidates.items()
        )
        now = {row.group_key: (row, _candidate_digest(row)) for row in found}
        known: dict[str, CandidateDigest] = {
            row[0]: row[1:] for row in (read_candidate_digests(before) if before else ())
        }
        return (
            *_run_row(run, ordered),
            own_us,
            json_text([(key, *digest) for key, (_, digest) in now.items()]),
            json_text(ordered),
            join_references({ref for row in rows for ref in row[2].split()}),
            list(self._dataset_uses(run, ordered)),
            [*_changed_candidates(now, known), *_removed_candidates(run, now, known)],
            json_text(sorted(self._missing)) if self._missing else None,
            json_text(sorted(schema_sources)) if schema_sources else None,
            before is not None,
            list(self._spellings(ordered)),
        )

    def _with_decided_write(
        self, run: Run, job_output: JobOutput, candidate: Candidate[OutputLineage], proofs: CommitProofs
    ) -> Candidate[OutputLineage]:
        """Return a candidate with the kind of write that user rules declare or commits prove."""
        output, is_whole = job_output.output, None
        if proofs and output is not None:
            is_whole = proofs.is_whole_rewrite(run.key, self._context.naming.names_of(output.without_generation))
        write = ReportedWrite(run.producer, run.key, candidate.write_kind, is_whole)
        kind = decide_write_kind(self._context.rules, job_output, write)
        return candidate if kind == candidate.write_kind else candidate._replace(write_kind=kind)

    def _spellings(self, facts: Sequence[RunFacts]) -> Iterator[dict[str, object]]:
        for fact in facts:
            for name, column in self._runs.run_cache.content_traits(fact).spellings - self._sent_spellings:
                self._sent_spellings.add((name, column))
                yield {"dataset_namespace": name.namespace, "dataset_name": name.name, "column": column}

    def _dataset_uses(self, run: Run, facts: Sequence[RunFacts]) -> Iterator[dict[str, object]]:
        """Yield the rows of `run_datasets` for a run: each name as sent, with the dataset that it means.

        The times are those of the run's first and last event. A declaration (a job or dataset event) uses its names at
        all times.
        """
        found: dict[tuple[str, Name], Name] = {}
        who = run.mention_source
        for fact in facts:
            for role, name, lifecycle in _used_names(fact, self._names_in_lineage_facet):
                found[role, name] = self._resolve(who, role, name, fact.time_us, lifecycle)
        times = (run.started_us, run.last_us) if run.kind == "RUN" else (-MAX_TIME_US, MAX_TIME_US)
        for (role, name), dataset in found.items():
            yield dict(zip(_USE.fields, (role, *name.parts, *dataset, *times), strict=True))

    def _names_in_lineage_facet(self, content_hash: str) -> Sequence[tuple[str, Name]]:
        """Return (`source` or `target`, name) for the names in a lineage facet, each once."""
        found = self._names.get(content_hash)
        if found is None:
            lines = self._contents.lineage(content_hash)
            every = (each for line in lines for each in (("source", line.source), ("target", line.target)))
            names = tuple(dict.fromkeys((role, name) for role, name in every if name))
            found = self._names.put(content_hash, names, len(names))
        return found

    def _resolve(self, who: MentionSource, role: str, name: Name, time_us: int, lifecycle: str | None) -> Name:
        naming = self._context.naming
        if role in ("input", "source"):
            return naming.resolve_input(who, name, time_us)
        if role in ("output", "target"):
            return naming.resolve_output(who, name, time_us, lifecycle)
        return naming.resolve(name, time_us)


def _candidate_digest(row: CandidateRow) -> CandidateDigest:
    return row.output_key, row.execution, digest_of(row)


def _changed_candidates(now: CandidatesByKey, known: Mapping[str, CandidateDigest]) -> Iterator[dict[str, object]]:
    for key, (row, digest) in now.items():
        if digest != known.get(key):
            yield {**asdict(row), "gone": False, "replaced": key in known}


def _removed_candidates(
    run: Run, now: CandidatesByKey, known: Mapping[str, CandidateDigest]
) -> Iterator[dict[str, object]]:
    for key, (output_key, execution, _) in known.items():
        if key not in now:
            empty: dict[str, object] = dict.fromkeys(CANDIDATE.fields)
            named = {"group_key": key, "output_key": output_key, "run_key": run.key, "execution": execution}
            yield {**empty, **named, "gone": True, "replaced": True}


def _used_names(
    fact: RunFacts, in_facet: Callable[[str], Sequence[tuple[str, Name]]]
) -> Iterator[tuple[str, Name, str | None]]:
    """Yield (role, name, lifecycle change) for each name in an event."""
    forms = dict(fact.content.name_forms)
    for role, uses in (("input", fact.inputs), ("output", fact.outputs)):
        for use in uses:
            yield role, use.name, use.lifecycle
            if use.previous_name:
                yield "previous", use.previous_name, None
            for alias, _ in symlink_bindings(use):
                yield "symlink", alias, None
    for content_hash in lineage_hashes(fact):
        for role, name in in_facet(content_hash):
            yield role, forms.get(name, name), None


def _run_row(run: Run, facts: Sequence[RunFacts]) -> Iterable[object]:
    last_us, received_us = max(_credible_times_us(facts)), max(fact.received_us for fact in facts)
    late_us = max(fact.received_us - fact.time_us for fact in facts)
    return (
        run.key, run.kind, run.state, run.processing, *(run.sent_job or run.job).parts, *run.job_key.parts,
        run.execution, run.parent,
        run.producer, run.started_us, run.ended_us, last_us, received_us, max(0, late_us) // 1_000_000, len(facts),
        any(dataset.rows_confirmed for dataset in run.outputs.values()),
    )  # fmt: skip


def _credible_times_us(facts: Sequence[RunFacts]) -> list[int]:
    return [fact.time_us for fact in facts if fact.order.credible] or [facts[-1].time_us]
