"""The timer that ingests files, called as a function: with a real log, and the ledger in a container of Azurite."""

import json
import logging
from contextlib import closing
from datetime import UTC, datetime
from inspect import signature
from pathlib import Path
from typing import Any

import azure.functions as func
import pytest

from functions.ingest import FileIngest, blueprint
from headwater.cli.ingest import ingest
from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.files.batch_sending import BATCH
from headwater.intake.files.file_taking import MOST_REJECTED
from headwater.intake.files.taken_ledger import FilePosition, IngestLedger
from headwater.operations.runtime.azure_files import IngestedFilesLedgerCopy
from headwater.operations.settings import Settings
from tests.support.cleanup import until_end
from tests.support.data.file_intake import events
from tests.support.data.parsing import World
from tests.support.servers.adls import CONTAINER, dfs_server
from tests.support.servers.azurite import KEY, Storage

AZURE = f"abfss://{CONTAINER}@acct.dfs.core.windows.net"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "in"
    made.mkdir()
    return made


@pytest.fixture(scope="module")
def lake(storage: Storage) -> dict[str, Any]:
    return storage.lake(account_key=KEY)


def settings(data: Path, folder: Path, **more: Any) -> Settings:
    return Settings.model_validate({"data": data, "ingest": [str(folder)], "triggers": ["ingest"], **more})


def write(path: Path, bodies: list[bytes], torn: bytes = b"") -> None:
    path.write_bytes(b"".join(each + b"\n" for each in bodies) + torn)


def logged(data: Path) -> list[bytes]:
    reader = until_end(SqliteLogReader(data / "log"))
    return [record.body for record in reader.read(0, limit=100_000, max_bytes=1 << 40)]


def test_each_run_takes_what_is_new_and_says_so(tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, logger="functions")
    sent, more = events(BATCH + 3), events(2)
    write(folder / "a.ndjson", sent, b"{no json\n")
    file_ingest = FileIngest(settings(tmp_path / "data", folder))

    file_ingest.run()
    write(folder / "b.ndjson", more)
    file_ingest.run()

    assert logged(tmp_path / "data") == [*sent, b"{no json", *more]
    first, second = (record.getMessage() for record in caplog.records if record.name.startswith("functions"))
    assert f"1 checked, {BATCH + 3} events ingested, 1 lines rejected" in first
    assert f"{folder}/a.ndjson:{BATCH + 4}: not an event" in first
    assert "2 checked, 2 events ingested, 0 lines rejected" in second


def test_the_timer_leaves_a_file_after_1000_lines_that_are_no_events_as_the_command_does_unasked(
    tmp_path: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, logger="functions")
    first, unread, second, last = (events(1) for _ in range(4))
    write(folder / "a.ndjson", first + [b"{"] * MOST_REJECTED + unread)
    write(folder / "b.ndjson", second + [b"{"] * (MOST_REJECTED - 1) + last)
    FileIngest(settings(tmp_path / "data", folder)).run()
    (said,) = (record for record in caplog.records if record.name.startswith("functions"))
    assert said.levelno == logging.WARNING
    assert "3 events ingested, 1999 lines rejected" in said.getMessage()
    assert (
        f"{folder}/a.ndjson: 1,000 of its lines are not events, so it is not read after line 1001" in said.getMessage()
    )
    assert {body for body in logged(tmp_path / "data") if body != b"{"} == {*first, *second, *last}
    assert signature(ingest).parameters["max_rejected"].default == MOST_REJECTED == 1000


