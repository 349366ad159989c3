"""A log that was deleted or restored while its lake continued: the parser stops until a new epoch starts."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import WrongSetting
from headwater.intake.event_log import RecordKind
from headwater.operations.local.log_epochs import begin_epoch
from tests.support.data.parsing import World, event, note

pytestmark = pytest.mark.slow


def delete(world: World, copy: Path) -> None:
    shutil.rmtree(world.log)
    world.log.mkdir()
    world.uncount()
    world.append(event("after"))


def restore(world: World, copy: Path) -> None:
    shutil.rmtree(world.log)
    shutil.copytree(copy, world.log)


def restore_and_go_on(world: World, copy: Path) -> None:
    restore(world, copy)
    world.uncount()
    world.append(*(event(f"unseen {number}") for number in range(20)))


@pytest.mark.parametrize("change", [delete, restore, restore_and_go_on])
def test_a_log_that_does_not_match_its_lake_is_refused_with_the_fix(
    tmp_path: Path, change: Callable[[World, Path], None]
) -> None:
    world = fed(tmp_path)
    change(world, tmp_path / "copy")
    with pytest.raises(WrongSetting, match="headwater log new-epoch"):
        world.parser()


@pytest.mark.parametrize(("change", "unseen"), [(delete, 1), (restore, 0), (restore_and_go_on, 20)])
def test_after_a_new_incarnation_all_of_the_log_is_parsed_again_and_the_audit_balances(
    tmp_path: Path, change: Callable[[World, Path], None], unseen: int
) -> None:
    world = fed(tmp_path)
    stored = len(world.sequences("events"))
    change(world, tmp_path / "copy")
    for _ in range(2):
        begin_epoch(world.settings)
        assert world.audit()["balanced"]
    audit = catch_up(world)
    assert len(world.sequences("events")) == stored + unseen
    assert audit["balanced"]
    assert audit["pending"] == 0
    assert world.sequences("duplicates") or change is delete


def test_incarnations_in_a_row_keep_the_books(tmp_path: Path) -> None:
    world = fed(tmp_path)
    for life in range(4):
        begin_epoch(world.settings)
        world.append(event(f"life {life}"), event(1), b"{}")
        if life % 2:
            catch_up(world)
        assert world.audit()["balanced"]
    catch_up(world)
    delete(world, tmp_path)
    begin_epoch(world.settings)
    catch_up(world)
    restore(world, tmp_path / "copy")
    begin_epoch(world.settings)
    catch_up(world)
    audit = world.audit()
    assert audit["balanced"]
    assert audit["received"] == audit["stored"] + audit["duplicates"] + audit["rejected"]


def test_what_retention_took_before_a_new_incarnation_is_no_gap(tmp_path: Path) -> None:
    world = World(tmp_path)
    full = world.append_to_end_of_segment(*map(event, range(5)))
    world.append(note(), kind=RecordKind.REFUSAL)
    next_full = world.append_to_end_of_segment(event(5))
    world.append(event(6))
    world.parser().commit_next()
    full.unlink()
    next_full.unlink()
    begin_epoch(world.settings)
    assert world.audit()["balanced"]
    catch_up(world)
    assert world.reasons() == {}
    assert world.audit() | {"stored": 7, "duplicates": 1, "balanced": True} == world.audit()
    begin_epoch(world.settings)
    catch_up(world)
    assert world.audit() | {"stored": 7, "duplicates": 2, "rejected": 0, "balanced": True} == world.audit()


@pytest.mark.parametrize("commit", ["rejected", "duplicates", "refused"])
def test_a_new_incarnation_counts_what_a_crash_had_committed_beyond_the_watermark(tmp_path: Path, commit: str) -> None:
    world = World(tmp_path)
    world.append(event(1), event(1), b"{}", event(2))
    world.append(note(), kind=RecordKind.REFUSAL)
    killed = world.step_elsewhere({**os.environ, "HEADWATER_FAILPOINT": f"parser.after_{commit}"})
    assert killed.wait(60) < 0
    begin_epoch(world.settings)
    assert world.audit()["balanced"]
    catch_up(world)
    assert world.audit()["balanced"]
    assert len(world.sequences("events")) == 2


def fed(folder: Path) -> World:
    """Create a lake from a log with every kind of record. `copy` contains the log from half-way."""
    world = World(folder)
    world.append(event(1), event(2), event(1), b"{}")
    world.append(note(), kind=RecordKind.REFUSAL)
    catch_up(world)
    shutil.copytree(world.log, folder / "copy")
    world.append(event(3), event(2), b"[]")
    world.append(note(3), kind=RecordKind.REFUSAL)
    catch_up(world)
    return world


def catch_up(world: World) -> dict[str, Any]:
    parser = world.parser()
    while parser.commit_next():
        pass
    return world.audit()
