"""Rank answers, and find answers after a mutation that are safer than the events prove.

The orders are used > unknown > unused, exposed > once exposed > unknown > masked > absent, and returned column > stop >
nothing. An answer after a mutation must rank at least as high as the lower of the earlier answer and `unknown` (or a
stop).
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import NamedTuple

from headwater.lineage.traversal.impact import Mode
from tests.lineage.test_reference import canonical
from tests.proof.event_edits import Mutation, folded_column
from tests.proof.moved_ways import surface_both_ways, upstream_both_ways
from tests.reference.generations import NEVER, Generations
from tests.reference.names import Name, Names, without_ends_of_parts
from tests.reference.records import Delivered, Facets, Run, facets_of, job_key, runs_of, stored
from tests.reference.schemas import schema_paths
from tests.reference.world_events import Json, deliver

Column = tuple[str, str, str | None]
"""Namespace, name and column, casefolded. The column is None if a dataset has unknown columns."""

TAG = "pii"
QUESTIONS = ("unused", "surface", "impact", "upstream")
USE = {"used": 2, "unknown": 1, "unused": 0}
SURFACE = {"tagged": 4, "exposed": 4, "once exposed": 3, "unknown": 2, "masked": 1, "absent": 0}
UNKNOWN_USE, UNKNOWN_SURFACE = USE["unknown"], SURFACE["unknown"]


class Reached(NamedTuple):
    """The result of impact or upstream: columns, and the datasets at which column lineage stops.

    is_refused: the judge refuses the question with a reason.
    """

    columns: frozenset[Column] = frozenset()
    stops: frozenset[Name] = frozenset()
    is_refused: bool = False


@dataclass(frozen=True)
class Asked:
    """The columns for the impact and upstream questions, with the names of the events."""

    impact: tuple[Column, ...]
    upstream: tuple[Column, ...]
    mode: Mode = "any"

    def under(self, names: Mapping[Name, Name]) -> "Asked":
        """Return the same questions for renamed datasets."""

        def renamed(columns: Iterable[Column]) -> tuple[Column, ...]:
            return tuple((*names.get(canonical(*column[:2]), column[:2]), column[2]) for column in columns)

        return Asked(renamed(self.impact), renamed(self.upstream), self.mode)


class Folded(dict[Column, str]):
    """Answers by folded column.

    spelt: the answers by exact spelling, because several columns of the judge may fold to one.
    """

    def __init__(self, answers: Mapping[Column, str] = MappingProxyType({})) -> None:
        super().__init__(answers)
        self.spelt: dict[Column, dict[str, str]] = {}


@dataclass
class Answers:
    """The answers of a judge about a list of events. Impact and upstream are in the order of the questions."""

    unused: dict[Column, str] = field(default_factory=dict)
    surface: dict[Column, str] = field(default_factory=dict)
    impact: list[Reached] = field(default_factory=list)
    upstream: list[Reached] = field(default_factory=list)


class Unsafe(NamedTuple):
    """An answer that became safer: the question, its subject, and the answers."""

    question: str
    subject: str
    before: str
    after: str

    @property
    def key(self) -> tuple[str, str]:
        return self.question, self.subject


class Mentions:
    """The columns of newest generations that events name, and the sources of each dataset."""

    def __init__(self, delivered: Sequence[Delivered]) -> None:
        known = sorted(stored(delivered, None, None), key=lambda event: event.order)
        events = [without_ends_of_parts(event, canonical) for event in known]
        self.names = Names(events, canonical)
        runs = runs_of(events)
        self.generations = Generations(runs, self.names)
        self.columns: set[Column] = set()
        self.spelt: set[Column] = set()
        """The same columns, with the parts of arrays and maps kept."""
        self.reads: dict[Name, set[Name]] = defaultdict(set)
        self.listed: set[Name] = set()
        told = (event.facets("job").get("sql") or {} for event in events)
        self.sql = [each["query"].casefold() for each in told if each.get("query")]
        self.replaced = _replaced_declarations(events)
        together = [(run, run.events) for run in runs] + [(None, [each]) for each in events if "run" not in each.event]
        for run, own in together:
            sources: set[Name] = set()
            targets: set[Name] = set()
            for event in own:
                for role in ("inputs", "outputs", "dataset"):
                    for named in event.datasets(role):
                        (sources if role == "inputs" else targets).update(self._read(named, event, run))
                        self.listed.update(name for name in [self.names.mention(named, event)] if name)
                        self.listed.add(canonical(named["namespace"], named["name"]))
                        self._take_list(named, event, is_output=role == "outputs")
                        sources |= self._read_lineage(named, event, run) | self._renamed(named, event)
                for entry in entries_of(event):
                    targets |= self._read(entry, event, run)
                    sources |= self._read_lineage({"facets": {"lineage": entry}}, event, run)
                if event.facets("job").get("sql"):  # SQL may read what the run writes
                    sources |= targets
            for target in targets:
                self.reads[target] |= sources
        for alias in self.names.bindings:  # the rows may have been copied between the locations of a name
            places = {location for _, location in self.names.locations(alias)}
            for place in places:
                self.reads[place] |= places - {place}

    def bound(self, name: Name) -> Name:
        return self.names.bound(*name, NEVER)

    def is_end_of_a_name(self, name: Name) -> bool:
        return is_end_of_a_name(name, self.listed)

    def is_alias(self, name: Name) -> bool:
        """Return whether only lineage and SQL use a name and the SQL defines it as an alias."""
        return name not in self.listed and any(f" as {name[1].casefold()}" in query for query in self.sql)

    def of_dataset(self, name: Name) -> set[Column]:
        return {column for column in self.columns if column[:2] == name}

    def feeding(self, name: Name) -> set[Name]:
        """Return the direct and indirect sources of a dataset."""
        found: set[Name] = set()
        front = {name}
        while front:
            front = {source for each in front for source in self.reads.get(each, ())} - found
            found |= front
        return found

    def _read(self, named: Json, event: Delivered, run: Run | None) -> set[Name]:
        name = self.names.mention(named, event)
        if not name:
            return set()
        is_newest = self.generations.meant(name, event.time_us) == self.generations.newest(name)
        if is_newest and self._describes(run, event):
            self._take(name, (facets_of(named).get("columnLineage") or {}).get("fields") or {})
        return {name}

    def _take_list(self, named: Json, event: Delivered, *, is_output: bool) -> None:
        """Add the columns of a schema. With a DROP or RENAME, the schema describes the dataset before the change."""
        every = self.generations
        dataset = every.described(named, event) if is_output else every.said(named, event, None)
        if dataset and dataset == every.newest(dataset[:2]):
            fields = (facets_of(named).get("schema") or {}).get("fields") or []
            self._take(dataset[:2], (".".join(path) for path in schema_paths(fields)))

    def _renamed(self, named: Json, event: Delivered) -> set[Name]:
        """Return the old name of a renamed dataset. Its sources become sources of the new name."""
        previous = (facets_of(named).get("lifecycleStateChange") or {}).get("previousIdentifier")
        before = self.names.mention({**previous, "facets": {}}, event) if previous else None
        if not before:
            return set()
        if now := self.names.mention(named, event):
            self.reads[before].add(now)
        return {before}

    def _read_lineage(self, named: Json, event: Delivered, run: Run | None) -> set[Name]:
        """Return the source datasets in lineage, and add their columns."""
        found: set[Name] = set()
        every, is_told = self.generations, self._describes(run, event)
        for step in lineage_sources(facets_of(named)):
            if name := self.names.mention(step, event):
                found.add(name)
                meant = every.read(step, event, run) if run else every.declared(step, event)
                if step.get("field") and is_told and meant and meant == every.newest(meant[:2]):
                    self._take(meant[:2], [step["field"]])
        return found

    def _describes(self, run: Run | None, event: Delivered) -> bool:
        return describes(run, event) and event.event_id not in self.replaced

    def _take(self, name: Name, columns: Iterable[str]) -> None:
        for each in columns:
            self.columns.add((*name, folded_column(each)))
            self.spelt.add((*name, each.casefold()))


def describes(run: Run | None, event: Delivered) -> bool:
    """Return whether lineage of an event counts. Among complete snapshots (rule 1.11), only one event counts."""
    return run is None or event in run.telling or event not in run.counted


def _replaced_declarations(events: Sequence[Delivered]) -> set[str]:
    """Return the ids of JobEvents that newer ones of their job replace, so that their lineage no longer
    counts (6.5).
    """
    declared = [each for each in events if "job" in each.event and "run" not in each.event]
    newest = {job_key(each.event["job"]): each.event_id for each in declared}
    return {each.event_id for each in declared} - set(newest.values())


def is_end_of_a_name(name: Name, listed: set[Name]) -> bool:
    """Return whether only lineage names a dataset, and only the SQL can show to which dataset the name refers."""
    ends = (f".{name[1]}", f"/{name[1]}")
    return name not in listed and any(each[0] == name[0] and each[1].endswith(ends) for each in listed)


def entries_of(event: Delivered) -> list[Facets]:
    """Return the entries about datasets in the `lineage` facets of an event's run and job."""
    facets = (event.facets(entity).get("lineage") or {} for entity in ("run", "job"))
    return [entry for each in facets for entry in each.get("entries") or [] if entry.get("type") == "DATASET"]


