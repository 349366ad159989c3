"""While a disk is full, processes may be killed.

Once there is space, all continue by themselves and store each event once.
"""

import errno
import os
import resource
import signal
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from headwater.common.storage_faults import explain_storage_error, is_transient
from tests.support.data.made_events import body, run_event
from tests.support.faults.full_disk import SmallDisk, small_disk
from tests.support.http_client import Gateway, running
from tests.support.lake_check import bronze_of
from tests.support.running import LISTENS, started

ROLES = ("serve", "parser", "index", "sinks")
WAIT_S = 60.0
PASSING = {
    errno.ENOSPC: "Free space", errno.EDQUOT: "quota", errno.EROFS: "mount it", errno.EIO: "dmesg",
    errno.EMFILE: "ulimit -n", errno.ENFILE: "ulimit -n", errno.EFBIG: "ulimit -f",
}  # fmt: skip
AS_RUST_SAYS = (
    "Failed to parse parquet: External: Generic LocalFileSystem error: Unable to copy data to file: {text} "
    "(os error {number})"
)


@pytest.mark.parametrize("number", PASSING)
def test_a_fault_that_passes_is_known_as_such_whoever_tells_it_and_says_what_to_do(number: int) -> None:
    told = AS_RUST_SAYS.format(text=os.strerror(number), number=number)
    for error in (OSError(number, os.strerror(number), "/data/x"), Exception(told)):
        assert is_transient(error)
        assert PASSING[number] in explain_storage_error(error, "data")
        assert explain_storage_error(error, "data").endswith("Headwater retries automatically.")


def test_what_only_a_person_can_mend_does_not_pass(tmp_path: Path) -> None:
    for number in (errno.EACCES, errno.ENOENT, errno.ENOTDIR):
        assert not is_transient(OSError(number, os.strerror(number)))
    (tmp_path / "no database").write_bytes(b"x" * 5000)
    with pytest.raises(sqlite3.DatabaseError) as damaged:
        sqlite3.connect(tmp_path / "no database").execute("SELECT * FROM t")
    assert not is_transient(damaged.value)
    with pytest.raises(sqlite3.OperationalError) as wrong:
        sqlite3.connect(":memory:").execute("SELECT * FROM t")
    assert not is_transient(wrong.value)


def test_sqlite_tells_a_full_disk_in_its_own_way(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "small")
    connection.execute("CREATE TABLE t(x)")
    connection.execute("PRAGMA max_page_count = 3")
    with pytest.raises(sqlite3.OperationalError) as full:
        connection.execute("INSERT INTO t VALUES (zeroblob(1000000))")
    with pytest.raises(sqlite3.OperationalError) as no_folder:
        sqlite3.connect(tmp_path / "nothing" / "here")
    connection.execute("PRAGMA query_only = 1")
    with pytest.raises(sqlite3.OperationalError) as read_only:
        connection.execute("INSERT INTO t VALUES (1)")
    assert all(is_transient(raised.value) for raised in (full, no_folder, read_only))
    assert "Free space" in explain_storage_error(full.value, "data")


