"""Rules 6.8, 6.9, 8.4, 9.3: earlier executions that used a column, and earlier writes whose rows remain.

See docs/reference/lineage.md.
"""

import pytest

from headwater.common.paging import ListPage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import read_rewrites
from headwater.lineage.snapshots.snapshot import Window
from headwater.questions.answer_types.columns import Verdict
from headwater.questions.subjects import Subject
from headwater.questions.unused import verdicts_answer
from tests.reference import exposures
from tests.reference.solver import Reference
from tests.reference.world_events import START_US, Json, symlinks
from tests.rule_cases.events import LAKE, done, table, tagging, writes
from tests.support.data.lineage_world import LineageWorld, as_recorded

DAY, DAY_US = 86_400, 86_400_000_000
WINDOW_US = 92 * DAY_US
A, B = table("a", "x y"), table("b", "x y")
MONDAY = done(1, 0, writes("t", {"x": "a.x"}), of=[A], job="load")
TUESDAY = done(2, DAY, writes("t", {"x": "b.x"}), of=[B], job="load")
OVERWRITTEN = done(3, 2 * DAY, writes("t", {"x": "b.x"}, says="OVERWRITE"), of=[B], job="other")


def seen(*events: Json, window_us: int | None = WINDOW_US, rewrites: str = "") -> LineageWorld:
    """Return the lineage of events, each received at its event time. Without a window, only newest executions count."""
    text = f"version: 1\nrewrites: [{{{rewrites}}}]"
    rules = UserRules(rewrites=read_rewrites(text, "rewrites.yaml") if rewrites else ())
    return LineageWorld(as_recorded(events), window_us=window_us, rules=rules)


def verdict(world: LineageWorld, name: str, column: str, window_us: int = WINDOW_US) -> Verdict:
    found = verdicts_answer(
        world.scene, UserRules(), world.counted, asked=Subject(LAKE, name), page=ListPage(), window=Window(window_us)
    )
    return next(item for item in found.items if item.column == column)


def reached(world: LineageWorld, name: str, column: str, *, forward: bool) -> dict[str, bool]:
    """Return the columns that a column reaches, or that reach it, and whether only earlier executions show it."""
    hits = world.hits((LAKE, name, column), "value", forward=forward)
    return {f"{world._column(hit.node)[1]}.{world._column(hit.node)[2]}": hit.earlier for hit in hits}


def test_a_column_that_an_earlier_execution_used_within_the_window_is_used() -> None:
    found = verdict(seen(MONDAY, TUESDAY), "a", "x")
    assert (found.verdict, found.earlier, found.last_used) == ("used", True, "2026-03-01T12:00:00.000Z")
    assert reached(seen(MONDAY, TUESDAY), "a", "x", forward=True) == {"t.x": True}
    assert reached(seen(MONDAY, TUESDAY), "b", "x", forward=True) == {"t.x": False}


def test_before_the_window_and_with_window_0_only_newest_executions_use_a_column() -> None:
    late = done(4, 93 * DAY, writes("t", {"x": "b.x"}), of=[B], job="load")
    for world in (seen(MONDAY, TUESDAY, late), seen(MONDAY, TUESDAY, window_us=0)):
        found = verdict(world, "a", "x")
        assert (found.verdict, found.earlier, found.last_used) == ("unused", False, "2026-03-01T12:00:00.000Z")
        assert reached(world, "a", "x", forward=True) == {}


def test_an_earlier_execution_that_reports_no_columns_makes_a_column_unknown() -> None:
    opaque = done(1, 0, table("t", "x"), of=[A], job="load")
    assert verdict(seen(opaque, TUESDAY), "a", "x").verdict == "unknown"


def test_a_dataset_that_was_observed_for_less_than_the_window_says_so() -> None:
    later = done(2, 3 * DAY, writes("t", {"x": "a.x"}), of=[A], job="load")
    found = verdict(seen(MONDAY, later), "a", "y")
    assert (found.verdict, found.observed_since) == ("unused", "2026-03-01T12:00:00.000Z")
    assert found.caveats[-1] == "Observed for 3 of 92 days."


