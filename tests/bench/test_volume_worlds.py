"""Generated volume series and the scoring of detectors, checked with detectors whose figures are known."""

import math
from collections.abc import Sequence
from statistics import fmean, pstdev

import pytest

from bench.volume_anomalies import Detector, Point, Verdict, figures, fixed_rule, headwater, judge_series, never
from bench.volume_worlds import (
    CHANGES,
    DAY_US,
    DAYS,
    DEVELOPMENT_SEEDS,
    MONTHS,
    NOISES,
    UNSEEN_SEEDS,
    WEEKDAYS,
    Anomaly,
    Series,
    Write,
    make_series,
)

FEW = [seed for seed in range(72) if seed % 20]  # hourly writers are left out because they have 24 times as many writes


@pytest.fixture(scope="module")
def planted() -> list[Series]:
    return [make_series(seed, 0.05, is_planted=True) for seed in FEW]


def by_labels(series: Series) -> Detector:
    labels = {(write.time_us, write.rows): write.anomaly is not None for write in series.writes}
    return lambda _, now: "unusual" if labels[now] else "usual"


def values(many: Sequence[Series], detector: Detector | None = None) -> dict[str, float]:
    """Return the figures of a detector, by default of one that knows the labels."""
    judged = [judge_series(each, detector or by_labels(each)) for each in many]
    return {each.name: each.value for each in figures(judged)}


def test_a_seed_gives_the_same_series_and_unseen_seeds_are_others() -> None:
    assert make_series(3, 0.1, is_planted=True) == make_series(3, 0.1, is_planted=True)
    assert not set(DEVELOPMENT_SEEDS) & set(UNSEEN_SEEDS)
    first = make_series(1, 0.02, is_planted=True)
    figures_of_first = (first.cadence, len(first.writes), first.writes[0].time_us, first.writes[0].rows)
    assert figures_of_first == ("weekly", 57, 1_686_194_035_201_185, 13_138)


@pytest.mark.parametrize("noise", NOISES)
def test_regular_rows_have_the_noise_of_the_series(noise: float) -> None:
    series = [make_series(seed, noise, is_planted=False) for seed in range(2, 5)]
    ratios = [
        math.log(write.rows / write.expected) for each in series for write in each.writes if write.expected > 10_000
    ]
    assert len(ratios) > 500
    assert pstdev(ratios) == pytest.approx(noise, rel=0.1)
    assert fmean(ratios) == pytest.approx(0, abs=noise / 5)
    assert not any(each.anomalies for each in series)


def test_an_anomaly_changes_the_regular_writes_of_its_days(planted: Sequence[Series]) -> None:
    for series in planted:
        for number, anomaly in enumerate(series.anomalies):
            writes = [write for write in series.writes if write.anomaly == number]
            assert series.day_of(writes[0].time_us) == anomaly.day
            assert len(writes) == 1 or anomaly.is_lasting
            assert writes[-1].time_us - writes[0].time_us < 5 * DAY_US
            for write in writes:
                low, high = (write.expected * anomaly.change.factor * math.exp(each * 0.05) for each in (-5, 5))
                assert math.floor(low) <= write.rows <= math.ceil(high)


def test_the_series_have_together_everything_that_is_planted(planted: Sequence[Series]) -> None:
    assert {series.weekday for series in planted} == set(WEEKDAYS)
    assert {series.month for series in planted} == {"none", *MONTHS}
    assert {series.growth for series in planted} == {"none", "linear", "exponential", "shift"}
    assert {series.cadence for series in planted} == {"daily", "weekly"}
    assert {write.kind for series in planted for write in series.writes} == {"regular", "repeat", "backfill"}
    kinds = {(each.change, each.is_lasting) for series in planted for each in series.anomalies}
    assert kinds == {(change, is_lasting) for change in CHANGES for is_lasting in (False, True)}
    for series in planted:
        times = [write.time_us for write in series.writes]
        assert times == sorted(times)
        assert 0 <= series.day_of(times[0]) <= series.day_of(times[-1]) < DAYS
        gaps = [later.day - each.day for each, later in zip(series.anomalies, series.anomalies[1:], strict=False)]
        assert min(gaps) >= 26


