"""The period of a generation, from both directions, and a year of nights in which each night costs the same."""

import cProfile
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headwater.common.paging import ListPage
from headwater.events.position import Source
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import DatasetChange, Generations, NameSpan, merge_spans
from headwater.questions.coverage import coverage
from headwater.questions.differences import edge_differences
from headwater.questions.subjects import Subject
from headwater.questions.table_graph import table_graph
from headwater.questions.unused import verdicts_answer
from tests.reference.small_events import A, B, C, D, changed, made, renamed, run, x_from
from tests.reference.world_events import Json, source
from tests.rule_cases.generations import dance, rebuilt
from tests.support.data.lineage_world import RULES, LineageWorld, world

PLACES = [Name("db", name) for name in "abc"]
TIMES = range(12)

changes = st.lists(
    st.builds(DatasetChange, st.sampled_from(TIMES), st.sampled_from(PLACES), st.sampled_from([None, *PLACES])).filter(
        lambda change: change.location != change.new_location
    ),
    max_size=8,
    unique_by=lambda change: (change.time_us, change.location),
)


@settings(deadline=None)
@given(changes)
def test_a_generation_is_mentioned_exactly_when_mentions_mean_it(happened: list[DatasetChange]) -> None:
    generations = Generations()
    for number, change in enumerate(happened):
        generations.set_changes(
            f"run{number % 5}", frozenset({change, *generations.changes_of_run(f"run{number % 5}")})
        )
    moments = [(place, time_us) for place in PLACES for time_us in (-1, *TIMES, 100)]
    for dataset in {generations.generation_at(*moment) for moment in moments}:
        spans = list(generations.mention_spans(dataset))
        inside = {(name, at) for name, at in moments if any(s == name and a <= at < b for s, a, b in spans)}
        assert inside == {moment for moment in moments if generations.generation_at(*moment) == dataset}


@settings(deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PLACES), st.sampled_from(TIMES), st.sampled_from(TIMES))))
def test_joined_spans_cover_the_same_times(told: list[tuple[Name, int, int]]) -> None:
    spans = {NameSpan(name, min(a, b), max(a, b) + 1) for name, a, b in told}
    found = merge_spans(spans)
    assert covered(found) == covered(spans)
    assert sum(span.until_us - span.since_us for span in found) == len(covered(found))


def covered(spans: set[NameSpan]) -> set[tuple[Name, int]]:
    return {(span.name, at) for span in spans for at in range(span.since_us, span.until_us)}


Story = Callable[..., list[Json]]


@pytest.mark.slow
@pytest.mark.parametrize("story", [rebuilt, dance])
def test_a_night_costs_as_much_after_two_hundred_others_as_after_fifty(tmp_path: Path, story: Story) -> None:
    early, late = calls_of_nights(tmp_path / "index", story, 50, 200)
    assert late < early * 1.3


@pytest.mark.slow
@pytest.mark.parametrize("story", [rebuilt, dance])
def test_a_batch_of_nights_costs_four_times_as_much_for_four_times_the_nights(tmp_path: Path, story: Story) -> None:
    few, many = (
        calls_of(Indexer(tmp_path / str(nights), default_rules()), story(nights, weekly=(1,)), 1)
        for nights in (50, 200)
    )
    assert many < few * 4 * 1.3


def calls_of_nights(path: Path, story: Story, *looked_at: int) -> list[int]:
    """Return the number of calls for some nights. Each night is a separate batch."""
    indexer = Indexer(path, default_rules())
    told: list[Json] = []
    found = []
    for night in range(1, max(looked_at) + 1):
        events = story(night, weekly=(1,))[len(told) :]
        if night in looked_at:
            found.append(calls_of(indexer, events, len(told) + 1))
        else:
            indexer.process_events(*batch(events, len(told) + 1))
        told += events
    return found


def calls_of(indexer: Indexer, events: list[Json], first: int) -> int:
    """Return the number of function calls for indexing a batch of events."""
    profile = cProfile.Profile()
    profile.runcall(indexer.process_events, *batch(events, first))
    return sum(entry.callcount for entry in profile.getstats())


def batch(events: list[Json], first: int) -> tuple[Source, int, list[BronzeEvent], Callable[..., dict[int, str]]]:
    """Return an indexer's input, in which the first event has the given position."""
    bodies = {number: json.dumps(event) for number, event in enumerate(events, first)}
    stored = [BronzeEvent(f"{number:064x}", number, number, None) for number in bodies]
    return Source("local", "1", "0"), max(bodies), stored, lambda asked: {each: bodies[each] for each in asked}


def test_lists_of_all_datasets_leave_out_a_name_from_before_a_rename() -> None:
    seen = world(
        run(1, 1, x_from(A, B, columns="x"), job="fill"),
        run(2, 2, renamed(B, C), job="rename"),
        run(3, 3, x_from(C, D, columns="x"), job="read"),
    )
    unused = verdicts_answer(seen.scene, RULES, seen.counted, asked=None, page=ListPage()).items
    assert [(each.dataset, each.verdict) for each in unused] == [("a", "used"), ("c", "used"), ("d", "unknown")]
    former = verdicts_answer(seen.scene, RULES, seen.counted, asked=Subject(*B), page=ListPage()).items
    assert [each.verdict for each in former] == ["used"]
    assert sum(coverage(seen.scene, seen.counted, page=ListPage()).datasets.values()) == 3
    drawn = table_graph(seen.scene, seen.counted, level="none", expand=(), limit=10)
    assert {node.name for node in drawn.nodes} == {"a", "c", "d"}


def test_a_column_that_was_not_made_again_is_no_added_edge() -> None:
    columns = {"x": [source(B, "x")], "y": [source(B, "y")]}
    events = [
        run(1, 1, x_from(A, B, columns="x y"), job="fill"),
        run(2, 2, made(C, columns), job="read"),
        run(3, 3, changed(B, "DROP"), job="drop"),
        run(4, 4, x_from(A, B, columns="x"), job="fill"),
    ]
    before, dropped, made_again = (world(*events[:number]) for number in (2, 3, 4))
    assert differences(before, made_again) == [("removed", "b", "y", "c")]
    assert differences(dropped, made_again) == [("added", "a", "x", "b"), ("added", "b", "x", "c")]


def differences(before: LineageWorld, after: LineageWorld) -> list[tuple[str, str, str | None, str]]:
    """Return (change, source, its column, output) of each changed edge."""
    sides = ((each.scene, each.counted) for each in (before, after))
    found = edge_differences(*sides, page=ListPage())
    return [(each.change, each.from_.dataset, each.from_.column, each.to.dataset) for each in found.items]
