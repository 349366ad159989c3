"""Verdicts of gold: candidates near a dataset decide them, and rows of later periods state how time changes them."""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pytest

from headwater.lineage.edges.edge_sets import Candidates
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import job_key
from headwater.lineage.runs.memory_store import RelatedRunsInMemory
from headwater.lineage.snapshots.derived_snapshots import CandidateSnapshot, FactSnapshot, group_by_output
from headwater.lineage.snapshots.snapshot import Snapshot, Window
from headwater.lineage.snapshots.window_periods import WindowPeriods
from headwater.questions.unused import dataset_verdicts, reason_formatter
from headwater.spark.gold.dataset_verdicts import VERDICTS, verdict_rows
from headwater.spark.silver.candidate_rows import JOB, SETTLES, names_json
from tests.reference.worlds import random_world
from tests.support.data.lineage_world import RULES, LineageWorld

SECOND = 1_000_000
LENGTHS = (60 * SECOND, 10_000 * SECOND)
Verdict = tuple[str, str, str]
Entry = tuple[Name, str | None]
Group = Candidates[OutputLineage]


@pytest.mark.parametrize("length_us", LENGTHS)
def test_the_rows_of_a_column_are_the_verdicts_of_each_later_window(length_us: int) -> None:
    """Rows are computed once. At each later time they equal the answer for a window that ends then."""
    several = 0
    for seed in range(6):
        now = LineageWorld(random_world(seed)).scene
        periods = WindowPeriods(now, length_us)
        assert now.newest_us is not None
        for dataset in sorted(now.current_names(attempted=True)):
            rows = [dict(zip(VERDICTS.columns, row, strict=True)) for row in verdict_rows(now, RULES, periods, dataset)]
            ends = periods.end_times_us(dataset)
            for at_us in {now.newest_us, *ends, *(end - 1 for end in ends), now.newest_us + 100 * length_us}:
                held = (row for row in rows if holds(row, at_us))
                found = sorted((row["column"], row["verdict"], row["reason"]) for row in held)
                assert found == sorted(asked(now, dataset, Window(length_us, at_us))), (seed, dataset, at_us)
            several += len(rows) > len({row["column"] for row in rows})
    assert several


def test_the_candidates_near_a_dataset_decide_its_verdicts() -> None:
    """These are candidates that name it, settle a doubt, or are reached through dropped or renamed datasets and jobs.

    Seeds 25 and 26 need the settled doubts and the inputs of a named job.
    """
    for seed in (*range(4), 25, 26):
        every = LineageWorld(random_world(seed)).scene
        groups = groups_of(every)
        named = {key: frozenset(entries(every, group)) for key, group in groups.items()}
        named = {key: with_jobs(every, groups[key], own, jobs_in(named)) for key, own in named.items()}
        representatives = every.naming.representatives()
        for dataset in every.current_names(attempted=True):
            root = representatives.get(dataset, dataset)
            some = around(every, groups, near(every, named, root), root)
            for length_us in (0, *LENGTHS):
                window = Window(length_us)
                assert asked(some, dataset, window) == asked(every, dataset, window), (seed, dataset, length_us)


def holds(row: Mapping[str, Any], at_us: int) -> bool:
    since_us, until_us = row["valid_from"], row["valid_to"]
    return (since_us is None or since_us <= at_us) and (until_us is None or at_us < until_us)


def asked(now: Snapshot, dataset: Name, window: Window) -> list[Verdict]:
    counted, columns, reason_of = (
        now.counted_edges_with_earlier(window),
        now.shown_columns(dataset),
        reason_formatter(now),
    )
    found = dataset_verdicts(now, RULES, counted, dataset)
    return [(columns.displayed_spelling(each.key), each.verdict, reason_of(each)) for each in found]


def groups_of(now: FactSnapshot) -> dict[object, Group]:
    """Return the candidates that count together, grouped like `output_key`."""
    found: dict[object, Group] = {}
    for output, candidates in group_by_output(now.store.candidates).items():
        if output is None:
            found |= {job_output: {job_output: own} for job_output, own in candidates.items()}
        else:
            found[output] = candidates
    return found


def entries(now: FactSnapshot, group: Group) -> Iterator[Entry]:
    for candidate in (each for own in group.values() for each in own):
        for namespace, name, *kind in json.loads(names_json(candidate.lineage)):
            one = Name(namespace, name)
            yield (
                (of_job(job_key(RULES.names.canonical_job(one), None)), JOB)
                if kind == [JOB]
                else (one, *kind, None)[:2]
            )


def jobs_in(named: Mapping[object, Iterable[Entry]]) -> set[Name]:
    return {name for own in named.values() for name, kind in own if kind == JOB}


def with_jobs(now: FactSnapshot, group: Group, own: frozenset[Entry], jobs: set[Name]) -> frozenset[Entry]:
    """Add the jobs of a group that lineage names."""
    keys = {of_job(each) for job_output in group for each in (job_output.job, now.job_name(job_output.job))}
    return own | {(key, JOB) for key in keys & jobs}


def of_job(key: Name) -> Name:
    return Name("\0job", "/".join(key.parts))


def near(now: FactSnapshot, named: Mapping[object, frozenset[Entry]], root: Name) -> set[object]:
    """Return the groups that name a dataset, and those reached from them."""
    representatives, generations = now.naming.representatives(), now.naming.generations
    touched = {representatives.get(name, name) for name in (*generations.changed_locations(), *generations.renamed)}
    mentions = defaultdict[Name, set[object]](set)
    for key, own in named.items():
        for name, _ in own:
            mentions[representatives.get(name, name)].add(key)
    found, front, kinds = set(mentions[root]), set(mentions[root]), {JOB, SETTLES}
    while front:
        every = {(representatives.get(name, name), kind) for key in front for name, kind in named[key]}
        front = {key for name, kind in every if name in touched or kind in kinds for key in mentions[name]} - found
        found |= front
        kinds = {JOB}
    return found


def around(now: FactSnapshot, groups: Mapping[object, Group], keys: set[object], root: Name) -> CandidateSnapshot:
    """Return a snapshot of some groups only."""
    some, representatives = CandidateSnapshot(now.naming, now._remask, now.rules), now.naming.representatives()
    names = {name for key in keys for name, _ in entries(now, groups[key])}
    roots = {representatives.get(name, name) for name in names} | {root}
    some.schemas = {
        name: each
        for name, each in now.schemas.items()
        if representatives.get(name.without_generation, name.without_generation) in roots
    }
    some.base_times = {name: at for name, at in now.base_times.items() if name in some.schemas}
    some.spellings = {name: each for name, each in now.spellings.items() if representatives.get(name, name) in roots}
    some.ever_read = {name for name in now.ever_read if representatives.get(name, name) in roots}
    some.jobs, some.newest_us, some.retired = now.jobs, now.newest_us, now.retired
    runs = sorted(now.store.runs.values(), key=lambda run: (run.time_us, run.key))
    relations = RelatedRunsInMemory(runs, now.store.candidates)
    for key in groups.keys() & keys:
        some.add_candidates(groups[key], relations)
    return some