def test_an_hourly_writer_writes_every_hour() -> None:
    series = make_series(0, 0.1, is_planted=True)
    assert series.cadence == "hourly"
    assert len(series.writes) > 20 * DAYS * (5 / 7 if series.weekday == "weekend unwritten" else 1)


def test_a_detector_that_knows_the_labels_has_the_best_figures(planted: Sequence[Series]) -> None:
    found = values(planted)
    assert found["false alarms, series with anomalies, noise 5%"] == 0
    assert found["drop of 40 %, noise up to 10%, first run"] == 100
    assert found["rise x1.5, noise 5%, first run"] == 100


def test_a_detector_that_never_alarms_finds_nothing(planted: Sequence[Series]) -> None:
    found = values(planted, never)
    assert found["false alarms, series with anomalies, noise 5%"] == 0
    assert found["drop to zero, noise 5%, first run"] == 0


def test_the_fixed_rule_finds_large_drops_and_fails_on_seasons(planted: Sequence[Series]) -> None:
    found = values(planted, fixed_rule)
    assert found["drop to zero, noise 5%, first run"] == 100
    assert found["drop of 20 %, noise 5%, first run"] < 50
    assert found["false alarms, series with anomalies, noise 5%"] > 100


def test_a_series_that_is_not_judged_counts_as_such(planted: Sequence[Series]) -> None:
    found = values(planted, lambda _history, _now: "not judged")
    assert found["series not judged, noise 5%"] == 100
    assert found["false alarms, series with anomalies, noise 5%"] == 0
    assert found["drop of 90 %, noise 5%, first run"] == 0


def test_a_detector_sees_only_earlier_writes() -> None:
    series = make_series(1, 0.02, is_planted=False)
    points = [(write.time_us, write.rows) for write in series.writes]
    calls = 0

    def judge(history: Sequence[Point], now: Point) -> Verdict:
        nonlocal calls
        assert [*history, now] == points[: len(history) + 1]
        calls += 1
        return "usual"

    judge_series(series, judge)
    assert calls == len(points)


def test_alarms_count_by_days_without_anomalous_and_settling_writes() -> None:
    def write(day: float, **labels: object) -> Write:
        return Write(int(day * DAY_US), 10, 10.0, **labels)  # type: ignore[arg-type]

    drop = Anomaly(4, CHANGES[0], True)
    writes = (
        write(1), write(1.5), write(2), write(3),  # three days with false alarms
        write(4, anomaly=0), write(4.5, kind="backfill"),  # a backfill on the day of an anomaly is normal
        write(5, anomaly=0),  # this day does not count for false alarms
        write(6, is_settling=True),  # nor does this one
    )  # fmt: skip
    series = Series(0, 0.02, "daily", False, "none", "none", "shift", 0, 6, (drop,), writes)
    always = judge_series(series, lambda _history, _now: "unusual")
    assert (always.days, always.alarm_days, always.judged_days) == (DAYS - 2, 4, 4)
    assert (always.anomalies[0].first, always.anomalies[0].is_found, always.shift) == ("unusual", True, "unusual")
    late = judge_series(series, lambda _, now: "unusual" if now[0] == 5 * DAY_US else "not judged")
    assert (late.alarm_days, late.anomalies[0].first, late.anomalies[0].is_found) == (0, "not judged", True)


def test_headwater_finds_drops_without_false_alarms_of_season(planted: Sequence[Series]) -> None:
    judged = [judge_series(each, headwater(each)) for each in planted[:20]]
    found = {each.name: each.value for each in figures(judged)}
    assert found["false alarms, series with anomalies, noise 5%"] <= 2
    assert found["drop of 40 %, noise up to 10%, first run"] >= 85
    assert found["rise x30, noise 5%, first run"] == 100