def lineage_sources(facets: Facets) -> list[Facets]:
    """Return the source datasets in a `columnLineage` facet, or in a `lineage` facet of an output."""
    return [each for each in all_sources(facets) if each.get("type", "DATASET") == "DATASET"]


def all_sources(facets: Facets) -> list[Facets]:
    """Return the sources of these facets, both datasets and jobs."""
    told, entry = facets.get("columnLineage") or {}, facets.get("lineage") or {}
    found = [step for each in (told.get("fields") or {}).values() for step in each.get("inputFields") or []]
    found += [step for each in (entry.get("fields") or {}).values() for step in each.get("inputs") or []]
    return [*found, *(told.get("dataset") or []), *(entry.get("inputs") or [])]


def unsafe_answers(
    asked: Asked, before: Answers, after: Answers, events: Sequence[Json], mutation: Mutation
) -> list[Unsafe]:
    """Return the answers after a mutation that are safer than the events before it proved."""
    was, now = Mentions(deliver(events)), Mentions(mutation.delivered)
    moved = {was.bound(mutation.moved[0]): now.bound(mutation.moved[1])} if mutation.moved else {}
    unused = _still_spelt(before.unused, USE, was, now, moved)
    used = {column: told for column, told in unused.items() if not was.is_end_of_a_name(column[:2])}
    found = _unsafe_use(used, after.unused, now, moved)
    surface = _still_spelt(before.surface, SURFACE, was, now, moved)
    less_shown = _unsafe_surface(surface, after.surface, now, moved)
    if less_shown and mutation.moved is not None:
        both_ways = surface_both_ways(mutation.delivered, TAG)
        answers = dict(after.surface)
        for column, told in both_ways.items():
            answers[column] = max(told, answers.get(column, "absent"), key=SURFACE.__getitem__)
        less_shown = _unsafe_surface(surface, answers, now, moved)
    found += less_shown
    for question in ("impact", "upstream"):
        subjects = getattr(asked, question)
        for subject, one, other in zip(subjects, getattr(before, question), getattr(after, question), strict=True):
            asked_name = was.bound(subject[:2])
            if was.is_end_of_a_name(asked_name) or was.is_alias(asked_name):
                continue
            if mutation.moved is None and not _is_named(subject, now):
                continue  # no other event names the column of the question
            lost = _lost(question, one, other, was, now, moved=moved)
            if lost and question == "upstream" and mutation.moved is not None:
                there = (*moved.get(asked_name, asked_name), subject[2])
                later = upstream_both_ways(mutation.delivered, there, asked.mode)
                lost = [each for each in lost if later.isdisjoint({each, (*moved.get(each[:2], each[:2]), each[2])})]
            stops = ", ".join(sorted(name for _, name in other.stops)) or "none"
            found += [
                Unsafe(question, f"{shown(subject)} to {shown(column)}", "returned", f"nothing; stops: {stops}")
                for column in lost
            ]
    return found


