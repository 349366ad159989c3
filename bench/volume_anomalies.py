"""Measure a detector of unusual volumes on planted series: false alarms, recall, series not judged, CPU.

`python -m bench.volume_anomalies [--quick] [--unseen] [--references] [--detector MODULE:NAME]` takes about five minutes
of CPU, or fifteen seconds with `--quick`. It measures `headwater.questions.volume`, with `--references` also simple and
ideal rules, or another detector. The floor is the rule ±50 % of the median of the last seven writes. `--unseen` uses
the seeds that are reserved for published figures.

The benchmark calls a detector for each write in chronological order, with the earlier writes as `history`. The detector
must not change `history`.

- False alarms: days (UTC) with an alarm on a write that is neither anomalous nor settling, per 3,000 days. Days without
  a write count too; days on which every write is anomalous or settling do not.
- Recall in the first run: the share of planted anomalies whose first write raises an alarm. "Not judged" is a miss.
- A series is not judged if the detector judges fewer than half of its writes after day 90.
"""

import argparse
import importlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, median
from typing import Literal

from bench.figures import Figure, show
from bench.volume_worlds import (
    CHANGES,
    DAYS,
    DEVELOPMENT_SEEDS,
    FIRST_ANOMALY_DAY,
    HOUR_US,
    NOISES,
    QUICK_SEEDS,
    UNSEEN_SEEDS,
    Anomaly,
    Cadence,
    Series,
    all_series,
)
from headwater.questions.volume import VolumeRhythm

Verdict = Literal["usual", "unusual", "not judged"]
Point = tuple[int, int]
"""Time of a write (µs since 1970, UTC) and its row count."""

Detector = Callable[[Sequence[Point], Point], Verdict]
"""Judges the newest write, given all earlier writes (oldest first)."""

FALSE_ALARMS_GOAL = 1.0
PER_DAYS = 3000
RECALL_GOAL = 95.0
GOAL_CHANGE, GOAL_NOISE = "drop of 40 %", 0.10


@dataclass(frozen=True, slots=True)
class AnomalyResult:
    """Whether the detector found an anomaly: its verdict on the first write, and whether any write raised an alarm."""

    anomaly: Anomaly
    first: Verdict
    is_found: bool


@dataclass(frozen=True, slots=True)
class SeriesResult:
    """The results for one series; `judged_days` counts the days among `days` with a judged write."""

    noise: float
    cadence: Cadence
    is_planted: bool
    days: int
    judged_days: int
    alarm_days: int
    writes: int
    late_writes: int
    late_judged: int
    cpu_s: float
    anomalies: tuple[AnomalyResult, ...]
    shift: Verdict | None

    @property
    def is_judged(self) -> bool:
        """Whether at least half of the writes after day 90 are judged."""
        return 2 * self.late_judged >= self.late_writes


def fixed_rule(history: Sequence[Point], now: Point) -> Verdict:
    """Alarm outside ±50 % of the median of the last seven writes."""
    if len(history) < 7:
        return "not judged"
    usual = median(rows for _, rows in history[-7:])
    return "usual" if 0.5 * usual <= now[1] <= 1.5 * usual else "unusual"


def never(_history: Sequence[Point], _now: Point) -> Verdict:
    """Never raise an alarm."""
    return "usual"


