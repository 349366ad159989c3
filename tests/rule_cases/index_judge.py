"""The index as a judge: events arrive in small batches, its writer restarts, and questions are those of the API."""

from contextlib import ExitStack
from datetime import datetime
from random import Random
from typing import Any, Self

from headwater.common.errors import NotKnown
from headwater.common.paging import ListPage
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Subject
from headwater.questions.surface import find_surface, surface_answer
from headwater.questions.unused import verdicts_answer
from tests.index.test_reference import FAR, RULES, indexed, key_of
from tests.reference.world_events import START
from tests.rule_cases.case import Ask
from tests.rule_cases.events import LAKE
from tests.rule_cases.judges import Judge, column_of, linked, spelt_by, told_hit, told_links, told_verdict

WHOLE = ListPage(limit=10_000)


class Index(Judge):
    """Returns the answers that the index gives over HTTP."""

    answers = frozenset(
        {"surface", "until", "tagged", "tagged_until", "unused", "impact", "upstream", "stops", "links", "spelt"}
    )

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            open_views = stack.enter_context(indexed(self.delivered, Random(len(self.delivered))))
            self.here = stack.enter_context(open_views.open_view(AsOf(as_of_us=self.as_of_us, only_newest=True)))
            self._opened = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._opened.close()

    def surface(self, ask: Ask) -> Any:
        return self._by_column(ask, tagged=False)

    def until(self, ask: Ask) -> Any:
        return self._until(ask, tagged=False)

    def tagged(self, ask: Ask) -> Any:
        return self._by_column(ask, tagged=True)

    def tagged_until(self, ask: Ask) -> Any:
        return self._until(ask, tagged=True)

    def _by_column(self, ask: Ask, *, tagged: bool) -> Any:
        return {told(self.here, item): item.exposure for item in self._exposures(ask) if item.tagged is tagged}

    def _until(self, ask: Ask, *, tagged: bool) -> Any:
        items = [item for item in self._exposures(ask) if item.tagged is tagged]
        found = {told(self.here, item): item.exposed_until for item in items}
        return {column: seconds(time) for column, time in found.items() if time is not None}

    def unused(self, ask: Ask) -> Any:
        found = verdicts_answer(
            self.here.snapshot,
            self.here.rules,
            self.here.counted_edges,
            asked=None,
            page=WHOLE,
            strict=ask.strict,
        )
        return {
            told(self.here, item).removeprefix(f"{ask.about}."): told_verdict(item.verdict, item.reason or "")
            for item in found.items
            if item.dataset == ask.about
        }

    def impact(self, ask: Ask) -> Any:
        return hits(self.here, reached(self.here, ask, forward=True))

    def upstream(self, ask: Ask) -> Any:
        return hits(self.here, reached(self.here, ask, forward=False))

    def stops(self, ask: Ask) -> Any:
        return {stop.dataset for stop in reached(self.here, ask, forward=True).stops}

    def links(self, ask: Ask) -> Any:
        here, name = self.here, (LAKE, ask.about)
        return told_links(lambda forward: linked(here.snapshot, here.counted_edges, name, forward=forward))

    def spelt(self, ask: Ask) -> Any:
        return spelt_by(self.here.snapshot, LAKE, ask)

    def _exposures(self, ask: Ask) -> Any:
        tag, source = ask.tag, None if ask.tag else Subject(*column_of(ask.about))
        try:
            looked = find_surface(self.here.snapshot, self.here.rules, self.here.counted_edges, tag=tag, source=source)
        except NotKnown:
            return []
        return surface_answer(self.here.snapshot, looked, tag=tag, page=WHOLE).items


def reached(here: View, ask: Ask, *, forward: bool) -> Any:
    subject = Subject(*column_of(ask.about))
    return reach_answer(here.snapshot, RULES, subject, here.counted_edges, forward=forward, mode=ask.mode, bounds=FAR)


def hits(here: View, found: Any) -> dict[str, str]:
    return {
        told(here, item): told_hit(item.distance, item.masked, item.read_before_recreation) for item in found.columns
    }


def told(here: View, item: Any) -> str:
    return f"{item.dataset}.{key_of(here, item)[-1]}"


def seconds(time: str) -> float:
    """Convert a time of the API to seconds since the start of the test data."""
    return (datetime.fromisoformat(time) - START).total_seconds()
