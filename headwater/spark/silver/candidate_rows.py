"""Candidates as rows of `edge_sets`. A candidate is the lineage that one run reports for one output."""

from typing import TypeVar

from msgspec import Struct

from headwater.lineage.edges.candidates import Candidate, JobOutput
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.edges.write_kinds import ADDS_ROWS, WHOLE_REWRITE, WHOLE_UNLESS_PARTITIONED
from headwater.lineage.names.dataset_name import Name
from headwater.spark.silver.texts import digest_of_texts, json_text
from headwater.tables import EDGE_SETS, StructOf, columns_without

T = TypeVar("T")

COLUMNS = columns_without(EDGE_SETS, "batch", "rules_hash")
CANDIDATE = StructOf({**COLUMNS, "gone": "boolean", "replaced": "boolean"})

BELOW, BESIDE = "below", "beside"

WRITTEN, SETTLES, JOB = "written", "settles", "job"
"""Kinds of entries in `names`: the output, a dataset that settles a doubt (rule 4.10), a job by its name as sent."""


class CandidateRow(Struct):
    """A candidate in the columns `COLUMNS`.

    If the run reports no output, the columns of the dataset are null, and `output_key` identifies the job.
    application: the run key of the parent run.
    asks: which related runs may explain opaque inputs (BELOW or BESIDE); null if none can.
    kin: the datasets that these related runs report, as JSON.
    names: the datasets and jobs in the lineage, as `names_json` returns them.
    """

    group_key: str
    output_key: str
    run_key: str
    execution: str
    application: str | None
    layer: str
    job_namespace: str
    job_name: str
    dataset_namespace: str | None
    dataset_name: str | None
    generation: str | None
    time_us: int
    tie: str
    started_us: int
    last_us: int
    weight: int
    origin: str | None
    landed: bool
    rewrites: bool
    unless_parts: bool | None
    period_us: int | None
    asks: str | None
    kin: str | None
    names: str | None
    content: str

    @property
    def dataset(self) -> Name | None:
        """The output with its generation; None if the run reports no output."""
        if self.dataset_name is None:
            return None
        return Name(self.dataset_namespace or "", self.dataset_name, self.generation or "")

    @property
    def job_output(self) -> JobOutput:
        """The layer, job and output of the candidate."""
        return JobOutput(self.layer, Name(self.job_namespace, self.job_name), self.dataset)

    @property
    def kind_of_write(self) -> int:
        """How the write treats existing rows: a constant of `write_kinds`."""
        return ADDS_ROWS if not self.rewrites else WHOLE_UNLESS_PARTITIONED if self.unless_parts else WHOLE_REWRITE

    def candidate(self, lineage: T) -> Candidate[T]:
        """Convert the row to a `Candidate`. lineage: the candidate's lineage, or another value that represents it."""
        return Candidate(
            self.time_us, self.tie, self.run_key, self.execution, self.started_us, self.last_us, self.weight,
            self.landed, self.kind_of_write,
            self.time_us if self.period_us is None else self.period_us, lineage,
        )  # fmt: skip


def candidate_row(job_output: JobOutput, candidate: Candidate[OutputLineage], application: str | None) -> CandidateRow:
    """Convert a candidate to a row. application: the run key of the parent run."""
    layer, job, output = job_output
    namespace, name, generation = output or (None, None, None)
    return CandidateRow(
        digest_of_texts(layer, *job.parts, *(output or (None,))),
        # The key is the same for all generations.
        digest_of_texts(*output.parts) if output else digest_of_texts(layer, *job.parts, None),
        candidate.run_key, candidate.execution, application, layer, *job.parts, namespace, name, generation,
        candidate.time_us, candidate.tie, candidate.started_us, candidate.last_us, candidate.weight,
        "inferred" if candidate.lineage.is_inferred else layer, candidate.rows_confirmed,
        candidate.write_kind > ADDS_ROWS, candidate.write_kind == WHOLE_UNLESS_PARTITIONED, candidate.period_us,
        _explaining_runs(candidate.lineage), None, names_json(candidate.lineage), json_text(candidate.lineage),
    )  # fmt: skip


def _explaining_runs(lineage: OutputLineage) -> str | None:
    """Return which runs may explain opaque inputs (rule 4.7).

    BELOW means runs below this run, and BESIDE means other runs in the same execution. None means no runs.
    """
    if lineage.has_hidden_inputs:
        return BELOW
    return BESIDE if lineage.output is None else None


def names_json(lineage: OutputLineage) -> str:
    """Return the datasets and jobs in lineage as a JSON list of [namespace, name] or [namespace, name, kind].

    Kinds are WRITTEN, SETTLES and JOB. The names of datasets contain no generation. A join by these names finds the
    candidates that name a dataset.
    """
    written = [] if lineage.output is None else [(*lineage.output.parts, WRITTEN)]
    settling = [
        (*each.separate_dataset.parts, SETTLES) for each in lineage.ambiguous_names if each.separate_dataset is not None
    ]
    jobs = (*lineage.source_jobs, *(job for feed in lineage.job_feeds for job in (feed.job, *feed.source_jobs)))
    sources = dict.fromkeys(name.parts for name in lineage.named_datasets)
    return json_text(
        [*written, *sources, *dict.fromkeys(settling), *((*job.parts, JOB) for job in dict.fromkeys(jobs))]
    )
