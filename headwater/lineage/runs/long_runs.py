"""A run of many events in those that suffice, while every name in them means one dataset at any time."""

from collections.abc import Hashable, Iterable

from headwater.lineage.runs.newest_first import Order
from headwater.lineage.runs.run_facts import TERMINAL, EventContent, RunFacts

MANY = 100
"""Events of a run from which on it is kept so, and not read and folded anew with each batch."""


class FewFacts(list[RunFacts]):
    """Of a run of many events those that suffice; see `LongRun`."""


class LongRun:
    """The facts of one run, taken one by one.

    Of events that say the same, the newest has the last word whatever came between; of the others their times alone
    count, so the first, and those of least and greatest time, stand for all (rules 1 and 6). What adds up, or ends a
    dataset or an attempt, is kept each time it was said: `lineage` facets, DROP, RENAME, START, COMPLETE.
    """

    def __init__(self, facts: Iterable[RunFacts]):
        """Take the facts that there are."""
        self._ends: dict[Hashable, tuple[RunFacts, ...]] = {}
        self._each: dict[str, RunFacts] = {}
        for fact in facts:
            self.add(fact)

    def add(self, fact: RunFacts) -> None:
        """Take one more; one that was taken before makes no difference."""
        if fact.type in _ATTEMPT or not _says_it_once(fact.content):
            self._each[fact.event_id] = fact
            return
        key = (fact.content, fact.execution, fact.parent, fact.nominal_us, *fact.versions)
        first, last, earliest, latest = self._ends.get(key, (fact,) * 4)
        self._ends[key] = (
            min(first, fact, key=_order), max(last, fact, key=_order),
            min(earliest, fact, key=_moment), max(latest, fact, key=_moment),
        )  # fmt: skip

    def facts(self) -> FewFacts:
        """Return those that suffice, each once."""
        ends = {fact.event_id: fact for found in self._ends.values() for fact in found}
        return FewFacts([*ends.values(), *self._each.values()])


def _says_it_once(content: EventContent) -> bool:
    """Tell whether saying it again says nothing more."""
    uses = (*content.inputs, *content.outputs)
    return not content.declared and all(use.declared is None and use.lifecycle not in _ENDS for use in uses)


_ENDS = ("DROP", "RENAME")
_ATTEMPT = ("START", *TERMINAL)


def _order(fact: RunFacts) -> Order:
    return fact.order


def _moment(fact: RunFacts) -> tuple[int, str]:
    return fact.time_us, fact.event_id