class Station:
    """A Headwater on a small disk, and the events that it has acknowledged."""

    def __init__(self, gateway: Gateway, disk: SmallDisk) -> None:
        self.gateway = gateway
        self.disk = disk
        self.acknowledged: set[str] = set()
        self.first_index_file: tuple[str, int] | None = None

    def post(self) -> int:
        """Post a new event once. Returns the status, or 0 without an answer."""
        event = run_event()
        try:
            answer = httpx.post(f"{self.gateway.url}/api/v1/lineage", content=body(event), timeout=30)
        except httpx.HTTPError:
            return 0
        if answer.status_code == 200:
            self.acknowledged.add(event["run"]["runId"])
        return answer.status_code

    def index_file(self) -> tuple[str, int]:
        """Return name and inode of the only index file."""
        (path,) = (self.disk.data / "index").glob("*.sqlite")
        return path.name, path.stat().st_ino

    def stored(self) -> list[str]:
        """Return the run of each event in the lake."""
        return list(bronze_of(self.disk.data).events.run_query("SELECT run_id FROM t").column("run_id").to_pylist())

    def process(self, role: str) -> psutil.Process | None:
        """Return the process that has a role, independent of the pid file."""
        module = f"headwater.operations.local.{role}_process"
        return next((each for each in self.gateway.running.children() if module in _command(each)), None)

    def kill(self, role: str) -> None:
        """Kill the process that has a role, and wait until a new one has it."""
        killed = self.process(role)
        assert killed
        killed.send_signal(signal.SIGKILL)
        until(lambda: (now := self.process(role)) is not None and now.pid != killed.pid)

    def check_well(self) -> None:
        """Wait until all acknowledged events are answered, then check that each is stored once and every part is
        healthy.
        """
        until(lambda: self.post() == 200)
        with self.gateway.client() as client:
            until(lambda: client.get("/api/headwater/v1/freshness").json().get("seconds") == 0)
            audit = client.get("/api/headwater/v1/audit").json()
            assert (audit["balanced"], audit["pending"], audit["duplicates"], audit["rejected"]) == (True, 0, 0, 0)
            assert client.get("/health/ready").status_code == 200
            until(lambda: _sink(client)["state"] == "caught up")
            assert _sink(client)["failed"] == 0
        stored = self.stored()
        assert self.acknowledged <= set(stored)
        assert len(stored) == len(set(stored))
        assert self.gateway.process.poll() is None
        until(lambda: all(_pid(self.process(role)) == self.gateway.running.pid(role) for role in ROLES))


@pytest.fixture(scope="module")
def station(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Station]:
    with small_disk(tmp_path_factory.mktemp("small"), mebibytes=64) as disk:
        disk.data.mkdir()
        sink = f"{{type: file, folder: {disk.root / 'out'}, every: 1s}}"
        (disk.data / "sinks.yml").write_text(f"version: 1\nsinks:\n  files: {sink}\n")
        with running(disk.data, min_free_bytes=0) as gateway:
            found = Station(gateway, disk)
            until(lambda: found.process("sinks") is not None)
            found.check_well()
            found.first_index_file = found.index_file()
            yield found


@pytest.mark.slow
@pytest.mark.parametrize("role", ROLES)
def test_who_is_killed_while_the_disk_is_full_is_well_again_once_there_is_room(station: Station, role: str) -> None:
    station.disk.fill()
    try:
        until(lambda: station.post() == 503)
        station.kill(role)
        until(lambda: station.post() == 503)
    finally:
        station.disk.free()
    station.check_well()


@pytest.mark.slow
def test_a_disk_that_fills_amid_a_crowd_loses_and_doubles_nothing(station: Station) -> None:
    ends = threading.Event()

    def go_on() -> None:
        while not ends.is_set():
            station.post()

    crowd = [threading.Thread(target=go_on) for _ in range(4)]
    for each in crowd:
        each.start()
    try:
        for role in ("parser", "index"):
            before = len(station.acknowledged)
            until(lambda before=before: len(station.acknowledged) > before + 20)  # type: ignore[misc]
            station.disk.fill()
            station.kill(role)
            until(lambda: station.post() == 503)
            station.disk.free()
    finally:
        ends.set()
        for each in crowd:
            each.join()
    station.check_well()


@pytest.mark.slow
def test_without_a_name_for_another_file_all_wait_and_go_on(station: Station) -> None:
    station.disk.take_names()
    try:
        for role in ROLES:
            station.kill(role)
            station.post()
    finally:
        station.disk.free()
    station.check_well()


@pytest.mark.slow
@pytest.mark.parametrize("role", ["parser", "index"])
def test_who_may_open_no_more_files_is_well_again_once_it_may(station: Station, role: str) -> None:
    process, said = station.process(role), len(station.gateway.said())
    assert process
    with few_files(process.pid):
        assert station.post() == 200
        until(lambda: "Headwater retries automatically" in station.gateway.said()[said:])
    station.check_well()
    assert station.process(role) == process, "the process was restarted"


