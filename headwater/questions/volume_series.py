"""The question `volume`: numbers of a dataset over time, each judged by the earlier ones."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

from headwater.events.statistics_facets import MEASURED, READ, WRITTEN, Kind, Number
from headwater.events.times import iso_time
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.measures import DatasetMeasures, ReportedNumbers
from headwater.index.reading.write_times import WriteTimes
from headwater.index.stored.measures import RECENT_ROWS, StoredNumbers
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.volume import Measure, Volume, VolumeJudgement, VolumePoint, VolumeSeries
from headwater.questions.health_reader import HealthReader
from headwater.questions.rhythm import separate_writes
from headwater.questions.volume import Judgement, judge_series
from headwater.questions.volume_histories import history_starts, split_histories

_SECOND_US = 1_000_000
_OF_DATASET: Sequence[tuple[Measure, Kind, Callable[[StoredNumbers], Number]]] = (
    ("rows", WRITTEN, attrgetter("rows")),
    ("bytes", WRITTEN, attrgetter("bytes")),
    ("files", WRITTEN, attrgetter("files")),
    ("total_rows", MEASURED, attrgetter("rows")),
    ("total_bytes", MEASURED, attrgetter("bytes")),
    ("total_files", MEASURED, attrgetter("files")),
    ("rows_read", READ, attrgetter("rows")),
    ("bytes_read", READ, attrgetter("bytes")),
    ("files_read", READ, attrgetter("files")),
)
_OF_COLUMN: Sequence[Measure] = ("nulls", "distinct", "minimum", "maximum")
_OF_WRITES: Sequence[Measure] = ("interval", "duration")
_NEWEST_MEASURED = 20
"""The number of newest runs whose columns an answer lists if it has no series of them."""

_JUDGED: frozenset[Measure] = frozenset({"rows", "bytes", "total_rows", "total_bytes", "nulls", "distinct"})
"""Measures that the detector fits: counts whose noise is a share of their size."""

_NOT_JUDGED = Judgement("not judged", reason="this measure is not judged")
_USUAL, _UNUSUAL = Judgement("usual"), Judgement("unusual")
_NOT_COMPLETED = Judgement("not judged", reason="the run has not completed")


class _Point(NamedTuple):
    """A value at a time (us). run: the number of the run. job: what tells its history from those of other jobs."""

    time_us: int
    value: float
    run: int
    state: str | None
    job: int | None = None


class _Series(NamedTuple):
    """A series. judgements: of the points; None if the values of the series are to be judged by the earlier ones."""

    measure: Measure
    column: str | None
    test: str | None
    points: list[_Point]
    judgements: list[Judgement] | None = None


def volume_answer(
    live: LiveGraph, reader: HealthReader, dataset: Name, column: str | None, *, only: Measure | None, limit: int
) -> Volume:
    """Answer the series of a dataset, or of one of its columns, without regard to case.

    only: the measure, or None for all. limit: the maximum number of points of a series. The whole series is judged.
    """
    measures = DatasetMeasures(live, reader.now_us)
    names = measures.names_of(dataset)
    kinds = {kind for measure, kind, _ in _OF_DATASET if column is None and only in (None, measure)}
    reported = {kind: measures.reported(names, kind) for kind in kinds - {MEASURED}}
    is_measured = MEASURED in kinds or (column is not None and only in (None, *_OF_COLUMN))
    reported[MEASURED] = measures.reported(names, MEASURED, limit=None if is_measured else _NEWEST_MEASURED)
    columns = sorted({name for each in reported[MEASURED] for name in each.numbers.columns})
    found, more = _of_tests(measures, names, column) if only in (None, "test") else ([], 0)
    if column is not None:
        found = [*_of_column(reported[MEASURED], column), *found]
    elif only in (None, *_OF_WRITES):
        found = [*_of_dataset(reported), *found, *_of_writes(reader, measures, dataset)]
    else:
        found = [*_of_dataset(reported), *found]
    chosen = [each for each in found if only in (None, each.measure)]
    starts = history_starts(measures.ends_us(dataset))
    keys = _run_keys(live, {point.run for each in chosen for point in each.points[-limit:]})
    return Volume(
        Dataset(*dataset.parts), [_to_series(each, keys, starts, limit) for each in chosen], columns,
        more > 0 or any(len(each.points) > limit for each in chosen), len(chosen) + more,
    )  # fmt: skip


def _of_dataset(reported: Mapping[Kind, Sequence[ReportedNumbers]]) -> Iterator[_Series]:
    for measure, kind, value_of in _OF_DATASET:
        points = _points(reported.get(kind, ()), value_of)
        if points:
            is_of_jobs = kind == WRITTEN  # a dataset has one size, whichever job measures it
            yield _Series(measure, None, None, points if is_of_jobs else [each._replace(job=None) for each in points])


def _of_column(reported: Sequence[ReportedNumbers], column: str) -> Iterator[_Series]:
    folded = column.casefold()
    spellings = {name for each in reported for name in each.numbers.columns if name.casefold() == folded}
    for spelling in sorted(spellings):
        for place, measure in enumerate(_OF_COLUMN):
            points = [each._replace(job=None) for each in _points(reported, partial(_column_value, spelling, place))]
            if points:
                yield _Series(measure, spelling, None, points)


def _column_value(column: str, place: int, numbers: StoredNumbers) -> Number:
    found = numbers.columns.get(column)
    return found[place] if found else None


def _points(reported: Sequence[ReportedNumbers], value_of: Callable[[StoredNumbers], Number]) -> list[_Point]:
    return [
        _Point(each.time_us, value, each.run, each.state, each.job)
        for each in reported
        if (value := value_of(each.numbers)) is not None
    ]


def _of_tests(measures: DatasetMeasures, names: Sequence[int], column: str | None) -> tuple[list[_Series], int]:
    """Return (the series of tests, number of further tests)."""
    tests, more = measures.test_results(names, column)
    found = []
    for each in tests:
        points = [_Point(result.time_us, float(result.success), result.run, "COMPLETE") for result in each.results]
        judgements = [_USUAL if point.value else _UNUSUAL for point in points]
        found.append(_Series("test", each.column or None, each.test, points, judgements))
    return found, more


def _of_writes(reader: HealthReader, measures: DatasetMeasures, dataset: Name) -> Iterator[_Series]:
    """Yield the intervals between the newest writes, of which those that ended a late spell are unusual, and durations.

    The newest interval is unusual, too, if the next write is late now.
    """
    outputs, health = reader.times.job_outputs_of(dataset), reader.dataset_health(dataset)
    writes = separate_writes(reader.times.newest_writes(outputs))
    if len(writes) > 1:
        points = [
            _Point(write.time_us, (write.time_us - before.time_us) / _SECOND_US, write.run, "COMPLETE")
            for before, write in pairwise(writes)
        ]
        late = {spell.ended_us for spell in health.late_spells}
        not_known = Judgement("not judged", reason=health.punctuality.reason)
        usual = _USUAL if health.punctuality.rhythm else not_known
        judgements = [_UNUSUAL if each.time_us in late else usual for each in points]
        if health.punctuality.verdict == "late":
            judgements[-1] = Judgement("unusual", reason=health.punctuality.reason)
        yield _Series("interval", None, None, points, judgements)
    durations = measures.durations(outputs, RECENT_ROWS[MEASURED])
    if durations:
        points = [_Point(each.time_us, each.duration_us / _SECOND_US, each.run, each.state) for each in durations]
        yield _Series("duration", None, None, points)


def _run_keys(live: LiveGraph, runs: set[int]) -> dict[int, str]:
    times = WriteTimes(live, 0)
    return {run: run_id_of(times.run_key(run)) for run in runs}


def _to_series(series: _Series, keys: Mapping[int, str], starts: Sequence[int], limit: int) -> VolumeSeries:
    judgements = _judgements(series, starts)
    points = [
        VolumePoint(
            iso_time(point.time_us) or "", point.value, keys[point.run], point.state, each.verdict, each.low, each.high
        )
        for point, each in zip(series.points[-limit:], judgements[-limit:], strict=True)
    ]
    completed = (each for each in reversed(judgements) if each is not _NOT_COMPLETED)
    newest = next(completed, _NOT_COMPLETED)
    return VolumeSeries(
        series.measure, series.column, series.test, points,
        VolumeJudgement(
            newest.verdict, newest.low, newest.expected, newest.high, newest.smallest_drop, newest.reason
        ),
    )  # fmt: skip


def _judgements(series: _Series, starts: Sequence[int]) -> list[Judgement]:
    """Judge the newest points of a series by those before them. One point per day of an older past is no history.

    starts: when new histories of the dataset start (us).
    """
    if series.judgements is not None:
        return series.judgements
    if series.measure not in _JUDGED:
        return [_NOT_JUDGED] * len(series.points)
    recent = RECENT_ROWS[WRITTEN if series.measure in ("rows", "bytes") else MEASURED]
    first = max(0, len(series.points) - recent)
    completed = [place for place in range(first, len(series.points)) if series.points[place].state == "COMPLETE"]
    points, found = series.points, [_NOT_COMPLETED] * len(series.points)
    for history in split_histories([(points[place].time_us, points[place].job) for place in completed], starts):
        places = [completed[at] for at in history]
        judged = judge_series((points[place].time_us, int(points[place].value)) for place in places)
        for place, judgement in zip(places, judged, strict=True):
            found[place] = judgement
    return found
