"""Rule 4.13: the lineage of jobs that `lineage` facets name as targets."""

from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from headwater.lineage.edges.facet_contents import OWN_JOB, Transformation
from headwater.lineage.edges.output_lineage import (
    ColumnMention,
    Edge,
    EdgeRules,
    JobFeed,
    OutputLineage,
    TimedLine,
)
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.merged_run import Run, RunDataset


class JobTargets:
    """Rule 4.13: the entries in a run's `lineage` facets that name a job as their target.

    run: the run. The datasets that feed the run's own job are added to its inputs.
    lines: (line, time of its event in us) for each line of the entries with a job as target.
    opaque_inputs: the datasets that feed the run's own job.
    """

    def __init__(self, run: Run, rules: EdgeRules):
        self._rules = rules
        every = [
            (line, at) for content_hash, at in run.declared_facets for line in rules.contents.lineage(content_hash)
        ]
        self.lines = [(line, at) for line, at in every if line.target_job]
        self._datasets_by_mention = {
            (line.source, at): rules.naming.resolve_input(run.mention_source, line.source, at)
            for line, at in self.lines
            if line.source
        }
        names = {OWN_JOB, run.job, run.sent_job or run.job}
        self._own_job_lines = [each for each in self.lines if each[0].target_job in names]
        self._other_job_lines = [each for each in self.lines if each[0].target_job not in names]
        self.opaque_inputs = frozenset(self._source_datasets(self._own_job_lines))
        new = {name: RunDataset(name) for name in self.opaque_inputs if name not in run.inputs}
        self.run = replace(run, inputs={**run.inputs, **new}) if new else run

    @property
    def dataset_wide_edges(self) -> tuple[Edge, ...]:
        """The edges from the columns that feed the run's own job to the whole of each output."""
        return tuple(
            Edge(name, column, None, _JOB_TRANSFORMATION) for name, column in self._source_columns(self._own_job_lines)
        )

    def add_source_jobs(self, lineage: OutputLineage) -> OutputLineage:
        """Return the lineage of an output with the jobs that feed the run's own job as additional source jobs."""
        jobs = self._source_jobs(self._own_job_lines)
        return replace(lineage, source_jobs=tuple(sorted({*lineage.source_jobs, *jobs}))) if jobs else lineage

    def lineage_without_output(self) -> list[OutputLineage]:
        """Return the lineage of a run without outputs, as a list with one item.

        The datasets that feed jobs are opaque inputs. If the run is not a batch run, all inputs are opaque.
        """
        read = tuple(sorted(self.run.inputs)) if not self.run.has_drops else ()
        found = self._lineage_of_jobs(self.lines)
        opaque = {*found.opaque_inputs, *(read if self.run.processing != "BATCH" else ())}
        tables = tuple(sorted({*found.source_datasets, *read}))
        return [
            replace(
                found,
                source_datasets=tables,
                opaque_inputs=tuple(sorted(opaque)),
                source_jobs=self._source_jobs(self._own_job_lines),
            )
        ]

    def lineage_of_other_jobs(self) -> list[OutputLineage]:
        """Return what the run reports about the sources of other jobs, as a list of at most one item.

        These sources feed the other jobs only; they do not feed the outputs of this run.
        """
        return [self._lineage_of_jobs(self._other_job_lines)] if self._other_job_lines else []

    def _lineage_of_jobs(self, lines: Sequence[TimedLine]) -> OutputLineage:
        sources = tuple(sorted(self._source_datasets(lines)))
        columns: dict[Name, set[str]] = {}
        for name, column in self._source_columns(lines):
            columns.setdefault(name, set()).add(column)
        mentions = tuple(ColumnMention(name, tuple(sorted(keys))) for name, keys in sorted(columns.items()))
        by_job: dict[Name, list[TimedLine]] = {}
        for line, at in lines:
            if line.target_job is not None:
                job = self.run.job if line.target_job == OWN_JOB else line.target_job
                by_job.setdefault(job, []).append((line, at))
        feeds = tuple(
            JobFeed(job, tuple(sorted(self._source_datasets(own))), self._source_jobs(own))
            for job, own in sorted(by_job.items())
        )
        return OutputLineage(
            None, source_datasets=sources, opaque_inputs=sources, column_mentions=mentions, job_feeds=feeds
        )

    def _source_datasets(self, lines: Iterable[TimedLine]) -> set[Name]:
        return {self._datasets_by_mention[line.source, at] for line, at in lines if line.source and at is not None}

    def _source_columns(self, lines: Iterable[TimedLine]) -> list[tuple[Name, str]]:
        """Return the source columns of some lines as (dataset, column key), sorted."""
        found = set()
        for line, at in lines:
            if line.source and line.source_column is not None and at is not None:
                dataset = self._datasets_by_mention[line.source, at]
                found.add((dataset, self._rules.column_key(dataset, line.source_column)))
        return sorted(found)

    def _source_jobs(self, lines: Iterable[TimedLine]) -> tuple[Name, ...]:
        """Return the source jobs of some lines, sorted.

        The names are as sent, except that `OWN_JOB` becomes the canonical name of the run's job.
        """
        own = self.run.job
        return tuple(
            sorted({own if line.source_job == OWN_JOB else line.source_job for line, _ in lines if line.source_job})
        )


_JOB_TRANSFORMATION = Transformation(is_direct=False, is_masked=False, subtype=None, description=None)
