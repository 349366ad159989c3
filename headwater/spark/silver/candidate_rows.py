"""Candidates as rows: what one run says of one output, in the columns of `edge_sets`."""

from typing import TypeVar

from msgspec import Struct

from headwater.lineage.edges.current_candidates import Candidate, JobOutput
from headwater.lineage.edges.run_edges import OutputLineage
from headwater.lineage.edges.write_kinds import ADDS, UNLESS_PARTS, WHOLE
from headwater.lineage.names.dataset_name import Name
from headwater.spark.silver.texts import key_of, text_of
from headwater.tables import EDGE_SETS, StructOf, without

T = TypeVar("T")

COLUMNS = without(EDGE_SETS, "batch", "rules_hash")
CANDIDATE = StructOf({**COLUMNS, "gone": "boolean", "replaced": "boolean"})

BELOW, BESIDE = "below", "beside"


class CandidateRow(Struct):
    """A row in `COLUMNS`; what is written nowhere has no dataset, its `output_key` stands for a job.

    application: the parent of the run.
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
    content: str

    @property
    def dataset(self) -> Name | None:
        """The output, in its generation."""
        if self.dataset_name is None:
            return None
        return Name(self.dataset_namespace or "", self.dataset_name, self.generation or "")

    @property
    def job_output(self) -> JobOutput:
        """Where the candidate counts."""
        return JobOutput(self.layer, Name(self.job_namespace, self.job_name), self.dataset)

    @property
    def kind_of_write(self) -> int:
        """What the write does to the rows that were there."""
        return ADDS if not self.rewrites else UNLESS_PARTS if self.unless_parts else WHOLE

    def candidate(self, lineage: T) -> Candidate[T]:
        """Return the candidate; lineage: what its content comes to."""
        return Candidate(
            self.time_us, self.tie, self.run_key, self.execution, self.started_us, self.last_us, self.weight,
            self.landed, self.kind_of_write,
            self.time_us if self.period_us is None else self.period_us, lineage,
        )  # fmt: skip


def row_of(job_output: JobOutput, candidate: Candidate[OutputLineage], application: str | None) -> CandidateRow:
    """Return a candidate of a run as a row."""
    layer, job, output = job_output
    namespace, name, generation = output or (None, None, None)
    return CandidateRow(
        key_of(layer, *job.parts, *(output or (None,))),
        key_of(*output.parts) if output else key_of(layer, *job.parts, None),  # all generations are judged together
        candidate.run_key, candidate.execution, application, layer, *job.parts, namespace, name, generation,
        candidate.time_us, candidate.tie, candidate.started_us, candidate.last_us, candidate.weight,
        "inferred" if candidate.lineage.inferred else layer, candidate.rows_confirmed, candidate.rewrites > ADDS,
        candidate.rewrites == UNLESS_PARTS, candidate.period_us, _asks(candidate.lineage), None,
        text_of(candidate.lineage),
    )  # fmt: skip


def _asks(lineage: OutputLineage) -> str | None:
    """Return which runs may explain what a run says: those BELOW it, or those BESIDE it in its execution."""
    if lineage.asks:
        return BELOW
    return BESIDE if lineage.output is None else None
