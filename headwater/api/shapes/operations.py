"""Answers about the pipeline itself: what came in, what lags, what was refused, how it is set."""

from typing import Annotated

from msgspec import Meta, field

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Job, Time


class LostRange(AnswerStruct):
    """Records that the log acknowledged and that no table has, both ends included."""

    incarnation: str
    partition: str
    from_sequence: int
    to_sequence: int


class Audit(AnswerStruct):
    """Every acknowledged event is in exactly one table."""

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
"""Of the oldest event that waits, in seconds; 0 where none does."""


class IndexLag(AnswerStruct):
    """What questions do not know: how many events wait, the age of the oldest, how many the index could not take."""

    events: Count
    seconds: Age
    set_aside: Count


class GoldFreshness(AnswerStruct):
    """When gold last took events, and the age of the oldest acknowledged event that it lacks."""

    last_pass: str
    seconds: Age


class Freshness(AnswerStruct):
    """Age of the oldest acknowledged event that questions cannot see yet: of those in the log, and those in bronze.

    events: how many of both there are.
    """

    seconds: Age
    log: Age
    bronze: Age
    events: Count
    gold: GoldFreshness | None


class OverviewRun(AnswerStruct):
    """A run to look at."""

    run: str
    job: Job
    state: str
    started: Time | None
    ended: Time | None
    last_seen: Time | None


class RunHealth(AnswerStruct):
    """How runs fare; counts by state, `series` for each bucket of the window."""

    states: dict[str, int]
    series: dict[str, list[int]]
    failed: list[OverviewRun]
    lost: list[OverviewRun]
    lostCount: Count  # noqa: N815


class Window(AnswerStruct):
    """A time cut into buckets of equal length; it ends at `to`, not included."""

    from_: Time = field(name="from")
    to: Time
    bucketSeconds: Annotated[float, Meta(gt=0)]  # noqa: N815


class Overview(AnswerStruct):
    """What came in, what lags, how runs fare."""

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
    """Every setting."""

    items: list[Setting]


class SentAgain(AnswerStruct):
    """What became of rejected events that were sent again."""

    sent: Count
    accepted: Count
    refused: Count
    reasons: list[str]
    truncated: bool
