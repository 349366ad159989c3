"""Which judgements of parsers on one partition are settled, counted in the tables: who begins need not look at rows.

`duplicates` and `rejected` say of a record that it is no event. Each commit of theirs is an attempt: it moves the
table's transaction `…/attempts` by one and notes, in `…/lowest`, from which sequence on attempts may be unsettled. The
commit of `events` that decides notes the attempts that it knows to be settled: those of before, and its own where
nobody else's came between. As long as the numbers are equal no two parsers have judged one record.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from headwater.events.position import Source
from headwater.lake.open_table import OpenTable
from headwater.tables import DUPLICATES, REJECTED

JUDGED = (DUPLICATES.name, REJECTED.name)

Read = Callable[[str], int | None]
"""Tells a table's newest transaction of a name."""


class Settled(NamedTuple):
    """What a parser knows of attempts up to a watermark; is_sure: whether it need not look before it goes on."""

    watermark: int
    attempts: Mapping[str, int]
    is_sure: bool = True


@dataclass(slots=True)
class Attempt:
    """One batch of a parser that began with what was `settled`."""

    source: Source
    settled: Settled
    _found: dict[str, int] = field(default_factory=dict)

    def count(self, table: str, read: Read) -> Sequence[tuple[str, int]]:
        """Return the transactions that a commit to a judged table sets."""
        found = self._found[table] = read(_attempts(self.source)) or 0
        lowest = self.settled.watermark + 1
        if found != self._known(table):
            lowest = min(lowest, read(_lowest(self.source)) or lowest)
        return [(_attempts(self.source), found + 1), (_lowest(self.source), lowest)]

    def note(self, read: Read) -> Sequence[tuple[str, int]]:
        """Return the transactions that the commit of `events` sets.

        Where it decides, that is no other has since it began, its own attempts are settled with those before; else it
        may only say less than there is: somebody may have decided without knowing of an attempt.
        """
        decides = (read(self.source.app_id) or 0) == self.settled.watermark
        noted = {
            table: self._after(table) if decides else min(self._known(table), read(_settled(self.source, table)) or 0)
            for table in JUDGED
        }
        return [(_settled(self.source, table), count) for table, count in noted.items()]

    def done(self, last: int, passed: int) -> Settled:
        """Return what is known behind the commit of `events`, which found its watermark at `passed`."""
        is_alone = all(found == self._known(table) for table, found in self._found.items())
        if passed != self.settled.watermark or not is_alone:
            return self.settled._replace(is_sure=False)
        return Settled(last, {table: self._after(table) for table in JUDGED})

    def _known(self, table: str) -> int:
        return self.settled.attempts.get(table, 0)

    def _after(self, table: str) -> int:
        known = self._known(table)
        return known + (self._found.get(table) == known)


def attempts_so_far(tables: Mapping[str, OpenTable], source: Source) -> dict[str, int]:
    """Return how many attempts each judged table has seen."""
    return {table: tables[table].watermark(_attempts(source)) or 0 for table in JUDGED}


def lowest_unsettled(
    tables: Mapping[str, OpenTable], events: OpenTable, source: Source, attempts: Mapping[str, int]
) -> int | None:
    """Return the sequence from which on two parsers may have judged a record, None where all is settled.

    The first of all for a lake that an older version wrote, which did not count.
    """
    found = []
    for table in JUDGED:
        settled = events.watermark(_settled(source, table))
        if settled is None:
            return 1
        if settled != attempts[table]:
            found.append(tables[table].watermark(_lowest(source)) or 1)
    return min(found, default=None)


def _attempts(source: Source) -> str:
    return f"{source.app_id}/attempts"


def _lowest(source: Source) -> str:
    return f"{source.app_id}/lowest"


def _settled(source: Source, table: str) -> str:
    return f"{source.app_id}/settled/{table}"
