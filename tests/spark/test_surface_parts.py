"""Gold's masking surface: connected parts decide it, and rows of later periods state how time changes it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.derived_snapshots import CandidateSnapshot, FactSnapshot
from headwater.questions.surface import all_tags, find_surface
from headwater.spark.gold.surface_rows import SURFACES, surface_rows, surfaced_rows
from headwater.spark.silver.candidate_rows import SETTLES, WRITTEN
from tests.reference.records import Delivered
from tests.reference.worlds import prefix, random_world, world_in_namespace
from tests.spark.test_verdict_periods import Entry, around, entries, groups_of, holds, jobs_in, with_jobs
from tests.support.data.lineage_world import RULES, LineageWorld

Row = tuple[Any, ...]
Named = Mapping[object, frozenset[Entry]]


def test_the_rows_of_a_surface_are_the_answers_of_each_later_window() -> None:
    """Attempts leave the window. Rows are computed once; at each later time they equal the answer of that time."""
    several = 0
    for seed in (13, 14, 16, 45):
        now = LineageWorld(random_world(seed)).scene
        newest_us, length_us = now.newest_us, now.default_window().length_us
        rows = list(surface_rows(now, RULES))
        assert newest_us is not None
        assert now.newest_us == newest_us
        ends = {end for row in rows for end in row[-2:] if end is not None}
        for at_us in {newest_us, *ends, *(end - 1 for end in ends), newest_us + 2 * length_us}:
            held = [row[:-2] for row in rows if holds(dict(zip(SURFACES.columns, row, strict=True)), at_us)]
            now.newest_us = at_us
            assert sorted(held, key=repr) == sorted(asked(now), key=repr), (seed, at_us)
            now.newest_us = newest_us
        several += any(ends)
    assert several


def test_the_candidates_of_a_connected_part_decide_its_surface() -> None:
    """A part consists of datasets that a tag reaches; jobs that lineage names belong to it (rule 8.2 g)."""
    several = 0
    for seed in range(6):
        every = LineageWorld([*world_beside(seed + 1), *world_beside(seed)]).scene
        root_of = Roots(every)
        found = list[Row]()
        parts = list(root_of.parts())
        for part in parts:
            found += root_of.computed(part)
        assert exposures(found) == exposures(asked(every)), seed
        several += len(parts) > 1
    assert several


def test_a_batch_changes_the_surface_only_in_parts_with_changed_datasets() -> None:
    """Rows outside of these parts stay, and the candidates of the parts decide the others."""
    kept = computed = 0
    for seed in (1, 2, 3, 13, 17, 25):
        other, world = world_beside(seed + 1), world_beside(seed)
        before, after = (LineageWorld([*other, *events]).scene for events in (world[: len(world) // 2], world))
        was, now = Roots(before), Roots(after)
        if was.used_tags() != now.used_tags():
            continue  # the batch computes all parts
        stored = list(asked(before))
        part = now.connected(now.affected(was) & now.boundary(stored), now.boundary(stored))
        rows = [row for row in stored if now(Name(*row[1:3])) not in part]
        fresh = now.computed(part) if part else []
        assert exposures([*rows, *fresh]) == exposures(asked(after)), seed
        kept, computed = kept + len(rows), computed + len(fresh)
    assert kept
    assert computed


def world_beside(seed: int) -> list[Delivered]:
    return world_in_namespace(random_world(seed), prefix(seed))


def exposures(rows: Iterable[Row]) -> list[Row]:
    """Return rows without the last step to unknown columns: which of several is shown depends on the whole graph."""
    return sorted((row[:6] + row[-2:] if row[4] == "unknown" else row for row in rows), key=repr)


def asked(now: CandidateSnapshot) -> Iterator[Row]:
    counted = now.counted_edges_with_earlier(now.default_window())
    tags = {key.casefold() for *_, (key, value) in all_tags(now, RULES) if value.casefold() != "false"}
    for tag in tags:
        yield from ((tag, *row) for row in surfaced_rows(now, find_surface(now, RULES, counted, tag=tag, source=None)))


class Roots:
    """Datasets by the smallest of their names, and the connected parts of those that tags reach."""

    def __init__(self, now: FactSnapshot) -> None:
        self._groups = {key: {by: now._candidates[by] for by in own} for key, own in groups_of(now).items()}
        named: Named = {key: frozenset(entries(now, group)) for key, group in self._groups.items()}
        named = {key: with_jobs(now, self._groups[key], own, jobs_in(named)) for key, own in named.items()}
        self._now, self._named = now, named
        self._representatives = now.naming.representatives()
        generations = now.naming.generations
        self._touched = {self(name) for name in (*generations.changed_locations(), *generations.renamed)}
        self._members = {key: {(self(name), kind) for name, kind in own} for key, own in named.items()}
        self._naming = defaultdict[Name, set[object]](set)
        for key, own in self._members.items():
            for name, _ in own:
                self._naming[name].add(key)

    def __call__(self, name: Name) -> Name:
        return self._representatives.get(name.without_generation, name.without_generation)

    def used_tags(self) -> set[str]:
        used = {name for own in self._named.values() for name, kind in own if kind in (None, WRITTEN)}
        return {tag.casefold() for name, _, (tag, value) in all_tags(self._now, RULES)
                if value.casefold() != "false" and name.without_generation in used}  # fmt: skip

    def parts(self) -> Iterator[set[Name]]:
        reached = {self(name) for name, _, (_, value) in all_tags(self._now, RULES) if value.casefold() != "false"}
        reached = {name for name in reached if name in self._naming}
        if reached:
            reached |= {name for name in self._naming if is_job(name)}
        front = set(reached)
        while front:
            keys = {key for name in front for key in self._naming[name]}
            front = {name for key in keys for name in self._onward(key, reached)} - reached
            reached |= front
        while reached:
            part, todo = set[Name](), {min(reached)}
            while todo:
                part |= todo
                todo = {name for each in todo for key in self._naming[each] for name, _ in self._members[key]}
                todo = (todo & reached) - part
            reached -= part
            yield part

    def _onward(self, key: object, reached: set[Name]) -> set[Name]:
        own = self._members[key]
        reads = any(name in reached and kind != WRITTEN for name, kind in own)
        return {name for name, kind in own if reads and (kind == WRITTEN or is_job(name))}

    def computed(self, part: set[Name]) -> list[Row]:
        """Return the present rows of the datasets of a part, computed from its candidates."""
        some = around(self._now, self._groups, self.candidates(part), min(part))
        some.tagged = {name: tags for name, tags in self._now.tagged.items() if self(name) in part}
        rows = surface_rows(some, RULES, self.used_tags())
        return [row[:-2] for row in rows if row[-2] is None and self(Name(*row[1:3])) in part]

    def boundary(self, stored: Iterable[Row]) -> set[Name]:
        """Return the datasets on the surface, the tagged, dropped and renamed ones, and jobs that lineage names."""
        tagged = {self(name) for name, _, (_, value) in all_tags(self._now, RULES) if value.casefold() != "false"}
        jobs = {name for name in self._naming if is_job(name)}
        return {self(Name(*row[1:3])) for row in stored} | (tagged & self._naming.keys()) | self._touched | jobs

    def affected(self, was: "Roots") -> set[Name]:
        """Return the datasets that differ from a moment before, and those whose answers depend on them."""
        keys = {
            key for key in self._groups.keys() | was._groups.keys() if self._groups.get(key) != was._groups.get(key)
        }
        changed = {self(name) for roots in (self, was) for key in keys for name, _ in roots._named.get(key, ())}
        described = (self._described(), was._described())
        names = {name for name in described[0].keys() | described[1].keys()
                 if described[0].get(name) != described[1].get(name)}  # fmt: skip
        moved = self._representatives.items() ^ was._representatives.items()
        names |= {name for relation in moved for name in relation} | (self._touched ^ was._touched)
        renamed = {self(name) for name in names}
        found = changed | renamed
        front, flagged = set(found), renamed
        while front:
            outputs = {
                key
                for name in front
                for key in self._naming[name]
                for other, kind in self._members[key]
                if other == name and (kind == SETTLES or self._follows(name) or (kind == WRITTEN and name in flagged))
            }
            more = {name for key in outputs for name, _ in self._members[key]} - found
            found |= more
            front, flagged = {name for name in more if self._follows(name)}, set()
        readers = {key for name in renamed for key in self._naming[name]}
        return found | {name for key in readers for name, kind in self._members[key] if kind == WRITTEN}

    def connected(self, seeds: set[Name], boundary: set[Name]) -> set[Name]:
        found, front = set(seeds), set(seeds)
        while front:
            keys = {key for name in front for key in self._naming[name]}
            onward = {name for key in keys for name in self._onward(key, found)}
            front = (onward | {name for key in keys for name, _ in self._members[key] if name in boundary}) - found
            found |= front
        return found

    def _follows(self, name: Name) -> bool:
        return name in self._touched or is_job(name)

    def _described(self) -> Mapping[Name, object]:
        now, found = self._now, defaultdict[Name, list[object]](list)
        for what in (now.base_times, now.tagged, now.spellings):
            for name, value in what.items():
                found[name.without_generation].append(value)
        for name, columns in now.schemas.items():
            found[name.without_generation].append((columns.names, columns.by_key))
        return {name: sorted(map(repr, values)) for name, values in found.items()}

    def candidates(self, part: set[Name]) -> set[object]:
        """Return the groups that name datasets of a part, and those that settle their doubts or feed their jobs."""
        found = {key for name in part for key in self._naming[name]}
        front, is_first = set(found), True
        while front:
            names = {
                name
                for key in front
                for name, kind in self._members[key]
                if self._follows(name) or (is_first and kind == SETTLES)
            }
            front, is_first = {key for name in names for key in self._naming[name]} - found, False
            found |= front
        return found


def is_job(name: Name) -> bool:
    return name.namespace == "\0job"