def test_upstream_has_earlier_writes_until_a_whole_rewrite() -> None:
    assert reached(seen(MONDAY, TUESDAY), "t", "x", forward=False) == {"a.x": True, "b.x": False}
    assert reached(seen(MONDAY, TUESDAY, OVERWRITTEN), "t", "x", forward=False) == {"b.x": False}
    assert reached(seen(MONDAY, TUESDAY, window_us=None), "t", "x", forward=False) == {"b.x": False}


def test_impact_goes_on_whatever_other_jobs_wrote_since() -> None:
    assert reached(seen(MONDAY, TUESDAY, OVERWRITTEN), "a", "x", forward=True) == {"t.x": True}


def test_what_only_an_earlier_write_shows_in_the_clear_is_once_exposed() -> None:
    pii = tagging(3 * DAY, "a.x")
    exposures, until = seen(MONDAY, TUESDAY, pii).behind_tag("pii")
    assert (exposures, len(until)) == ({(LAKE, "t", "x"): "once_exposed"}, 1)
    assert seen(MONDAY, TUESDAY, OVERWRITTEN, pii).behind_tag("pii") == ({}, {})
    assert seen(MONDAY, TUESDAY, pii, window_us=None).behind_tag("pii") == ({}, {})


def test_clear_rows_move_with_a_name_and_leave_open_what_no_writer_accounts_for() -> None:
    before, after = (table(name, "x z", symlinks=symlinks(("hive://meta", "db.t"))) for name in ("old", "new"))
    events = [
        done(1, 0, writes("old", {"x": "a.x"}, columns="x z"), of=[A], job="load"),
        done(2, DAY, writes("old", {"x": "c.k"}), of="c", job="load"),
        done(3, DAY, writes("o", {"y": "old.z"}), of=[before], job="before"),
        done(4, 2 * DAY, writes("o", {"y": "new.z"}), of=[after], job="after"),
        tagging(3 * DAY, "a.x"),
    ]
    found, until = seen(*events).behind_tag("pii")
    clear, doubted = (
        {(LAKE, "old", "x"), (LAKE, "new", "x")},
        {(LAKE, "old", "z"), (LAKE, "new", "z"), (LAKE, "o", "y")},
    )
    assert found == dict.fromkeys(clear, "once_exposed") | dict.fromkeys(doubted, "unknown")
    assert until == dict.fromkeys(clear, START_US)
    lineage = Reference(as_recorded(events), window_us=WINDOW_US)
    assert exposures.surface(lineage, {(LAKE, "a", "x")}) == found
    assert exposures.exposed_until(lineage, {(LAKE, "a", "x")}) == until


