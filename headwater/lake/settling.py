"""Counts attempts of parsers in table transactions, so that a starting parser need not search rows for conflicts.

A row in `duplicates` or `rejected` means that a parser decided not to store a record as an event. Each commit to one of
these tables is an attempt. The commit increases the table's transaction `…/attempts` by one, and stores in `…/lowest`
the first sequence with a decision that may not be settled.

The commit to `events` settles the batch. It stores the number of settled attempts: the earlier attempts, and those of
the batch unless another parser committed in between. As long as both numbers are equal, no two parsers have decided
about the same record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headwater.events.position import Source
from headwater.lake.open_table import OpenTable
from headwater.tables import DUPLICATES, REJECTED

JUDGED = (DUPLICATES.name, REJECTED.name)

Read = Callable[[str], int | None]
"""Returns the newest transaction of a table for an `app_id`, or None if there is none."""


class SettledAttempts(NamedTuple):
    """The number of attempts, by table, that a parser knows to be settled up to a watermark.

    is_sure: False if another parser committed in between, so that the numbers must be read again.
    """

    watermark: int
    attempts: Mapping[str, int]
    is_sure: bool = True


@dataclass(slots=True)
class BatchAttempt:
    """One batch of a parser, which started with the state `settled`."""

    source: Source
    settled: SettledAttempts
    _found: dict[str, int] = field(default_factory=dict)

    def count_attempt(self, table: str, read: Read) -> Sequence[tuple[str, int]]:
        """Return the transactions of a commit to `duplicates` or `rejected`, as (app_id, version).

        table: the name of the table. read: returns a transaction of the table before the commit.
        """
        found = self._found[table] = read(_attempts_transaction(self.source)) or 0
        lowest = self.settled.watermark + 1
        if found != self._settled_before(table):
            lowest = min(lowest, read(_lowest_transaction(self.source)) or lowest)
        return [(_attempts_transaction(self.source), found + 1), (_lowest_transaction(self.source), lowest)]

    def settled_transactions(self, read: Read) -> Sequence[tuple[str, int]]:
        """Return the transactions of the commit to `events`, as (app_id, version).

        If no other parser committed to `events` since this batch started, the attempts of the batch are settled, too.
        Otherwise, the smaller number of settled attempts is stored, because the other parser may not have known of an
        attempt.
        """
        decides = (read(self.source.app_id) or 0) == self.settled.watermark
        noted = {
            table: self._settled_after_commit(table)
            if decides
            else min(self._settled_before(table), read(_settled_transaction(self.source, table)) or 0)
            for table in JUDGED
        }
        return [(_settled_transaction(self.source, table), count) for table, count in noted.items()]

    def settled_after(self, last: int, passed: int) -> SettledAttempts:
        """Return the settled attempts after the commit to `events`.

        last: the watermark after the commit. passed: the watermark that the commit found.
        """
        is_alone = all(found == self._settled_before(table) for table, found in self._found.items())
        if passed != self.settled.watermark or not is_alone:
            return self.settled._replace(is_sure=False)
        return SettledAttempts(last, {table: self._settled_after_commit(table) for table in JUDGED})

    def _settled_before(self, table: str) -> int:
        return self.settled.attempts.get(table, 0)

    def _settled_after_commit(self, table: str) -> int:
        known = self._settled_before(table)
        return known + (self._found.get(table) == known)


def count_attempts(tables: Mapping[str, OpenTable], source: Source) -> dict[str, int]:
    """Return the number of attempts in tables `duplicates` and `rejected`, by table name."""
    return {table: tables[table].watermark(_attempts_transaction(source)) or 0 for table in JUDGED}


def lowest_unsettled_sequence(
    tables: Mapping[str, OpenTable], events: OpenTable, source: Source, attempts: Mapping[str, int]
) -> int | None:
    """Return the first sequence about which two parsers may have decided; None if all attempts are settled.

    Returns 1 for a lake of an older version, which did not count attempts.
    """
    found = []
    for table in JUDGED:
        settled = events.watermark(_settled_transaction(source, table))
        if settled is None:
            return 1
        if settled != attempts[table]:
            found.append(tables[table].watermark(_lowest_transaction(source)) or 1)
    return min(found, default=None)


def _attempts_transaction(source: Source) -> str:
    return f"{source.app_id}/attempts"


def _lowest_transaction(source: Source) -> str:
    return f"{source.app_id}/lowest"


def _settled_transaction(source: Source, table: str) -> str:
    return f"{source.app_id}/settled/{table}"
