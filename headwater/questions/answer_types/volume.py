"""Answers about numbers of a dataset over time."""

from typing import Literal

from msgspec import UNSET, UnsetType

from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Time

Measure = Literal[
    "rows", "bytes", "files", "rows_read", "bytes_read", "files_read", "total_rows", "total_bytes", "total_files",
    "nulls", "distinct", "minimum", "maximum", "test", "interval", "duration",
]  # fmt: skip
Verdict = Literal["usual", "unusual", "not judged"]


class VolumePoint(AnswerStruct):
    """A value of a series.

    value: for a test, 1 if it passed and 0 if it failed; for an interval or a duration, seconds. run: the run that
    reports it. state: COMPLETE, or the state of a run that has not completed. verdict: a failed test, and the interval
    before a late write, are unusual. low, high: the range of usual values of a count, null if it is not judged.
    """

    time: Time
    value: float
    run: str
    state: str | None
    verdict: Verdict
    low: float | None
    high: float | None


class VolumeJudgement(AnswerStruct):
    """The judgement of the newest value of a completed run.

    low, expected, high: the usual values. smallest_drop: the share of the expected value by which it must drop to be
    unusual, such as 0.3. reason: why it is not judged, or how late the next write is; else empty.
    """

    verdict: Verdict
    low: float | None
    expected: float | None
    high: float | None
    smallest_drop: float | None
    reason: str


class VolumeSeries(AnswerStruct):
    """A measure of a dataset, a column or a test over time, oldest point first.

    rows, bytes, files: what runs wrote. rows_read, bytes_read, files_read: what runs read. total_rows, total_bytes,
    total_files: the size of the dataset. nulls, distinct, minimum, maximum: of a column. interval: the time since the
    write before. duration: of the run that wrote. test: the name of the test.
    """

    measure: Measure
    column: str | None
    test: str | None
    points: list[VolumePoint]
    judgement: VolumeJudgement


class Volume(AnswerStruct):
    """The series of a dataset, or of one of its columns. columns: the columns that have series.

    truncated: series have more points than `limit`, or the dataset has more than 1,000 tests. totalCount: the number of
    series, further tests included. events_removed_before: events before this day (UTC) were removed before the index
    was built, so the series have no values of them.
    """

    dataset: Dataset
    series: list[VolumeSeries]
    columns: list[str]
    truncated: bool
    totalCount: Count  # noqa: N815
    events_removed_before: str | UnsetType = UNSET
