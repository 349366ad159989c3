"""Reduce the facts of a run with many events to those that decide, if each name in them always means one dataset."""

from collections.abc import Hashable, Iterable

from headwater.lineage.runs.event_order import Order
from headwater.lineage.runs.run_facts import TERMINAL, EventContent, RunFacts

MANY = 100
"""The number of events from which on a run is stored in this form, so that a batch does not merge all of them."""


class FewFacts(list[RunFacts]):
    """The deciding facts of a run with many events; see `LongRun`."""


class LongRun:
    """Selects the deciding facts of one run, one fact at a time.

    Of events with equal content, the newest decides. Of the others only the times count. So the first and the last in
    order (rule 1.3), and the earliest and the latest in time, represent all of them. Some events are all kept, because
    they add up or end a dataset or an attempt: those with `lineage` facets, DROP, RENAME, START, or a terminal type.
    """

    def __init__(self, facts: Iterable[RunFacts]):
        self._ends: dict[Hashable, tuple[RunFacts, ...]] = {}
        self._each: dict[str, RunFacts] = {}
        for fact in facts:
            self.add(fact)

    def add(self, fact: RunFacts) -> None:
        """Add a fact. Repeated facts make no difference."""
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
        """Return the deciding facts, each once."""
        ends = {fact.event_id: fact for found in self._ends.values() for fact in found}
        return FewFacts([*ends.values(), *self._each.values()])


def _says_it_once(content: EventContent) -> bool:
    """Tell whether a repetition of this content adds nothing."""
    uses = (*content.inputs, *content.outputs)
    return not content.declared and all(use.declared is None and use.lifecycle not in _ENDS for use in uses)


_ENDS = ("DROP", "RENAME")
_ATTEMPT = ("START", *TERMINAL)


def _order(fact: RunFacts) -> Order:
    return fact.order


def _moment(fact: RunFacts) -> tuple[int, str]:
    return fact.time_us, fact.event_id