def same_weekday(history: Sequence[Point], now: Point) -> Verdict:
    """Alarm at five deviations (MAD), at least 30 %, from the median of eight writes at the same weekday and hour.

    0 rows count as half a row.
    """
    hour = now[0] // HOUR_US
    past = [
        math.log(rows or 0.5) for time_us, rows in history[-1400:] if (hour - time_us // HOUR_US) % 168 in (0, 1, 167)
    ]
    past = past[-8:]
    if len(past) < 4:
        return "not judged"
    usual = median(past)
    deviation = 1.4826 * median(abs(each - usual) for each in past)
    return "usual" if abs(math.log(now[1] or 0.5) - usual) <= max(5 * deviation, -math.log(0.7)) else "unusual"


def all_known(series: Series) -> Detector:
    """Return the rule that knows the expected rows and the noise of each write: a ceiling for every detector.

    Its limit is the quantile for one false alarm in 6,000 days, half of the goal.
    """
    a_day = {"hourly": 24.0, "daily": 1.0, "weekly": 1 / 7}[series.cadence]
    limit = series.noise * NormalDist().inv_cdf(1 - 1 / (2 * PER_DAYS) / a_day / 2)
    expected = {(write.time_us, write.rows): write.expected for write in series.writes}

    def judge(_history: Sequence[Point], now: Point) -> Verdict:
        usual = expected[now]
        return "usual" if usual * math.exp(-limit) - 1 <= now[1] <= usual * math.exp(limit) + 1 else "unusual"

    return judge


def judge_series(series: Series, detector: Detector) -> SeriesResult:
    """Feed a series write by write, and compare the verdicts with the labels."""
    history: list[Point] = []
    verdicts: list[Verdict] = []
    before = time.process_time()
    for write in series.writes:
        now = write.time_us, write.rows
        verdicts.append(detector(history, now))
        history.append(now)
    cpu_s = time.process_time() - before
    return _compared(series, verdicts, cpu_s)


def _compared(series: Series, verdicts: Sequence[Verdict], cpu_s: float) -> SeriesResult:
    normal: set[int] = set()
    labelled: set[int] = set()
    alarms: set[int] = set()
    judged: set[int] = set()
    of_anomaly: list[list[Verdict]] = [[] for _ in series.anomalies]
    late_writes = late_judged = 0
    shift: Verdict | None = None
    for write, verdict in zip(series.writes, verdicts, strict=True):
        day = series.day_of(write.time_us)
        if day >= FIRST_ANOMALY_DAY:
            late_writes += 1
            late_judged += verdict != "not judged"
        if write.anomaly is not None:
            labelled.add(day)
            of_anomaly[write.anomaly].append(verdict)
        elif write.is_settling:
            labelled.add(day)
            shift = shift or (verdict if write.kind == "regular" else None)
        else:
            normal.add(day)
            if verdict == "unusual":
                alarms.add(day)
            if verdict != "not judged":
                judged.add(day)
    results = tuple(
        AnomalyResult(anomaly, each[0], "unusual" in each)
        for anomaly, each in zip(series.anomalies, of_anomaly, strict=True)
    )
    return SeriesResult(
        series.noise, series.cadence, bool(series.anomalies), DAYS - len(labelled - normal), len(judged), len(alarms),
        len(series.writes), late_writes, late_judged, cpu_s, results, shift,
    )  # fmt: skip


def measure(
    seeds: Sequence[int], detectors: Mapping[str, Callable[[Series], Detector]]
) -> dict[str, list[SeriesResult]]:
    """Run each detector on every series, clean and planted, at every noise level."""
    results: dict[str, list[SeriesResult]] = {name: [] for name in detectors}
    for noise in NOISES:
        for is_planted in (False, True):
            for series in all_series(seeds, noise, is_planted=is_planted):
                for name, detector_for in detectors.items():
                    results[name].append(judge_series(series, detector_for(series)))
    return results


def figures(results: Sequence[SeriesResult], floor: Sequence[SeriesResult] | None = None) -> list[Figure]:
    """Return the figures of a detector, with those of the floor on the same series."""
    own = list(_figures(results))
    floors: list[Figure] | list[None] = [None] * len(own) if floor is None else list(_figures(floor))
    return [
        Figure(each.name, each.value, each.unit, each.goal, each.sense, None if of_floor is None else of_floor.value)
        for each, of_floor in zip(own, floors, strict=True)
    ]


def _figures(results: Sequence[SeriesResult]) -> Iterator[Figure]:
    by_noise = {noise: [each for each in results if each.noise == noise] for noise in NOISES}
    for is_planted, name in ((False, "clean series"), (True, "series with anomalies")):
        for noise, every in by_noise.items():
            some = [each for each in every if each.is_planted is is_planted]
            rate = _per_days(sum(each.alarm_days for each in some), sum(each.days for each in some))
            yield Figure(f"false alarms, {name}, noise {noise:.0%}", rate, "/3000 days", FALSE_ALARMS_GOAL)
    for noise, every in by_noise.items():
        rate = _per_days(sum(each.alarm_days for each in every), sum(each.judged_days for each in every))
        yield Figure(f"false alarms by judged days, noise {noise:.0%}", rate, "/3000 days")
    for cadence in ("hourly", "daily", "weekly"):
        some = [each for each in results if each.cadence == cadence]
        rate = _per_days(sum(each.alarm_days for each in some), sum(each.days for each in some))
        yield Figure(f"false alarms, {cadence} writers", rate, "/3000 days")
    yield from _recalls(results)
    for noise, every in by_noise.items():
        share = 100 * _share([not each.is_judged for each in every])
        yield Figure(f"series not judged, noise {noise:.0%}", share, "%")
    shifts = [each.shift == "unusual" for each in results if each.shift is not None]
    yield Figure("level shifts with an alarm on the first write", 100 * _share(shifts), "%")
    writes = sum(each.writes for each in results)
    yield Figure("CPU per judgement, mean", 1e6 * sum(each.cpu_s for each in results) / writes, "us")
    yield Figure("CPU per judgement, slowest series", 1e6 * max(each.cpu_s / each.writes for each in results), "us")


def _recalls(results: Sequence[SeriesResult]) -> Iterator[Figure]:
    every = [(series, result) for series in results for result in series.anomalies]
    of_goal = [
        (series, result)
        for series, result in every
        if result.anomaly.change.name == GOAL_CHANGE and series.noise <= GOAL_NOISE
    ]
    goal = f"{GOAL_CHANGE}, noise up to {GOAL_NOISE:.0%}"
    yield Figure(f"{goal}, first run", _recall([each for _, each in of_goal]), "%", RECALL_GOAL, ">=")
    judged = [each for _, each in of_goal if each.first != "not judged"]
    yield Figure(f"{goal}, of the judged", _recall(judged), "%")
    for cadence in ("hourly", "daily", "weekly"):
        some = [each for series, each in of_goal if series.cadence == cadence]
        yield Figure(f"{goal}, {cadence} writers", _recall(some), "%")
    lasting = [each for _, each in of_goal if each.anomaly.is_lasting]
    yield Figure(f"{goal}, lasting", _recall(lasting), "%")
    yield Figure(f"{goal}, lasting, within five days", 100 * _share([each.is_found for each in lasting]), "%")
    for change in CHANGES:
        for noise in NOISES:
            some = [each for series, each in every if series.noise == noise and each.anomaly.change == change]
            yield Figure(f"{change.name}, noise {noise:.0%}, first run", _recall(some), "%")


def _recall(results: Sequence[AnomalyResult]) -> float:
    return 100 * _share([each.first == "unusual" for each in results])


def _per_days(number: int, days: int) -> float:
    return PER_DAYS * number / days if days else math.nan


def _share(answers: Sequence[bool]) -> float:
    return sum(answers) / len(answers) if answers else math.nan


def describe(results: Sequence[SeriesResult]) -> str:
    """Return a summary of the measured series."""
    counts = (
        (len(results), "series"),
        (sum(each.days for each in results), "dataset-days"),
        (sum(each.writes for each in results), "writes"),
        (sum(len(each.anomalies) for each in results), "anomalies"),
    )
    return ", ".join(f"{number:,} {name}" for number, name in counts)


def for_any(detector: Detector) -> Callable[[Series], Detector]:
    """Return a factory that ignores the series; only reference detectors use it."""
    return lambda _: detector


def headwater(_series: Series) -> Detector:
    """Return Headwater's detector, which adds each earlier write once."""
    rhythm = VolumeRhythm()
    number = 0

    def judge(history: Sequence[Point], now: Point) -> Verdict:
        nonlocal number
        for write in history[number:]:
            rhythm.add(write)
        number = len(history)
        return rhythm.judge(now).verdict

    return judge


REFERENCES: Mapping[str, Callable[[Series], Detector]] = {
    "never": for_any(never),
    "same weekday and hour": for_any(same_weekday),
    "expected rows and noise known (ceiling)": all_known,
}


def run(seeds: Sequence[int] = DEVELOPMENT_SEEDS[:QUICK_SEEDS]) -> list[Figure]:
    """Return the figures of Headwater's detector."""
    results = measure(seeds, {"floor": for_any(fixed_rule), "headwater": headwater})
    return figures(results["headwater"], results["floor"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_SEEDS} seeds instead of {len(UNSEEN_SEEDS)}")
    parser.add_argument("--unseen", action="store_true", help="use the seeds for published figures")
    parser.add_argument("--references", action="store_true", help="also measure the reference detectors")
    parser.add_argument("--detector", metavar="MODULE:NAME", help="a function of the history and the newest write")
    given = parser.parse_args()
    seeds = UNSEEN_SEEDS if given.unseen else DEVELOPMENT_SEEDS
    detectors = {"headwater.questions.volume": headwater, **(REFERENCES if given.references else {})}
    if given.detector:
        module, _, name = given.detector.partition(":")
        detectors = {given.detector: for_any(getattr(importlib.import_module(module), name))}
    floor = "fixed rule"
    results = measure(seeds[:QUICK_SEEDS] if given.quick else seeds, {floor: for_any(fixed_rule), **detectors})
    print(describe(results[floor]))
    for name in detectors:
        show(f"Unusual volumes: {name}", figures(results[name], results[floor]))


if __name__ == "__main__":
    main()