@pytest.mark.slow
def test_while_serve_may_open_no_more_files_it_refuses_and_loses_nothing(station: Station) -> None:
    process = station.process("serve")
    assert process
    with station.gateway.client() as client:
        client.get("/health/live").raise_for_status()
        with few_files(process.pid):
            assert client.get("/api/headwater/v1/audit").status_code == 503
    station.check_well()
    assert station.process("serve") == process, "the process was restarted"


@pytest.mark.slow
def test_who_takes_files_waits_for_the_disk_of_its_ledger(station: Station, tmp_path: Path) -> None:
    event = run_event()
    (tmp_path / "events.ndjson").write_bytes(body(event) + b"\n")
    station.disk.fill()
    state = ("--state", station.disk.root / "state", "--follow")
    ingest = started("ingest", tmp_path, "--server", station.gateway.url, *state)
    try:
        assert ingest.stderr
        assert "Headwater retries automatically" in ingest.stderr.readline()
        station.disk.free()
        station.acknowledged.add(event["run"]["runId"])
        until(lambda: event["run"]["runId"] in station.stored())
    finally:
        ingest.terminate()
        errors = ingest.communicate(timeout=WAIT_S)[1]
    assert "Traceback" not in errors
    station.check_well()


@pytest.mark.slow
def test_no_full_disk_was_taken_for_damage_or_for_a_fault_of_ours(station: Station) -> None:
    assert station.index_file() == station.first_index_file, "the index was rebuilt"
    said = station.gateway.said()
    assert "damaged" not in said
    assert "Traceback" not in said


@pytest.mark.slow
@pytest.mark.parametrize("begin", ["bytes", "names", "reading only"])
def test_up_waits_for_a_disk_that_takes_nothing_and_begins_once_it_does(tmp_path: Path, begin: str) -> None:
    with small_disk(tmp_path, mebibytes=8, names=200) as disk:
        disk.data.mkdir()
        if begin == "bytes":
            disk.fill()
        elif begin == "names":
            disk.take_names()
        else:
            disk.allow(writing=False)
        up = started("up", "--data", disk.data, "--port", "0", environment={"HEADWATER_MIN_FREE_BYTES": "0"})
        try:
            assert up.stdout
            why = up.stdout.readline()
            assert "Headwater retries automatically" in why
            if begin == "reading only":
                disk.allow(writing=True)
            else:
                disk.free()
            line = next(line for line in up.stdout if not line.startswith("headwater: Cannot"))
            assert LISTENS in line
            url = line.split(LISTENS)[1].split()[0]
            assert httpx.post(f"{url}/api/v1/lineage", content=body(run_event()), timeout=30).status_code == 200
        finally:
            up.terminate()
            errors = up.communicate(timeout=WAIT_S)[1]
        assert "Traceback" not in errors


@contextmanager
def few_files(pid: int) -> Iterator[None]:
    """Prevent a process from opening more files."""
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (5, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, resource.RLIMIT_NOFILE, before)


def _sink(client: httpx.Client) -> dict[str, Any]:
    found: dict[str, Any] = client.get("/api/headwater/v1/sinks").json()["items"][0]
    return found


def until(is_so: Callable[[], bool]) -> None:
    """Poll a condition, because no notification announces that a disk has space again."""
    deadline = time.monotonic() + WAIT_S
    while not _is(is_so):
        assert time.monotonic() < deadline, "the condition did not become true in time"
        time.sleep(0.05)


def _is(is_so: Callable[[], bool]) -> bool:
    try:
        return is_so()
    except (httpx.HTTPError, psutil.NoSuchProcess, FileNotFoundError, KeyError, IndexError):
        return False


def _command(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def _pid(process: psutil.Process | None) -> int:
    return process.pid if process else 0