def _still_spelt(
    before: Mapping[Column, str], ranks: Mapping[str, int], was: Mentions, now: Mentions, moved: Mapping[Name, Name]
) -> dict[Column, str]:
    """Return answers without columns in spellings that no event uses any more, if another column folds to the same.

    A judge treats `m._value.x` and `m.x` as different columns if no schema shows that `m` is a map. Without a schema,
    the judge may not know that two spellings are one column, so they are compared together.
    """
    found = dict(before)
    for column, spelt in before.spelt.items() if isinstance(before, Folded) else ():
        names = {column[:2], moved.get(column[:2], column[:2])}
        left = {
            spelling: answer
            for spelling, answer in spelt.items()
            if (*column[:2], spelling) not in was.spelt or any((*name, spelling) in now.spelt for name in names)
        }
        if left:
            found[column] = max(left.values(), key=ranks.__getitem__)
    return found


def _is_named(column: Column, mentions: Mentions) -> bool:
    name = mentions.bound(canonical(*column[:2]))
    return (*name, (column[2] or "").casefold()) in mentions.spelt


def _unsafe_use(
    before: Mapping[Column, str], after: Mapping[Column, str], now: Mentions, moved: Mapping[Name, Name]
) -> list[Unsafe]:
    found = []
    for column, verdict in before.items():
        new = (*moved.get(column[:2], column[:2]), column[2])
        answer = after.get(new) or after.get(column)
        if answer is None:
            if {new, column} & now.columns:
                found.append(Unsafe("unused", shown(column), verdict, "not listed"))
        elif USE[answer] < min(USE[verdict], UNKNOWN_USE):
            found.append(Unsafe("unused", shown(column), verdict, answer))
    return found


