"""The rules of lineage case by case, by hand, held against silver and gold: all in one lake, late and repeated.

`make test` stores a sample of cases that covers all features, `make torture` stores all.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from headwater.lineage.names.dataset_name import Name
from headwater.questions.reach import reach_answer
from headwater.questions.subjects import Subject
from headwater.questions.surface import find_surface
from headwater.questions.unused import dataset_verdicts
from headwater.spark.gold.snapshot_of_rows import RowSnapshot
from headwater.spark.gold.snapshot_rows import sorted_rows
from headwater.spark.gold.surface_rows import SURFACED, surfaced_rows
from headwater.spark.silver.silver_names import BatchNaming
from headwater.tables import BINDINGS, DATASETS
from tests.index.test_reference import FAR
from tests.lineage.test_rule_cases import CASES, TOPICS, differences, shuffled, tagged
from tests.reference.world_events import Json, deliver
from tests.reference.worlds import prefix, world_in_namespace
from tests.rule_cases.case import Ask, Case
from tests.rule_cases.events import LAKE
from tests.rule_cases.judges import column_of, linked, spelt_by, told_hit, told_links, told_verdict
from tests.rule_cases.sample import sample_cases
from tests.support.spark.spark_lake import RULES, SparkLake, world_of
from tests.support.spark.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1800),
    *SPARK_NOISE,
]

NOW = [
    case
    for case in CASES
    if case.as_of is None and not case.name.startswith("R6.11 ") and b'"arn:' not in msgspec.json.encode(case.events)
]
"""Cases about the present; a namespace of Glue is none any more with something before it.

Gold does not know which jobs were deleted (rule 6.11).
"""


SAMPLE = {case.name for case in sample_cases(NOW, TOPICS)}

FIRST = 5_000
"""Number of the first story's world: others share its lake."""

Story = tuple[Case, list[Ask], list[Json]]
"""A case, its questions, and its events in the order in which they arrive."""


def stories() -> Iterator[Story]:
    """Yield all stories, each column whose surface is asked for tagged."""
    for case in NOW:
        tags, by_tag = tagged(case)
        asks = [ask for ask in (*case.asks, *by_tag) if ask.kind in ANSWERS and (ask.kind != "surface" or ask.tag)]
        if asks:
            yield case, asks, [*shuffled(case), *tags]


def sample_stories() -> Iterator[Story]:
    """Yield the stories of the sample of cases."""
    return (story for story in stories() if story[0].name in SAMPLE)


def bodies(told: Iterable[Story]) -> Iterator[list[bytes]]:
    """Yield the events of each story in namespaces of its own."""
    for number, (*_, events) in enumerate(told):
        yield [msgspec.json.encode(each.event) for each in world_in_namespace(deliver(events), prefix(FIRST + number))]


class Seen:
    """What gold and the graph of silver's open candidates say of one story."""

    def __init__(self, lake: SparkLake) -> None:
        rows = sorted_rows(lake.candidates(), lake.read("silver", DATASETS)).collect()
        self.now = RowSnapshot(
            RULES, BatchNaming(lake.read("silver", BINDINGS).collect()).naming, (tuple(row) for row in rows)
        )
        self._surfaces: dict[str, list[Any]] = {}

    def surface(self, ask: Ask, namespace: str) -> Any:
        world = world_of(namespace)  # names of a case may lie in other namespaces, too
        return self._of_tag(ask, world, tagged=False)

    def tagged(self, ask: Ask, namespace: str) -> Any:
        return self._of_tag(ask, world_of(namespace), tagged=True)

    def _of_tag(self, ask: Ask, world: str, *, tagged: bool) -> dict[str, str]:
        rows = (row for row in self._rows(ask.tag or "") if world_of(row.namespace) == world)
        return {
            self._told(row.namespace, row.dataset, row.column): row.exposure for row in rows if row.tagged is tagged
        }

    def _rows(self, tag: str) -> list[Any]:
        """Return the rows of a surface by newest executions: gold's own end with the window of the whole lake."""
        if tag not in self._surfaces:
            found = find_surface(self.now, RULES, self.now.counted_edges(), tag=tag, source=None)
            rows = (dict(zip(SURFACED, row, strict=True)) for row in surfaced_rows(self.now, found))
            self._surfaces[tag] = [SimpleNamespace(**row) for row in rows]
        return self._surfaces[tag]

    def unused(self, ask: Ask, namespace: str) -> Any:
        name = Name(namespace, ask.about)
        if self.now.naming.moved_names.former_location(name):
            return {}  # gold judges no former location
        judged = dataset_verdicts(self.now, RULES, self.now.counted_edges(), name, strict=ask.strict)
        return {each.key: told_verdict(each.verdict, each.reason) for each in judged}

    def impact(self, ask: Ask, namespace: str) -> Any:
        return self._hits(self._reached(ask, namespace, forward=True))

    def upstream(self, ask: Ask, namespace: str) -> Any:
        return self._hits(self._reached(ask, namespace, forward=False))

    def stops(self, ask: Ask, namespace: str) -> Any:
        return {stop.dataset for stop in self._reached(ask, namespace, forward=True).stops}

    def links(self, ask: Ask, namespace: str) -> Any:
        name = (namespace, ask.about)
        return told_links(lambda forward: linked(self.now, self.now.counted_edges(), name, forward=forward))

    def spelt(self, ask: Ask, namespace: str) -> Any:
        return spelt_by(self.now, namespace, ask)

    def _reached(self, ask: Ask, namespace: str, *, forward: bool) -> Any:
        asked = Subject(namespace, *column_of(ask.about)[1:])
        return reach_answer(
            self.now, RULES.names, asked, self.now.counted_edges(), forward=forward, mode=ask.mode, bounds=FAR
        )

    def _hits(self, found: Any) -> dict[str, str]:
        return {
            self._told(each.namespace, each.dataset, each.column): told_hit(
                each.distance, each.masked, each.read_before_recreation
            )
            for each in found.columns
        }

    def _told(self, namespace: str, dataset: str, column: str | None) -> str:
        keys = self.now.shown_columns(Name(namespace, dataset))
        return f"{dataset}.{None if column is None else keys.key(column)}"


ANSWERS: dict[str, Callable[[Seen, Ask, str], Any]] = {
    "surface": Seen.surface,
    "tagged": Seen.tagged,
    "unused": Seen.unused,
    "impact": Seen.impact,
    "upstream": Seen.upstream,
    "stops": Seen.stops,
    "links": Seen.links,
    "spelt": Seen.spelt,
}


def test_each_kind_of_case_is_answered_as_by_hand(lake_of_cases: SparkLake) -> None:
    assert_answered(lake_of_cases, list(sample_stories()))


@pytest.mark.long
def test_every_case_is_answered_as_by_hand(spark: SparkSession, tmp_path: Path) -> None:
    lake, told = SparkLake(spark, tmp_path), list(stories())
    for half in (0, 1):
        lake.store(body for story in bodies(told) for body in story[half::2])
        lake.build()
    assert_answered(lake, told)
    assert sum(len(asks) for _, asks, _ in told) > 500


def assert_answered(lake: SparkLake, told: Sequence[Story]) -> None:
    seen = Seen(lake)
    scheme, _, bucket = LAKE.rpartition("://")
    wrong = [
        (case.name, found)
        for number, (case, asks, _) in enumerate(told)
        for ask in asks
        for found in differences(ask, ANSWERS[ask.kind](seen, ask, f"{scheme}://{prefix(FIRST + number)}{bucket}"))
    ]
    assert wrong == []
