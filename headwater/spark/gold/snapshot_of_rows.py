"""Build the current graph from open candidates: from all of them, or only from those that a question needs."""

from collections import defaultdict
from collections.abc import Iterable, Set
from functools import partial
from itertools import groupby
from operator import attrgetter

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.edge_sets import Candidates, ReportedDatasets
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.schema_columns import Columns, decode_spellings, preferred_spellings
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.applied_rules import apply_masking_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.jobs import RetiredJobs, declared_retirements, newest_retirement_times
from headwater.lineage.runs.run_derivation import lineage_weight
from headwater.lineage.runs.run_facts import Tag
from headwater.lineage.snapshots.derived_snapshots import CandidateSnapshot, with_counted_rewrites
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.silver.candidate_rows import COLUMNS, CandidateRow
from headwater.spark.silver.content_texts import read_columns
from headwater.spark.silver.texts import CachedDecoder, read_output_lineage, read_reported

CANDIDATE_COLUMNS = (*COLUMNS, "columns", "tags", "spellings", "ever_read", "base_us")
"""Columns of rows about candidates and datasets. Rows about datasets have no `output_key` and come first."""

read_tags = CachedDecoder(list[str])
read_facet = CachedDecoder(list[Tag])


class _CandidateCells(CandidateRow):
    columns: str | None
    tags: str | None
    spellings: str | None
    ever_read: bool | None
    base_us: int | None


class RowSnapshot(CandidateSnapshot):
    """The current graph, with the columns and tags of its datasets. Jobs have their canonical names."""

    def __init__(
        self,
        rules: UserRules,
        naming: NameResolver,
        rows: Iterable[Row] = (),
        partitioned_names: Set[Name] = frozenset(),
    ):
        """Add rows as `add_rows` does. partitioned_names: names of datasets that are known to have partitions."""
        super().__init__(naming, partial(apply_masking_rules, rules), rules)
        self._partitioned_names = partitioned_names | naming.names_of_parts(partitioned_names.__contains__)
        self._declared_as_retired = rules.names.jobs.retired
        self.add_rows(rows)

    def add_rows(self, rows: Iterable[Row]) -> None:
        """Add rows in the columns `CANDIDATE_COLUMNS`, sorted by output."""
        for output_key, same in groupby((_CandidateCells(*row) for row in rows), key=attrgetter("output_key")):
            if output_key is None:
                for row in same:
                    self._set_dataset_facts(row)
            else:
                reported = list(same)
                candidates: dict[JobOutput, list[Candidate[OutputLineage]]] = defaultdict(list)
                for each in reported:
                    lineage = read_output_lineage(each.content)
                    if each.application:
                        self.parents[each.run_key] = each.application
                    candidates[each.job_output].append(each.candidate(lineage)._replace(weight=lineage_weight(lineage)))
                self.add_candidates(self._counted_rewrites(candidates), _StoredRelations(reported))

    def retired_jobs(self) -> RetiredJobs:
        """Return the jobs that `jobs.yaml` retires. Silver does not store which jobs were deleted."""
        return newest_retirement_times(declared_retirements(self._declared_as_retired, self.newest_us))

    def _counted_rewrites(self, candidates: Candidates[OutputLineage]) -> Candidates[OutputLineage]:
        output = next(iter(candidates)).output
        by_parts = output is not None and not self._partitioned_names.isdisjoint(
            self.naming.names_of(output.without_generation)
        )
        return with_counted_rewrites(candidates, by_parts=by_parts)

    def _set_dataset_facts(self, row: _CandidateCells) -> None:
        dataset = row.dataset
        if dataset and row.columns:
            self.schemas[dataset] = Columns(read_columns(row.columns))
        if dataset and row.base_us is not None:
            self.base_times[dataset] = row.base_us
        if dataset and row.tags:
            self.tagged[dataset] = [tag for text in read_tags(row.tags) for tag in read_facet(text)]
        if dataset and row.spellings:
            self.spellings[dataset.without_generation] = preferred_spellings(decode_spellings(row.spellings))
        if dataset and row.ever_read:
            self.ever_read.add(dataset)


class _StoredRelations:
    """The reports of related runs that silver stores with candidates (`kin`). Implements `edge_sets.RelatedRuns`."""

    def __init__(self, rows: Iterable[CandidateRow]):
        self._reports = {key: row.kin for row in rows for key in (row.run_key, row.execution) if row.kin}

    def reports_of_descendants(self, run_key: str) -> ReportedDatasets:
        return self._stored_report(run_key)

    def reports_of_execution(self, execution: str) -> ReportedDatasets:
        return self._stored_report(execution)

    def _stored_report(self, key: str) -> ReportedDatasets:
        text = self._reports.get(key)
        return read_reported(text) if text else _NO_REPORTS


_NO_REPORTS = ReportedDatasets(frozenset(), frozenset())
