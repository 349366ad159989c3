"""The data of the server-sent events of `live`."""

from typing import Literal

from msgspec import field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, Time


class RunHappened(AnswerStruct):
    """A run changed its state."""

    run: str
    state: str
    job: Job
    started: Time | None
    ended: Time | None


class EdgeHappened(AnswerStruct):
    """Lineage of a job between two datasets appeared or ended. columns: number of column edges."""

    change: Literal["appeared", "ended"]
    job: Job
    from_: Dataset = field(name="from")
    to: Dataset
    columns: Count


class RejectedHappened(AnswerStruct):
    """An acknowledged event could not be stored."""

    received_at: Time
    reason: str
    field: str | None
    message: str | None


LIVE_EVENTS: dict[str, type[AnswerStruct]] = {"run": RunHappened, "edge": EdgeHappened, "rejected": RejectedHappened}