def test_a_copy_holds_clear_rows_though_what_it_was_copied_from_was_rewritten() -> None:
    copied = done(5, DAY // 2, writes("copy", {"x": "t.x"}), of=[table("t", "x")], job="copy")
    exposures, _ = seen(MONDAY, copied, TUESDAY, OVERWRITTEN, tagging(3 * DAY, "a.x")).behind_tag("pii")
    assert exposures == {(LAKE, "copy", "x"): "once_exposed"}


def test_an_earlier_opaque_write_from_a_tagged_column_is_unknown() -> None:
    opaque = done(1, 0, table("t", "x"), of=[A], job="load")
    exposures, _ = seen(opaque, TUESDAY, tagging(3 * DAY, "a.x")).behind_tag("pii")
    assert exposures == {(LAKE, "t", "x"): "unknown"}


def test_an_earlier_write_that_does_not_name_a_masked_tagged_column_may_have_left_it_clear() -> None:
    masked = done(2, DAY, writes("t", {"x": "a.x#"}), of=[A], job="load")
    rewritten = done(3, 2 * DAY, writes("t", {"x": "a.x#"}, says="OVERWRITE"), of=[A], job="another")
    for silent in (table("t", "x"), writes("t", {"y": "a.y"}, columns="x y")):
        appended, pii = done(1, 0, silent, of=[A], job="load"), tagging(3 * DAY, "t.x")
        worlds = [[appended, masked, pii], [appended, masked, rewritten, pii]]
        found = [seen(*events).tagged_themselves("pii") for events in worlds]
        assert found == [({(LAKE, "t", "x"): "masked"}, until) for until in ({(LAKE, "t", "x"): START_US}, {})]
        for events, (_, until) in zip(worlds, found, strict=True):
            lineage = Reference(as_recorded(events), window_us=WINDOW_US)
            assert exposures.tagged_until(lineage, {(LAKE, "t", "x")}) == until


def test_questions_about_nested_columns_change_no_answer_about_what_they_lie_in() -> None:
    """Walks cache their steps between questions. A struct must not stay cached as a plain column."""
    read = done(1, 0, writes("t", {"s": "a.s"}), of=[table("a", "s")], job="load")
    after, fresh = seen(read), seen(read)
    assert after.impact((LAKE, "a", "s")) == {"t.s": (1, False)}
    nested = (LAKE, "a", "s.part")
    assert after.impact(nested) == fresh.impact(nested)
    assert after.impact((LAKE, "a", "s")) == {"t.s": (1, False)}


def test_a_question_may_be_repeated_by_any_window() -> None:
    """Views of different windows share a cache. More windows than fit into the cache give the same answers."""
    world = seen(MONDAY, TUESDAY)
    windows = [Window(each * DAY_US) for each in (0, 1, 2, 3, 4, 5, 0, 1)]
    found = [world.scene.counted_edges_with_earlier(each).with_earlier_uses() for each in windows]
    assert [sum(each.live_mask) for each in found] == [1, 2, 2, 2, 2, 2, 1, 2]


def test_what_an_earlier_way_and_a_longer_current_one_reach_is_not_earlier() -> None:
    current = done(3, 2 * DAY, writes("u", {"x": "a.x"}), of=[A], job="first")
    longer = done(4, 2 * DAY, writes("t", {"x": "u.x"}), of=[table("u", "x")], job="second")
    assert reached(seen(MONDAY, TUESDAY, current, longer), "a", "x", forward=True) == {"t.x": False, "u.x": False}


@pytest.mark.parametrize(("hours", "is_there"), [(96, True), (72, True), (71, False)])
def test_rows_that_a_dataset_no_longer_keeps_are_gone(hours: int, is_there: bool) -> None:
    """The newest event is three days after Monday."""
    events = [MONDAY, done(2, DAY, writes("t", {"x": "a.x#"}), of=[A], job="load"), tagging(3 * DAY, "a.x")]
    keeps_us = {(LAKE, "t"): hours * 3_600_000_000}
    reference = Reference(as_recorded(events), window_us=WINDOW_US, keeps_us=keeps_us)
    found, until = seen(*events, rewrites=f"dataset: t, keeps: {hours}h").behind_tag("pii")
    assert (found, bool(until)) == ({(LAKE, "t", "x"): "masked"}, is_there)
    assert found == exposures.surface(reference, [(LAKE, "a", "x")])
    assert until == exposures.exposed_until(reference, [(LAKE, "a", "x")])


def test_upstream_leaves_out_writes_whose_rows_a_dataset_no_longer_keeps() -> None:
    late = done(3, 3 * DAY, writes("u", {"x": "b.x"}), of=[B], job="other")
    assert reached(seen(MONDAY, TUESDAY, late, rewrites="dataset: t, keeps: 2d"), "t", "x", forward=False) == {
        "b.x": False
    }
    assert reached(seen(MONDAY, TUESDAY, late, rewrites="dataset: t, keeps: 3d"), "t", "x", forward=False) == {
        "a.x": True,
        "b.x": False,
    }
    assert reached(seen(MONDAY, TUESDAY, late, rewrites="dataset: t, keeps: 2d"), "a", "x", forward=True) == {
        "t.x": True
    }


def test_a_run_that_failed_rewrites_nothing_whatever_is_declared() -> None:
    failed = done(3, 2 * DAY, writes("t", {"x": "b.x"}), of=[B], job="other", kind="FAIL")
    declared = "job: other, writes: whole"
    assert seen(MONDAY, failed, rewrites=declared).scene.newest_rewrite(Name(LAKE, "t")) is None
    completed = done(3, 2 * DAY, writes("t", {"x": "b.x"}), of=[B], job="other")
    assert seen(MONDAY, completed, rewrites=declared).scene.newest_rewrite(Name(LAKE, "t")) is not None
