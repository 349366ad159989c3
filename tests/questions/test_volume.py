"""Judging the row count of a write by weekday, month end and schedule, and the writes that are not judged."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from bench.volume_worlds import make_series
from headwater.questions.month_ends import SEASONS
from headwater.questions.volume import Judgement, Write, judge_series, judge_volume

MONDAY = datetime(2024, 1, 1, 2, tzinfo=UTC)
WEEK = (1000, 1000, 1000, 1000, 1000, 300, 200)


def us(moment: datetime) -> int:
    return int(moment.timestamp()) * 1_000_000


def daily(days: int, *, noise: float = 0.05, week: Sequence[int] = WEEK, month_end: float = 1) -> list[Write]:
    """Return one write a day, starting on a Monday. `month_end` multiplies the rows on the last day of a month."""
    chance = Random(1)
    writes = []
    for day in range(days):
        moment = MONDAY + timedelta(days=day)
        of_month = month_end if SEASONS["last day"](moment.date()) else 1
        rows = 100 * week[moment.weekday()] * of_month * (1 + noise * chance.gauss(0, 1))
        writes.append((us(moment), round(rows)))
    return writes


def judged(history: Sequence[Write], rows: int, *, hours: float = 0) -> Judgement:
    """Judge the write that follows a daily history, by default on time."""
    moment = MONDAY + timedelta(days=len(history), hours=hours)
    return judge_volume(history, (us(moment), rows))


def test_a_drop_is_unusual_on_the_weekday_on_which_it_is_one() -> None:
    sunday, monday = daily(90), daily(91)
    assert (MONDAY + timedelta(days=90)).weekday() == 6
    assert judged(sunday, 20_000).verdict == "usual"
    assert judged(monday, 100_000).verdict == "usual"
    drop = judged(monday, 60_000)
    assert drop.verdict == "unusual"
    assert drop.low is not None
    assert drop.high is not None
    assert drop.smallest_drop is not None
    assert drop.low < 100_000 < drop.high
    assert drop.expected is not None
    assert drop.expected == pytest.approx(100_000, rel=0.05)
    assert drop.low == pytest.approx((1 - drop.smallest_drop) * drop.expected)


def test_a_peak_at_month_ends_is_expected_at_the_next() -> None:
    history = daily(120, month_end=3)
    assert judged(history, 300_000).verdict == "usual"
    assert judged(history, 100_000).verdict == "unusual"
    assert (MONDAY + timedelta(days=120)).strftime("%B %d") == "April 30"


def test_a_month_end_is_not_judged_before_two_of_them_are_known() -> None:
    judgement = judged(daily(59), 10_000)
    assert (MONDAY + timedelta(days=59)).strftime("%B %d") == "February 29"
    assert (judgement.verdict, judgement.reason) == ("not judged", "the history has too few ends of a month")


def test_too_little_history_is_not_judged_and_states_the_smallest_drop() -> None:
    judgement = judged(daily(25), 10)
    assert (judgement.verdict, judgement.reason) == ("not judged", "too little history")
    assert judgement.smallest_drop is not None
    assert 0.1 < judgement.smallest_drop < 0.7
    assert judged([], 10).reason == "too few writes to find the schedule"


def test_a_noisy_dataset_is_not_judged() -> None:
    chance = Random(2)
    history = [(time_us, round(rows * 10 ** chance.gauss(0, 0.5))) for time_us, rows in daily(100, noise=0)]
    judgement = judged(history, 0)
    assert (judgement.verdict, judgement.reason) == ("not judged", "too much noise")
    assert judgement.smallest_drop is not None
    assert judgement.smallest_drop > 0.9


def test_a_day_that_usually_has_no_rows_is_not_judged() -> None:
    history = daily(90, week=(1000, 1000, 1000, 1000, 1000, 1000, 0))
    assert judged(history, 0).reason == "usually no rows at this time"


def test_a_second_write_on_a_day_is_not_judged_and_does_not_change_the_expected_rows() -> None:
    history = daily(91)
    again = (history[-1][0] + 3_600_000_000 * 5, 5)
    assert judge_volume(history, again).reason == "written again in the same period"
    assert judge_volume([*history, again], (us(MONDAY + timedelta(days=91)), 60_000)) == judged(history, 60_000)


def test_a_late_write_is_unusual_only_below_every_weekday() -> None:
    history = daily(91)
    assert judged(history, 20_000, hours=6).verdict == "not judged"
    assert judged(history, 2_000, hours=6).verdict == "unusual"


def test_after_an_outage_of_days_the_usual_rows_are_usual() -> None:
    history = daily(98)
    dropped = [*history[:91], *((time_us, rows // 3) for time_us, rows in history[91:95]), *history[95:]]
    verdicts = [each.verdict for each in judge_series(dropped)]
    assert verdicts[91:] == ["unusual"] * 4 + ["usual"] * 3


def test_a_level_that_stays_for_a_week_becomes_usual() -> None:
    history = [(time_us, rows // 3 if place >= 91 else rows) for place, (time_us, rows) in enumerate(daily(112))]
    verdicts = [each.verdict for each in judge_series(history)]
    assert verdicts[91] == "unusual"
    assert verdicts[100:] == ["usual"] * 12


def test_a_dataset_with_another_schedule_is_learnt_anew() -> None:
    daily_writes = daily(60)
    start = MONDAY + timedelta(days=60)
    hourly = [(us(start + timedelta(hours=hour, minutes=30)), 5000) for hour in range(24 * 50)]
    judgements = judge_series([*daily_writes, *hourly])
    assert judgements[-1].verdict == "usual"
    assert judgements[-1].expected == pytest.approx(5000, rel=0.01)


@pytest.mark.parametrize("rows", [0, -5, 10**30])
def test_any_number_of_rows_gets_a_verdict(rows: int) -> None:
    history = daily(91)
    history[40] = (history[40][0], rows)
    assert judged(history, 100_000).verdict == "usual"
    assert judged(history, rows).verdict == "unusual"


def test_growth_after_a_long_pause_gives_a_verdict() -> None:
    assert judged(daily(91), 100_000, hours=24 * 3000).verdict in ("usual", "unusual", "not judged")


@pytest.mark.parametrize("seed", [1, 2])
def test_one_pass_over_a_series_equals_a_judgement_of_each_write(seed: int) -> None:
    writes = [(write.time_us, write.rows) for write in make_series(seed, 0.1, is_planted=True).writes]
    in_one_pass = judge_series(writes)
    for place in range(0, len(writes), 23):
        assert judge_volume(writes[:place], writes[place]) == in_one_pass[place]
