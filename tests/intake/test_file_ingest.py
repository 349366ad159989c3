"""`headwater ingest` from a user's view: a real Headwater, a real folder, and the error for each mistake."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner

from headwater.cli.app import app
from headwater.common.errors import HeadwaterError
from headwater.intake.files.sources.file_source import FileGone
from headwater.intake.files.sources.local_files import LocalFiles
from tests.cli.test_commands import fails_in_one_line
from tests.support.commands import commanded
from tests.support.data.made_events import body, run_event
from tests.support.running import TIMEOUT_S, Running, headwater, started
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # starts Headwater, and a process for each command

KEYS = (
    '[{"name": "all", "key": "all-secret", "roles": ["admin"]},'
    ' {"name": "writer", "key": "writer-secret", "roles": ["write"]}]'
)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("up")
    with Running(folder / "data", options=["--tick", "100ms"], environment={"HEADWATER_KEYS": KEYS}) as up:
        yield up


class Folder:
    """A folder of files, a separate state, and the command."""

    def __init__(self, tmp_path: Path, running: Running) -> None:
        self.path = tmp_path / "in"
        self.path.mkdir()
        self.data = running.folder
        self._more = ("--server", running.url, "--state", tmp_path / "state", "--json")

    def ingest(self, *options: str, key: str = "all-secret") -> subprocess.CompletedProcess[str]:
        return commanded("ingest", self.path, *self._more, "--key", key, *options)

    def follow(self, *options: str) -> subprocess.Popen[str]:
        return started("ingest", self.path, *self._more, "--key", "all-secret", "--follow", *options)


@pytest.fixture
def folder(tmp_path: Path, running: Running) -> Folder:
    return Folder(tmp_path, running)


@pytest.fixture
def client(running: Running) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=running.url, headers={"authorization": "Bearer all-secret"}) as opened:
        yield opened


def lines(*texts: bytes) -> bytes:
    return b"".join(text + b"\n" for text in texts)


def test_a_folder_is_taken_once_and_a_bad_line_is_found_by_file_and_line(folder: Folder, client: httpx.Client) -> None:
    event = run_event()
    (folder.path / "a.ndjson").write_bytes(lines(body(event), b"{spoiled", body(run_event())))

    first, again = folder.ingest(), folder.ingest()

    assert (first.returncode, json.loads(first.stdout)["events"]) == (1, 2)
    assert (again.returncode, json.loads(again.stdout)["events"]) == (0, 0)
    while client.get("/api/headwater/v1/freshness").json()["log"]:
        rest()
    (rejected,) = client.get("/api/headwater/v1/rejected").json()["items"]
    assert rejected["origin"] == json.loads(rejected["http"])["origin"] == f"{folder.path}/a.ndjson:2"
    assert (rejected["reason"], rejected["body"]) == ("not_json", "{spoiled")
    shown = headwater("rejected", "--data", folder.data).stdout.splitlines()
    folded = "".join(line.split("│")[-2].strip() for line in shown if "│" in line)
    assert folded == f"{folder.path}/a.ndjson:2"
    found = client.get("/api/headwater/v1/events", params={"run": event["run"]["runId"]}).json()
    assert found["totalCount"] == 1
    assert client.get("/api/headwater/v1/audit").json()["balanced"]


def test_a_link_that_leads_out_of_the_folder_is_not_followed(
    folder: Folder, client: httpx.Client, tmp_path: Path
) -> None:
    (stranger := tmp_path / "stranger").mkdir()
    (stranger / "private.json").write_text('{"private": "hunter2"}')
    (stranger / "events.ndjson").write_bytes(lines(body(run_event())))
    (hidden := folder.path / ".store").mkdir()
    (hidden / "b.ndjson").write_bytes(lines(body(run_event())))
    (folder.path / "b.ndjson").symlink_to(hidden / "b.ndjson")
    (folder.path / "out.json").symlink_to(stranger / "private.json")
    (folder.path / "folder").symlink_to(stranger)

    outcome = json.loads(folder.ingest().stdout)
    assert (outcome["events"], outcome["rejected"], outcome["unreadable"]) == (1, 0, 1)
    [reason] = outcome["reasons"]
    assert reason.startswith(f"{folder.path}/out.json: it cannot be read: it is a link to a file outside the folder")
    assert "hunter2" not in client.get("/api/headwater/v1/rejected").text

    (folder.path / "c.ndjson").write_bytes(lines(body(run_event())))
    (linked := tmp_path / "linked").symlink_to(folder.path)
    (one := tmp_path / "one.ndjson").symlink_to(stranger / "events.ndjson")
    for given in (linked, one):
        folder.path = given
        assert json.loads(folder.ingest().stdout)["events"] == 1, "a path that is itself a link must work"


def test_what_becomes_a_link_between_listing_and_opening_is_not_read(tmp_path: Path) -> None:
    """The listed file has a second name outside the folder, so its identity does not show which name was opened."""
    inside, outside = tmp_path / "in" / "sub", tmp_path / "out"
    inside.mkdir(parents=True)
    outside.mkdir()
    (inside / "a.ndjson").write_text("{}")
    (outside / "a.ndjson").hardlink_to(inside / "a.ndjson")
    source = LocalFiles(tmp_path / "in")
    [found] = source.files(0)
    source.open(found).close()
    inside.rename(tmp_path / "moved")
    inside.symlink_to(outside)
    with pytest.raises(OSError, match="a link to a file outside the folder"):
        source.open(found)
    inside.unlink()
    os.mkfifo(inside)
    with pytest.raises((FileGone, OSError)):
        source.open(found)


def test_a_file_of_something_else_is_left_after_so_many_rejected_lines(folder: Folder) -> None:
    (folder.path / "ones.json").write_bytes(b"[" + b",".join([b"1"] * 300_000) + b"]")
    (folder.path / "z.ndjson").write_bytes(lines(body(run_event()), b"1"))
    taken = folder.ingest("--max-rejected", "10")
    outcome = json.loads(taken.stdout)
    assert (taken.returncode, outcome["events"], outcome["rejected"], outcome["stopped"]) == (1, 1, 11, 1)
    assert any("ones.json: 10 of its lines are not events" in reason for reason in outcome["reasons"])
    again = json.loads(folder.ingest().stdout)
    assert (again["unchanged"], again["rejected"], again["stopped"]) == (2, 0, 0)


def test_follow_takes_what_comes_and_ends_well_when_it_is_told_to(folder: Folder, client: httpx.Client) -> None:
    process = folder.follow()
    event = run_event()
    with (folder.path / "a.ndjson").open("ab", buffering=0) as file:
        file.write(body(event) + b"\n")
        while not found(client, event):
            assert process.poll() is None
            rest()
        second = run_event()
        file.write(body(second) + b"\n")
        while not found(client, second):
            assert process.poll() is None
            rest()
    process.send_signal(signal.SIGTERM)
    said, errors = process.communicate(timeout=TIMEOUT_S)

    assert (process.returncode, errors) == (0, "")
    assert json.loads(said)["events"] == 2
    assert json.loads(folder.ingest().stdout)["events"] == 0


def test_files_are_deleted_once_the_server_says_that_their_events_are_in_bronze(
    folder: Folder, client: httpx.Client
) -> None:
    event = run_event()
    path = folder.path / "a.ndjson"
    path.write_bytes(lines(body(event)))
    assert json.loads(folder.ingest("--keep", "7d").stdout)["deleted"] == 0
    while not found(client, event):
        rest()

    assert json.loads(folder.ingest("--keep", "7d").stdout)["deleted"] == 0
    assert path.exists()
    assert json.loads(folder.ingest("--keep", "1ms").stdout)["deleted"] == 1
    assert not path.exists()


def test_two_at_once_on_one_state_are_refused(folder: Folder, client: httpx.Client) -> None:
    event = run_event()
    (folder.path / "a.ndjson").write_bytes(lines(body(event)))
    first = folder.follow()
    while not found(client, event):
        rest()

    fails_in_one_line(folder.ingest(), "Another `headwater ingest` uses", "--state")

    first.send_signal(signal.SIGTERM)
    first.communicate(timeout=TIMEOUT_S)
    assert first.returncode == 0


def test_mistakes_are_answered_in_one_line_with_the_way_out(
    folder: Folder, running: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder.path / "a.ndjson"
    file.write_bytes(lines(body(run_event())))
    monkeypatch.chdir(tmp_path)
    state = ("--state", tmp_path / "other")

    fails(tmp_path / "none", *state, words=("no file or folder", "none"))
    fails("s3a://bucket/x", *state, words=("s3a://", "headwater-spark ingest"))
    fails(folder.path, *state, "--server", "localhost:5000", words=("http://127.0.0.1:5000",))
    fails(folder.path, *state, "--server", "http://127.0.0.1:9", words=("No response", "headwater up", "--server"))
    fails(folder.path, *state, "--since", "soon", words=("'soon'", "2026-03-01 or 2d"))
    fails(folder.path, *state, "--keep", "7 days", words=("'7 days'", "2d"))
    fails(folder.path, *state, "--keep", "7d", "--since", "2d", words=("--since excludes", "further back"))
    fails(folder.path, "--state", file, words=("--state",))
    fails(folder.path, *state, "--server", running.url, "--key", "wrong", words=("missing or wrong", "HEADWATER_KEY"))
    fails_in_one_line(folder.ingest("--keep", "1s", key="writer-secret"), "write and read", "--keep")


def fails(*arguments: str | Path, words: tuple[str, ...]) -> None:
    """Run the command with a mistake, and check its error, which `headwater` prints as one line."""
    outcome = CliRunner().invoke(app, ["ingest", *map(str, arguments)])
    said = str(outcome.exception)
    assert isinstance(outcome.exception, HeadwaterError), outcome
    assert "\n" not in said
    assert all(word in said for word in words), said


def found(client: httpx.Client, event: dict[str, dict[str, str]]) -> bool:
    """Return whether an event is in bronze."""
    asked = client.get("/api/headwater/v1/events", params={"run": event["run"]["runId"]})
    return bool(asked.json()["totalCount"])
