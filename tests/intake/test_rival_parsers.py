"""Parsers on one partition are killed and overtaken at any step. Afterwards every record is in exactly one table."""

import random
from collections.abc import Generator
from dataclasses import dataclass, field

import pytest

from headwater.events.position import Source
from headwater.lake.settling import BatchAttempt, SettledAttempts, count_attempts, lowest_unsettled_sequence
from headwater.tables import DUPLICATES, REJECTED
from tests.support.few_of_many import few_of

SOURCE = Source("local", "life", "0")


@dataclass
class Table:
    """A simplified table: rows by sequence number, transactions by name."""

    rows: set[int] = field(default_factory=set)
    marks: dict[str, int] = field(default_factory=dict)

    def watermark(self, app_id: str) -> int | None:
        return self.marks.get(app_id)


@dataclass
class Lake:
    """A parser's steps on tables of numbers. Each step is one commit or one read."""

    rejected: Table = field(default_factory=Table)
    events: Table = field(default_factory=Table)

    @property
    def tables(self) -> dict[str, Table]:
        return {REJECTED.name: self.rejected, DUPLICATES.name: Table()}

    def watermark(self) -> int:
        return self.events.watermark(SOURCE.app_id) or 0

    def parser(self, draw: random.Random) -> Generator[None]:
        """Run the parser's steps: settle, judge a batch, commit to `rejected` and `events`, and withdraw.

        Other parsers run at each `yield`.
        """
        settled, decided = SettledAttempts(0, {}, is_sure=False), set[int]()
        while True:
            watermark = self.watermark()
            if not settled.is_sure or watermark != settled.watermark:
                settled = yield from self.settle(watermark)
                decided = {each for each in self.rejected.rows if each > watermark}
                yield
            batch = range(watermark + 1, watermark + 1 + draw.randint(1, 8))
            out = {each for each in batch if each not in decided and draw.random() < 0.3}
            attempt = BatchAttempt(SOURCE, settled)
            if out:
                yield
                self.append(
                    self.rejected,
                    out - self.rejected.rows,
                    batch[-1],
                    lambda read, of=attempt: of.count_attempt(REJECTED.name, read),
                )
            yield
            passed = self.watermark()
            stored = {each for each in batch if each > passed and each not in out and each not in decided}
            self.append(self.events, stored, batch[-1], attempt.settled_transactions)
            if out and passed >= min(out):
                yield
                self.take_back(min(out) - 1, max(out))
            settled = attempt.settled_after(batch[-1], passed)
            yield

    def append(self, table: Table, fresh: set[int], last: int, beside) -> None:  # type: ignore[no-untyped-def]
        done = table.watermark(SOURCE.app_id) or 0
        if fresh or last > done:
            moved = beside(table.watermark)
            table.rows |= fresh
            table.marks |= {SOURCE.app_id: max(last, done), **dict(moved)}

    def settle(self, watermark: int) -> Generator[None, None, SettledAttempts]:
        attempts = count_attempts(self.tables, SOURCE)  # type: ignore[arg-type]
        yield
        lowest = lowest_unsettled_sequence(self.tables, self.events, SOURCE, attempts)  # type: ignore[arg-type]
        yield
        if lowest is not None:
            self.take_back(lowest - 1, watermark)
        return SettledAttempts(watermark, attempts)

    def take_back(self, after: int, last: int) -> None:
        self.rejected.rows -= {each for each in self.events.rows if after < each <= last}


@pytest.mark.parametrize("seed", few_of((18, *range(18)), 1))
def test_no_record_stays_in_two_tables_or_in_none(seed: int) -> None:
    looks = 0
    for world in range(500):
        draw = random.Random(f"{seed} {world}")
        lake, parsers = Lake(), list[Generator[None]]()
        for _ in range(draw.randint(10, 150)):
            if not parsers or (len(parsers) < 4 and draw.random() < 0.1):
                parsers.append(lake.parser(draw))
            one = draw.choice(parsers)
            next(one)
            if draw.random() < 0.04:
                parsers.remove(one)
        last = lake.settle(lake.watermark())
        attempts = count_attempts(lake.tables, SOURCE)  # type: ignore[arg-type]
        lowest = lowest_unsettled_sequence(lake.tables, lake.events, SOURCE, attempts)  # type: ignore[arg-type]
        looks += lowest is not None
        for _ in last:
            pass
        placed = [*lake.events.rows, *(each for each in lake.rejected.rows if each <= lake.watermark())]
        assert sorted(placed) == list(range(1, lake.watermark() + 1)), (seed, world)
    assert 50 < looks < 500


def test_a_parser_alone_leaves_nothing_to_look_for_also_where_it_is_killed() -> None:
    for world in range(200):
        draw = random.Random(world)
        lake = Lake()
        for _ in range(5):
            one = lake.parser(draw)
            for _ in range(draw.randint(1, 40)):
                next(one)
        attempts = count_attempts(lake.tables, SOURCE)  # type: ignore[arg-type]
        lowest = lowest_unsettled_sequence(lake.tables, lake.events, SOURCE, attempts)  # type: ignore[arg-type]
        assert lowest is None or lowest > lake.watermark() or not lake.events.marks