@pytest.mark.slow
def test_taken_files_go_after_their_time_and_never_before_their_events_are_in_bronze(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    data, sent = tmp_path / "data", events(3)
    with dfs_server() as server:
        server.put("lineage/a.ndjson", b"".join(each + b"\n" for each in sent))
        place: dict[str, Any] = {"ingest": [f"{AZURE}/lineage"], "ingest_options": server.options}
        one = settings(data, tmp_path, **place)
        keeping = FileIngest(one.model_copy(update={"ingest_keep_hours": 1000.0}))
        deleting = FileIngest(one.model_copy(update={"ingest_keep_hours": 1e-9}))
        for file_ingest in (deleting, deleting):
            file_ingest.run()
            assert list(server.files), "its events are still in the log, so the file must remain"
        World(data).parser().commit_next()
        keeping.run()
        assert list(server.files), "the file must be kept for the configured time"
        server.put("lineage/b.ndjson", sent[0][:9], datetime.now(UTC).isoformat())
        server.denied = {"DELETE"}
        deleting.run()
        assert "lacks a role" in caplog.text
        server.denied = set()
        deleting.run()
        assert list(server.files) == ["lineage/b.ndjson"], "the last line is incomplete, so the file must remain"
    assert logged(data) == sent


def test_a_run_ends_with_its_time_and_the_next_one_goes_on(tmp_path: Path, folder: Path) -> None:
    sent = events(2 * BATCH + 1)
    write(folder / "a.ndjson", sent)
    file_ingest = FileIngest(settings(tmp_path / "data", folder), budget_s=0.0)

    file_ingest.run()
    assert logged(tmp_path / "data") == sent[:BATCH]
    file_ingest.run()
    file_ingest.run()

    assert logged(tmp_path / "data") == sent


def test_a_run_on_another_machine_knows_what_was_taken(
    tmp_path: Path, folder: Path, lake: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    sent, more = events(3), events(2)
    write(folder / "a.ndjson", sent)
    one, two = (FileIngest(settings(tmp_path / name, folder, **lake)) for name in ("one", "two"))

    one.run()
    write(folder / "b.ndjson", more)
    two.run()
    one.run()

    assert (logged(tmp_path / "one"), logged(tmp_path / "two")) == (sent, more)


def test_what_was_taken_travels_only_when_it_has_changed(tmp_path: Path, folder: Path, storage: Storage) -> None:
    write(folder / "a.ndjson", events(3))
    file_ingest = FileIngest(settings(tmp_path / "one", folder, **storage.lake(account_key=KEY)))
    ledger = tmp_path / "one/ingest/taken.sqlite"

    def asked() -> tuple[list[str], int]:
        """Run once. Returns the requests for the ledger's copy, and the inode of this machine's ledger file."""
        before = len(storage.requests)
        file_ingest.run()
        about = [each for each in storage.requests[before:] if "taken.sqlite" in each]
        return [each.split()[0] for each in about], ledger.stat().st_ino

    first, own = asked()
    assert first == ["GET", "PUT"]
    assert asked() == (["GET"], own)
    write(folder / "b.ndjson", events(1))
    assert asked() == (["GET", "PUT"], own)
    assert asked() == (["GET"], own)


def test_of_two_runs_at_once_one_keeps_its_ledger(tmp_path: Path, folder: Path, lake: dict[str, Any]) -> None:
    one, two = (
        IngestedFilesLedgerCopy(settings(tmp_path / name, folder, **lake), tmp_path / name) for name in ("one", "two")
    )
    for copy in (one, two):
        copy.download()
        with closing(IngestLedger(copy.path)) as ledger:
            ledger.store_positions([FilePosition("file", str(copy.path), str(copy.path))])
    one.upload()

    with pytest.raises(LakeUnavailable, match="Cannot store the ledger of ingested files"):
        two.upload()
    two.download()
    two.upload()


def test_a_folder_that_is_none_is_named_by_the_run(tmp_path: Path) -> None:
    with pytest.raises(WrongSetting, match="There is no file or folder"):
        FileIngest(settings(tmp_path / "data", tmp_path / "none")).run()


def named(given: Settings) -> list[str | None]:
    """Return the functions that an app registers."""
    app = func.FunctionApp()
    app.register_functions(blueprint(given))
    return [function.get_function_name() for function in app.get_functions()]


def test_the_trigger_is_a_timer(tmp_path: Path, folder: Path) -> None:
    assert not named(Settings.model_validate({"data": tmp_path / "none"})), (
        "without a configured folder there must be no function"
    )
    app = func.FunctionApp()
    app.register_functions(blueprint(settings(tmp_path / "data", folder)))

    (function,) = app.get_functions()

    assert function.get_function_name() == "ingest"
    (trigger,) = json.loads(function.get_function_json())["bindings"]
    assert (trigger["type"], trigger["schedule"]) == ("timerTrigger", "15 * * * * *")
