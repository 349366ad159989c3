"""Old events are deleted from bronze and the audit stays balanced. Shared content is deleted with the last
reference.
"""

from pathlib import Path

import pytest

from headwater.common.errors import WrongSetting
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.follower import IndexFollower
from headwater.lake.bronze_retention import delete_old_events, remove_unreferenced
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.settings import load_settings
from headwater.tables import SCHEMAS
from tests.support.data.parsing import World, event

pytestmark = pytest.mark.slow  # rewrites lakes


def aged(world: World) -> World:
    """Create a lake of three old and two new records. The first old record has the same schema as a new one."""
    world.append(event(1), event(2, ["gone"]), b"{}")
    world.age(5)
    world.append(event(3), event(3))
    parse(world)
    return world


def parse(world: World) -> None:
    parser = world.parser()
    while parser.commit_next():
        pass


def sources(world: World) -> list[Source]:
    return [world.reader().source]


def fields(world: World) -> set[str]:
    found = world.bronze.tables["schemas"].run_query("SELECT DISTINCT field_path[1] AS field FROM t")
    return set(found.column("field").to_pylist())


def test_old_events_go_the_books_balance_and_a_second_time_finds_nothing(tmp_path: Path) -> None:
    world = aged(World(tmp_path))
    for _ in range(2):
        delete_old_events(world.bronze, 3)
        assert world.sequences("events") == [4]
        expected = {"received": 5, "stored": 1, "removed": 2, "duplicates": 1, "rejected": 1, "balanced": True}
        assert world.audit() | expected == world.audit()
    rejected = world.bronze.tables["rejected"].run_query("SELECT body, http, reason FROM t").to_pylist()
    assert [(row["body"], row["http"], bool(row["reason"])) for row in rejected] == [(None, None, True)]


def test_without_the_setting_and_before_the_days_are_over_nothing_goes(tmp_path: Path) -> None:
    world = aged(World(tmp_path))
    delete_old_events(world.bronze, 0)
    delete_old_events(world.bronze, 5)
    assert world.sequences("events") == [1, 2, 4]


def test_what_no_event_names_goes_and_comes_back_with_an_event_that_is_sent_again(tmp_path: Path) -> None:
    world = aged(World(tmp_path))
    assert remove_unreferenced(world.bronze, sources(world)) == 0
    assert fields(world) == {"a", "gone"}
    delete_old_events(world.bronze, 3)
    assert remove_unreferenced(world.bronze, sources(world)) == 3  # its schema, its edges, its shape
    assert fields(world) == {"a"}
    world.append(event(2, ["gone"]))
    parse(world)
    assert fields(world) == {"a", "gone"}
    assert world.audit() | {"stored": 2, "removed": 2, "duplicates": 1, "balanced": True} == world.audit()


@pytest.mark.parametrize(("late", "is_noted"), [([event(4)], True), ([event(1), b"{}"], False)], ids=["event", "none"])
def test_an_index_that_was_stopped_until_events_were_removed_notes_that(
    tmp_path: Path, late: list[bytes], *, is_noted: bool
) -> None:
    """Duplicates and invalid records do not count as losses."""
    world = World(tmp_path)
    world.append(event(1))
    world.age(5)
    parse(world)
    assert noted(world) is None
    world.append(*late)
    world.age(5, behind=1)
    world.append(event(2))
    parse(world)
    delete_old_events(world.bronze, 3)
    assert noted(world) == (world.bronze.removed_before_us() if is_noted else None)


def noted(world: World) -> int | None:
    """Bring the index up to date. Returns the time (us) before which it lacks removed events."""
    follower = IndexFollower(IndexHome(world.folder / "index"), world.bronze)
    while follower.process_batches(default_rules()):
        pass
    follower.close()
    views = ViewOpener(IndexHome(world.folder / "index"), RulesFiles(world.folder / "rules"))
    found = views.query_current_index(lambda live, _: live.removed_before_us)
    views.close()
    return found


def test_rows_of_a_batch_that_is_half_way_stay(tmp_path: Path) -> None:
    world = aged(World(tmp_path))
    delete_old_events(world.bronze, 3)
    schemas = world.bronze.tables[SCHEMAS.name]
    schemas.append_once(sources(world)[0].app_id, schemas.prepare([(6, ("ab" * 16, 0, ["b"], None, None))]), 6)
    assert remove_unreferenced(world.bronze, sources(world)) == 0
    assert fields(world) == {"a", "b", "gone"}


def test_the_days_of_the_dedupe_window_are_kept(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting, match="at least 3"):
        load_settings({"bronze_keep_days": 2}, folder=tmp_path, environment={})
