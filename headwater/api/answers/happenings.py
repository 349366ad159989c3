"""What `live` tells: the data of its server-sent events, by the name of the event."""

from typing import Literal

from msgspec import field

from headwater.questions.answers.parts import Count, Dataset, Job, Shape, Time


class RunHappened(Shape):
    """A run is in another state."""

    run: str
    state: str
    job: Job
    started: Time | None
    ended: Time | None


class EdgeHappened(Shape):
    """A job began, or ceased, to lead from one dataset to another; columns: edges between their columns."""

    change: Literal["appeared", "ended"]
    job: Job
    from_: Dataset = field(name="from")
    to: Dataset
    columns: Count


class RejectedHappened(Shape):
    """An acknowledged event could not be stored."""

    received_at: Time
    reason: str
    field: str | None
    message: str | None


HAPPENINGS: dict[str, type[Shape]] = {"run": RunHappened, "edge": EdgeHappened, "rejected": RejectedHappened}
