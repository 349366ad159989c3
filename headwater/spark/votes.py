"""Votes as rows: what one run says of one output, in the columns of `edge_sets`."""

from typing import TypeVar

from msgspec import Struct

from headwater.lineage.current import Group, Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.name import Name
from headwater.spark.texts import key_of, text_of
from headwater.tables import EDGE_SETS, StructOf, without

T = TypeVar("T")

COLUMNS = without(EDGE_SETS, "batch", "rules_hash")
VOTE = StructOf({**COLUMNS, "gone": "boolean", "replaced": "boolean"})

BELOW, BESIDE = "below", "beside"


class VoteRow(Struct):
    """A row in `COLUMNS`; what is written nowhere has no dataset, its `output_key` stands for a job."""

    group_key: str
    output_key: str
    run_key: str
    execution: str
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
    landed: bool
    rewrites: bool
    borrowed: bool
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
    def group(self) -> Group:
        """Where the vote counts."""
        return Group(self.layer, Name(self.job_namespace, self.job_name), self.dataset)

    def vote(self, said: T) -> Vote[T]:
        """Return the vote; said: what its content comes to."""
        return Vote(
            self.time_us, self.tie, self.run_key, self.execution, self.started_us, self.last_us, self.weight,
            self.landed, self.rewrites, said,
        )  # fmt: skip


def row_of(group: Group, vote: Vote[Contribution]) -> VoteRow:
    """Return a vote as a row."""
    layer, job, output = group
    namespace, name, generation = output or (None, None, None)
    return VoteRow(
        key_of(layer, *job.parts, *(output or (None,))),
        key_of(*output.parts) if output else key_of(layer, *job.parts, None),  # all generations are judged together
        vote.run_key, vote.execution, layer, *job.parts, namespace, name, generation, vote.time_us, vote.tie,
        vote.started_us, vote.last_us, vote.weight, vote.landed, vote.rewrites, vote.said.borrowed, _asks(vote.said),
        None, text_of(vote.said),
    )  # fmt: skip


def _asks(said: Contribution) -> str | None:
    """Return which runs may explain what a run says: those BELOW it, or those BESIDE it in its execution."""
    if said.opaque:
        return BELOW
    return BESIDE if said.output is None else None
