"""A lake in cloud storage with the log that feeds it is backed up to this machine and restored to a
different address.
"""

import json
from pathlib import Path

import pytest

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.operations.backup import MANIFEST, back_up
from headwater.operations.restore import restore_backup
from headwater.operations.settings import load_settings
from tests.support.data.parsing import World, event
from tests.support.servers.azurite import KEY, Storage, one_line

pytestmark = pytest.mark.slow


def test_a_lake_at_an_address_comes_back_with_its_log_the_storage_failing_in_between(
    storage: Storage, tmp_path: Path
) -> None:
    world, copy = World(tmp_path / "data", **storage.lake(account_key=KEY)), tmp_path / "copy"
    for number in (1, 2):
        world.append(event(number))
        world.parser().commit_next()
    world.append(event(3))  # the event is still in the log
    with storage.failing("broken", "column_lineage"), pytest.raises(LakeUnavailable) as failed:
        back_up(world.settings, copy)
    one_line(failed.value, "Run the backup again")
    with pytest.raises(WrongSetting, match="interrupted backup"):
        restore_backup(world.settings, copy)
    made = back_up(world.settings, copy)
    assert (made["from"], made["to"], made["in the lake to"]) == (1, 3, 2)
    container = storage.container()
    elsewhere = storage.lake(container.container_name, account_key=KEY)
    settings = load_settings({"data": tmp_path / "again", **elsewhere}, folder=tmp_path, environment={})[0]
    with storage.failing("broken", "rejected"), pytest.raises(LakeUnavailable):
        restore_backup(settings, copy)
    with pytest.raises(WrongSetting, match="was interrupted"):
        World(tmp_path / "again", **elsewhere)
    assert restore_backup(settings, copy)["in the lake to"] == 2
    again = World(tmp_path / "again", **elsewhere)
    assert again.sequences("events") == [1, 2]
    again.append(event(4))
    again.parser().commit_next()
    assert again.sequences("events") == [1, 2, 3, 4]
    assert again.audit() | {"stored": 4, "balanced": True} == again.audit()
    assert "a/lake/restoring" not in set(container.list_blob_names())
    with pytest.raises(WrongSetting, match="not empty"):
        restore_backup(settings.model_copy(update={"data": tmp_path / "third"}), copy)


def test_a_lake_that_holds_something_else_is_left_as_it_is(storage: Storage, tmp_path: Path) -> None:
    container = storage.container()
    world, copy = World(tmp_path / "data"), tmp_path / "copy"
    world.append(event(1))
    world.parser().commit_next()
    back_up(world.settings, copy)
    container.upload_blob("a/lake/theirs.txt", b"theirs")
    lake = storage.lake(container.container_name, account_key=KEY)
    settings = load_settings({"data": tmp_path / "again", **lake}, folder=tmp_path, environment={})[0]
    with pytest.raises(WrongSetting, match="not empty"):
        restore_backup(settings, copy)
    assert [*container.list_blob_names()] == ["a/lake/theirs.txt"]


@pytest.mark.parametrize("name", ["data/../../planted", "/planted", "planted", "data", "data/lake/../../../planted"])
def test_a_manifest_that_leads_elsewhere_restores_nothing(name: str, tmp_path: Path) -> None:
    world, copy, again = World(tmp_path / "data"), tmp_path / "copy", tmp_path / "again"
    back_up(world.settings, copy)
    told = json.loads((copy / MANIFEST).read_text())
    told["files"] |= {name: next(iter(told["files"].values()))}
    (copy / MANIFEST).write_text(json.dumps(told))
    with pytest.raises(WrongSetting, match="unexpected file name"):
        restore_backup(world.settings.model_copy(update={"data": again}), copy)
    assert not again.exists()
