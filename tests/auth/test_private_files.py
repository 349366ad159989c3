"""Only the owner can read the data folder, because it contains raw event bodies."""

import logging
import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from headwater.common.errors import WrongSetting
from headwater.intake.files.taken_ledger import FilePosition, IngestLedger
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings
from tests.support.data.made_events import body, run_event, with_raw
from tests.support.data.parsing import World, event
from tests.support.http_client import running
from tests.support.running import headwater

LARGE = {"claim_bytes": 1000}


pytestmark = pytest.mark.usefixtures("usual_umask")


def open_to_others(folder: Path) -> dict[str, str]:
    """Return the mode of every file and folder, including the data folder, that other accounts may access."""
    found = [folder, *folder.rglob("*")]
    modes = {path: path.lstat().st_mode for path in found}
    return {str(path): stat.filemode(mode) for path, mode in modes.items() if mode & 0o077}


def open_up(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.slow
def test_no_other_account_has_any_right_on_what_headwater_makes(tmp_path: Path) -> None:
    folder = tmp_path / "data"
    with running(folder, **LARGE) as gateway:
        with gateway.client() as client:
            client.post("/api/v1/lineage", content=body(run_event())).raise_for_status()
            large = with_raw(run_event(), b'"' + b"x" * 5000 + b'"')
            client.post("/api/v1/lineage", content=large).raise_for_status()
            client.post("/api/v1/lineage", content=b"{")
        gateway.settled()
        parts = {path.relative_to(folder).parts[0] for path in folder.rglob("*") if path.is_file()}
        assert parts == {"log", "log.acknowledged", "claims", "lake", "index", "run", "format"}, (
            "otherwise the test would check too few folders"
        )
        assert list(folder.glob("log/*-wal")), "the -wal files are checked as well"
        assert open_to_others(folder) == {}
    assert open_to_others(folder) == {}
    for path in folder.glob("index/*"):
        path.unlink()
    assert headwater("search", "a", "--data", folder).returncode == 0
    assert list(folder.glob("index/*")), "the command has rebuilt the index"
    assert open_to_others(folder) == {}


@pytest.mark.slow
def test_a_data_folder_that_was_open_to_others_is_closed_with_a_word_when_headwater_starts(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.claim(event(1))
    world.parser().commit_next()
    open_up(world.folder)
    with running(world.folder) as gateway:
        gateway.settled()
        assert open_to_others(world.folder) == {}
        assert f"Other accounts had access to {world.folder}" in gateway.said()
    with running(world.folder) as gateway:
        assert "Other accounts" not in gateway.said()


def test_of_a_folder_that_holds_other_things_only_our_part_is_closed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    home = tmp_path / "home"
    world = World(home)
    world.append(event(1))
    (home / "letters").mkdir()
    (home / "letters" / "to a friend").touch()
    open_up(home)
    with caplog.at_level(logging.WARNING):
        prepare_folder(world.settings)
    assert set(open_to_others(home)) == {str(home / name) for name in ("", "letters", "letters/to a friend")}
    assert f"{home / 'log'}, " in caplog.text


def test_the_files_of_its_user_do_not_keep_a_data_folder_open(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(event(1))
    (world.folder / "sinks.yml").touch()
    (world.folder / "rules").mkdir()
    open_up(world.folder)
    prepare_folder(world.settings)
    assert not stat.S_IMODE(world.folder.stat().st_mode) & 0o077


@pytest.fixture
def another_account() -> Iterator[None]:
    """Switch to the account `nobody` during the test."""
    if os.geteuid():
        pytest.skip("Only root may become another account.")
    os.seteuid(65534)
    yield
    os.seteuid(0)


@pytest.mark.usefixtures("another_account")
def test_a_data_folder_that_this_account_cannot_close_is_refused_with_what_to_do() -> None:
    with tempfile.TemporaryDirectory() as own:
        Path(own).chmod(0o700)
        folder = Path(own) / "data"
        folder.mkdir()
        folder.chmod(0o777)
        os.seteuid(0)
        os.chown(folder, 0, 0)
        os.seteuid(65534)
        settings = load_settings({"data": folder}, folder=Path(own), environment={})[0]
        with pytest.raises(WrongSetting, match="--data, such as") as refused:
            prepare_folder(settings)
        assert str(folder) in str(refused.value)
        inside = settings.model_copy(update={"data": folder / "headwater"})
        assert prepare_folder(inside) == folder / "headwater"
        assert not (folder / "headwater").stat().st_mode & 0o077


def test_a_ledger_of_files_that_others_could_read_is_closed_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ledger.sqlite"
    path.parent.mkdir()
    path.touch(mode=0o644)
    with closing(IngestLedger(path)) as ledger:
        ledger.store_positions([FilePosition("store", "1", "/a")])
        assert len(list(path.parent.iterdir())) > 1, "the side files are checked as well"
        assert set(open_to_others(path.parent)) <= {str(path.parent)}


def test_a_log_on_another_disk_behind_a_link_is_closed_too(tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    (disk / "elsewhere").touch()
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "log").symlink_to(disk)
    prepare_folder(load_settings({"data": folder}, folder=tmp_path, environment={})[0])
    assert open_to_others(disk) == {}


def test_a_lake_elsewhere_keeps_the_rights_that_its_owner_gave_it(tmp_path: Path) -> None:
    lake = tmp_path / "lake"
    lake.mkdir(mode=0o755)
    prepare_folder(load_settings({"data": tmp_path / "data", "lake": str(lake)}, folder=tmp_path, environment={})[0])
    assert set(open_to_others(lake)) == {str(lake)}