def _unsafe_surface(
    before: Mapping[Column, str], after: Mapping[Column, str], now: Mentions, moved: Mapping[Name, Name]
) -> list[Unsafe]:
    found = []
    for column, exposure in before.items():
        datasets = {column[:2], moved.get(column[:2], column[:2])}
        same = {each: answer for each, answer in after.items() if each[:2] in datasets}
        is_named = any((*each, column[2]) in now.columns for each in datasets)
        if not is_named and (exposure == "tagged" or any(map(now.of_dataset, datasets))):
            continue  # no event names the column any more
        if is_named:
            same = {each: answer for each, answer in same.items() if each[2] in (column[2], None)}
        answer = max(same.values(), key=SURFACE.__getitem__, default="absent")
        if SURFACE[answer] < min(SURFACE[exposure], UNKNOWN_SURFACE):
            found.append(Unsafe("surface", shown(column), exposure, answer))
    return found


def _lost(
    question: str, before: Reached, after: Reached, was: Mentions, now: Mentions, *, moved: Mapping[Name, Name]
) -> list[Column]:
    """Return the columns that are no longer returned and that no stop explains."""
    lost = []
    for column in sorted(before.columns - after.columns, key=repr):
        new = (*moved.get(column[:2], column[:2]), column[2])
        is_named = bool({new, column} & now.columns)
        if was.is_alias(column[:2]) or was.is_end_of_a_name(column[:2]):
            continue
        if new in after.columns or (not is_named and now.of_dataset(new[:2])):
            continue
        if not any(leads(question, stop, {column[:2], new[:2]}, was, now) for stop in after.stops):
            lost.append(column)
    return lost


def leads(question: str, stop: Name, datasets: set[Name], *mentions: Mentions) -> bool:
    """Return whether one of the datasets is beyond a stop, according to what runs read and write."""
    if question == "upstream":
        return any(datasets & each.feeding(stop) for each in mentions)
    return any(stop in each.feeding(name) for each in mentions for name in datasets)


def shown(column: Column) -> str:
    name = column[1].rpartition("Tables/")[2]
    return f"{name}.{column[2]}"
