"""What `live` tells: the data of its server-sent events, by the name of the event."""

from typing import Literal

from msgspec import field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, Time


class RunHappened(AnswerStruct):
    """A run is in another state."""

    run: str
    state: str
    job: Job
    started: Time | None
    ended: Time | None


class EdgeHappened(AnswerStruct):
    """A job began, or ceased, to lead from one dataset to another; columns: edges between their columns."""

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


HAPPENINGS: dict[str, type[AnswerStruct]] = {"run": RunHappened, "edge": EdgeHappened, "rejected": RejectedHappened}
