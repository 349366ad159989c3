"""Copy and change lists of events. The operators of the proof share these functions."""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.reference.generations import NEVER
from tests.reference.names import Name, Names, canonical_form
from tests.reference.records import Delivered, Facets, facets_of
from tests.reference.world_events import RECEIPT_US, Json, deliver, event_id

Change = Callable[[Json], None]
TERMINAL = frozenset({"COMPLETE", "FAIL", "ABORT"})
PATHS = ("abfss://", "s3://", "gs://", "hdfs://", "wasbs://", "file")
"""Prefixes of namespaces in which the name of a table is a folder."""


@dataclass(frozen=True)
class Mutation:
    """A list of events after an operator.

    events: the changed events in their old places (None for a removed one), followed by appended events. where: the
    places that changed. what: the removed or added part, for reports. moved: the old and new location of a table.
    catalog: its name in questions.
    """

    events: Sequence[Json | None]
    where: tuple[int, ...]
    what: str
    moved: tuple[Name, Name] | None = None
    catalog: Name | None = None

    @property
    def after(self) -> list[Json]:
        return [event for event in self.events if event is not None]

    @property
    def delivered(self) -> list[Delivered]:
        """The events as received, each at the same time as before."""
        return [
            Delivered(event, RECEIPT_US + n * 1_000_000, event_id(event))
            for n, event in enumerate(self.events)
            if event is not None
        ]


Operator = Callable[[Sequence[Json], Random], Mutation | None]


@dataclass(frozen=True, order=True)
class Place:
    """A dataset of an event."""

    event: int
    role: str
    number: int
    named: Json = field(compare=False)

    @property
    def name(self) -> Name:
        return self.named["namespace"], self.named["name"]

    @property
    def facets(self) -> Facets:
        return facets_of(self.named)

    @property
    def column_lineage(self) -> Facets:
        return self.facets.get("columnLineage") or {}


def places(events: Sequence[Json], *roles: str) -> Iterator[Place]:
    """Yield the datasets of run events in the roles `inputs` and `outputs`."""
    for index, event in enumerate(events):
        for role in roles if "run" in event else ():
            for number, named in enumerate(event.get(role) or []):
                yield Place(index, role, number, named)


def changed(events: Sequence[Json], where: Iterable[int], change: Change) -> list[Json | None]:
    """Return the events, after applying a function to deep copies of those at some places."""
    result: list[Json | None] = list(events)
    for index in set(where):
        result[index] = copied = json.loads(json.dumps(events[index]))
        change(copied)
    return result


def changed_datasets(
    events: Sequence[Json], where: Iterable[int], role: str, name: Name, change: Change
) -> list[Json | None]:
    """Return the events, after applying a function to the mentions of a dataset in a role, under all its names."""
    bound = bound_names(events)
    meant = bound(name)

    def change_mentions(event: Json) -> None:
        for named in event.get(role) or []:
            if meant == bound((named["namespace"], named["name"])):
                change(named)

    return changed(events, where, change_mentions)


def bound_names(events: Sequence[Json]) -> Callable[[Name], Name]:
    """Return a function that resolves a name to its final dataset."""
    names = Names(deliver(events), canonical_form)
    return lambda name: names.bound(*name, NEVER)


def changes_nothing(named: Json) -> bool:
    """Return whether an output is neither dropped nor renamed."""
    change = (facets_of(named).get("lifecycleStateChange") or {}).get("lifecycleStateChange")
    return change not in ("DROP", "RENAME")


def ended_names(events: Sequence[Json]) -> set[Name]:
    """Return the datasets that an event drops or renames. Later events are about recreated or renamed datasets."""
    bound, found = bound_names(events), set[Name]()
    for place in places(events, "outputs"):
        if not changes_nothing(place.named):
            before = place.facets["lifecycleStateChange"].get("previousIdentifier")
            found |= {bound(place.name), *([bound((before["namespace"], before["name"]))] if before else [])}
    return found


def same_run(events: Sequence[Json], index: int) -> list[int]:
    """Return the places of all events of an event's run."""
    run_id = events[index]["run"]["runId"].lower()
    return [n for n, event in enumerate(events) if "run" in event and event["run"]["runId"].lower() == run_id]


def is_path(name: Name) -> bool:
    return name[0].startswith(PATHS)


def time_of(events: Sequence[Json], index: int) -> int:
    return deliver([events[index]])[0].time_us


def order_of(events: Sequence[Json], index: int) -> tuple[bool, int, int, str]:
    """Return the sort key of an event within its run (rule 1.3)."""
    event = events[index]
    return Delivered(event, RECEIPT_US + index * 1_000_000, event_id(event)).order


def shown(name: Name) -> str:
    return name[1].rpartition("Tables/")[2]


def steps_of(lineage: Facets) -> Iterator[Any]:
    """Yield the input fields of a `columnLineage` facet."""
    for entry in (lineage.get("fields") or {}).values():
        yield from entry.get("inputFields") or []
    yield from lineage.get("dataset") or []


def folded_column(column: str) -> str:
    """Return a common form of a column's spellings, without case, quotes, and parts of arrays and maps."""
    return column.casefold().replace("._element", "").replace("._value", "").replace('"', "")
