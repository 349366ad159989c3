"""Answers about the pipeline itself: audit, freshness, overview and settings."""

from typing import Annotated

from msgspec import Meta, field

from headwater.questions.answer_types.common import AnswerStruct, Count, Job, Time


class LostRange(AnswerStruct):
    """A range of acknowledged records that no table contains; both ends are inclusive."""

    incarnation: str
    partition: str
    from_sequence: int
    to_sequence: int


class Audit(AnswerStruct):
    """The comparison of acknowledged events with the tables. Each event must be in exactly one table."""

    received: int
    stored: int
    removed: int
    duplicates: int
    rejected: int
    refused: int
    pending: int
    lost: int
    balanced: bool
    lost_ranges: list[LostRange]
    trouble: str | None
    index: "IndexLag | None" = None


Age = Annotated[float, Meta(ge=0)]
"""Age of the oldest waiting event in seconds; 0 if no event waits."""


class IndexLag(AnswerStruct):
    """Events that answers do not include. seconds: age of the oldest waiting event; set_aside: see `rejected/index`."""

    events: Count
    seconds: Age
    set_aside: Count


class GoldFreshness(AnswerStruct):
    """Time of the last pass that added events to gold, and the age of the oldest acknowledged event it lacks."""

    last_pass: str
    seconds: Age


class Freshness(AnswerStruct):
    """Age of the oldest acknowledged event that answers do not include: in the log, in bronze, and overall.

    events: number of waiting events.
    """

    seconds: Age
    log: Age
    bronze: Age
    events: Count
    gold: GoldFreshness | None


class OverviewRun(AnswerStruct):
    """A failed or lost run."""

    run: str
    job: Job
    state: str
    started: Time | None
    ended: Time | None
    last_seen: Time | None


class RunHealth(AnswerStruct):
    """Numbers of runs by state, in total and for each bucket of the window, with the newest failed and lost runs."""

    states: dict[str, int]
    series: dict[str, list[int]]
    failed: list[OverviewRun]
    lost: list[OverviewRun]
    lostCount: Count  # noqa: N815


class Window(AnswerStruct):
    """A window of time in buckets of equal length; `to` is exclusive."""

    from_: Time = field(name="from")
    to: Time
    bucketSeconds: Annotated[float, Meta(gt=0)]  # noqa: N815


class Overview(AnswerStruct):
    """Received events, delays and states of runs in a window of time."""

    window: Window
    events: list[int]
    rejected: dict[str, list[int]]
    refused: dict[str, list[int]]
    runs: RunHealth | None
    pending: Count
    freshness: Freshness


class SettingKey(AnswerStruct):
    """A key of a producer or reader, without its secret."""

    name: str
    key: str
    roles: list[str]
    namespaces: list[str]


class Setting(AnswerStruct):
    """An effective setting; a secret is `***`."""

    setting: str
    value: str | float | bool | list[str | SettingKey] | dict[str, str] | None
    default: bool
    description: str


class SettingsAnswer(AnswerStruct):
    """All settings."""

    items: list[Setting]


class SentAgain(AnswerStruct):
    """The result of sending rejected events again."""

    sent: Count
    accepted: Count
    refused: Count
    reasons: list[str]
    truncated: bool
