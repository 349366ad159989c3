"""Run a real `headwater up` under load while Hypothesis generates faults.

After each episode, the campaign checks the promises P1 to P5 with the audit and with the producers' ledger.
"""

import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
from hypothesis import HealthCheck, Phase, settings
from hypothesis import seed as with_seed
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.support.data.parsing import take_last_notes
from tests.support.lake_check import audit_over_http, check_audit, check_lake
from tests.support.paths import ROOT
from tests.support.producers import CLAIM_BYTES, RATE, Producers
from tests.support.running import Running, headwater

_ENVIRONMENT = {
    "HEADWATER_TICK_S": "0.05",
    "HEADWATER_CLAIM_BYTES": str(CLAIM_BYTES),
    "HEADWATER_SEGMENT_BYTES": str(1 << 20),
    "HEADWATER_MIN_FREE_BYTES": "0",
}
_DISK_BYTES = 1 << 30
_RECOVERED_S = 120.0
_RECOVERED_CPU_S = 60.0
_STUCK_S = 1200.0
"""Time limits for recovery after a fault.

A process is stuck if it makes no progress in two minutes *and* in one minute of CPU time of all processes together. A
busy machine may give them only a few seconds of CPU time in two minutes. `_STUCK_S` detects idle processes.
"""
_LOOK_S = 0.2
"""Interval between polls.

An audit reads log and lake, so one every 50 ms would take CPU time from the processes under test.
"""

STATIONS = ("serve", "parser", "index")


@dataclass(slots=True)
class Chronicle:
    """Totals of a campaign: episodes, faults by kind, kills, acknowledged events, and events stored in bronze."""

    episodes: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    kills: int = 0
    acknowledged: int = 0
    stored: int = 0


class Disk:
    """A small file system whose free space a test can use up and release.

    If the process must not mount file systems, it is a normal folder and `is_own` is false.
    """

    def __init__(self) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="headwater-campaign-"))
        self.is_own = self._mount(f"size={_DISK_BYTES}")

    def fill(self, spare: int) -> None:
        """Use up the free space except for `spare` bytes."""
        usage = shutil.disk_usage(self.folder)
        self._mount(f"remount,size={usage.used + max(4096, spare)}")

    def free(self) -> None:
        """Release all used-up space."""
        self._mount(f"remount,size={_DISK_BYTES}")

    def close(self) -> None:
        if self.is_own:
            subprocess.run(["umount", "--lazy", str(self.folder)], check=True, capture_output=True)
        shutil.rmtree(self.folder)

    def _mount(self, options: str) -> bool:
        command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(self.folder)]
        return os.geteuid() == 0 and subprocess.run(command, check=False, capture_output=True).returncode == 0


class Campaign(RuleBasedStateMachine):
    """One episode: a data folder, producers that post continuously, and a series of faults, some of them simultaneous.

    chronicle: totals, shared by all episodes of a campaign. rate: events per second that producers post.
    """

    chronicle = Chronicle()
    rate: float = RATE

    @initialize(seed=st.integers(0, 1 << 30))
    def begin(self, seed: int) -> None:
        """Start Headwater and the producers on an empty disk."""
        self._random = random.Random(seed)
        self._disk = Disk()
        self._folder = self._disk.folder / "data"
        self._index_copy = self._disk.folder / "index of earlier"
        self._running = Running(self._folder, environment=_ENVIRONMENT, timeout_s=_STUCK_S)
        self._producers = Producers(self._running.port, seed, self._folder, rate=self.rate)
        self._producers.start()
        self._await_progress()

    @rule(names=st.sets(st.sampled_from(STATIONS), min_size=1), pause_ms=st.integers(0, 500))
    def kill(self, names: set[str], pause_ms: int) -> None:
        """Kill processes at the same moment."""
        self._pause(pause_ms)
        self._kill(names)
        self._await_progress()

    @rule(is_all=st.booleans(), pause_ms=st.integers(0, 500))
    def power_cut(self, is_all: bool, pause_ms: int) -> None:
        """Kill the supervisor, either alone or with all its children."""
        self._pause(pause_ms)
        self._cut("power cut" if is_all else "supervisor killed", is_all=is_all)
        self._start()
        self._await_progress()

    @rule(name=st.sampled_from(STATIONS), ms=st.integers(10, 3000), then_kill=st.booleans())
    def freeze(self, name: str, ms: int, then_kill: bool) -> None:
        """Suspend a process for a while, as a paused virtual machine does."""
        self._note(f"{name} stopped")
        process = psutil.Process(self._running.wait_pid(name))
        process.suspend()
        self._pause(ms)
        if then_kill:
            self._kill({name})
        else:
            process.resume()
        self._await_progress()

    @precondition(lambda self: self._disk.is_own)
    @rule(spare=st.integers(0, 3 << 20), ms=st.integers(100, 4000), victims=st.sets(st.sampled_from(STATIONS)))
    def fill_disk(self, spare: int, ms: int, victims: set[str]) -> None:
        """Fill the disk at a random moment, possibly kill a process, then free the disk."""
        self._note("disk filled" + (", stations killed" if victims else ""))
        self._disk.fill(spare)
        self._pause(ms)
        if victims:
            self._kill(victims, awaited=False)
            self._pause(ms)
        self._disk.free()
        self._await_progress()

    @rule(ms=st.integers(100, 3000), is_newest=st.booleans(), victims=st.sets(st.sampled_from(STATIONS)))
    def lock_segment(self, ms: int, is_newest: bool, victims: set[str]) -> None:
        """Lock a segment of the log from another program, possibly while a process starts."""
        self._note("segment locked" + (", stations killed" if victims else ""))
        with locked(self._segment(is_newest=is_newest)):
            if victims:
                self._kill(victims, awaited=False)
            self._pause(ms)
        self._await_progress()

    @rule(data=st.binary(min_size=1, max_size=9000))
    def torn_log(self, data: bytes) -> None:
        """Kill all processes and append random bytes to the newest segment's journal, as a torn write does."""
        self._cut("power cut, torn journal", is_all=True)
        journal = Path(f"{self._segment(is_newest=True)}-wal")
        with journal.open("ab") as file:
            file.write(data)
        self._start()
        self._await_progress()

    @rule()
    def index_deleted(self) -> None:
        """Kill all processes and delete the index."""
        self._cut("power cut, index deleted", is_all=True)
        shutil.rmtree(self._folder / "index", ignore_errors=True)
        self._start()
        self._await_progress()

    @rule()
    def index_restored(self) -> None:
        """Kill all processes and restore the index from an earlier power cut."""
        self._cut("power cut, index of earlier", is_all=True)
        index = self._folder / "index"
        if self._index_copy.exists():
            shutil.rmtree(index, ignore_errors=True)
            shutil.copytree(self._index_copy, index)
        elif index.exists():
            shutil.copytree(index, self._index_copy)
        self._start()
        self._await_progress()

    @rule(steps=st.integers(1, 5))
    def second_parser(self, steps: int) -> None:
        """Run a second parser on the same log and lake."""
        self._note("second parser")
        code = "import sys; from pathlib import Path; from tests.support.data.parsing import World\n"
        code += "parser = World(Path(sys.argv[1])).parser()\nfor _ in range(int(sys.argv[2])):\n    parser.step()\n"
        command = [sys.executable, "-c", code, str(self._folder), str(steps)]
        done = subprocess.run(
            command, cwd=ROOT, env={**os.environ, **_ENVIRONMENT}, capture_output=True,
            text=True, timeout=_STUCK_S, check=False,
        )  # fmt: skip
        assert done.returncode == 0 or "Retry" in done.stderr, done.stderr

    @rule()
    def second_up(self) -> None:
        """Start a second `headwater up` on the same folder, which must exit with an error and change nothing."""
        self._note("second `up`")
        done = headwater("up", "--data", self._folder, "--port", "0", environment=_ENVIRONMENT, timeout_s=_STUCK_S)
        assert done.returncode != 0
        assert "Traceback" not in done.stderr

    def teardown(self) -> None:
        """Wait until all events are stored, then check the promises."""
        if not hasattr(self, "_producers"):
            return
        try:
            self._reckon()
        except BaseException as error:
            kept = Path(tempfile.mkdtemp(prefix="headwater-campaign-failed-")) / "data"
            shutil.copytree(self._folder, kept)
            error.add_note(f"What it left is in {kept}.")
            raise
        finally:
            with suppress(AssertionError, psutil.Error):
                if self._running.process.poll() is None:
                    self._running.kill_all()
            self._disk.close()

    def _reckon(self) -> None:
        self._producers.stop(_STUCK_S)
        url, ledger = self._running.url, self._producers.ledger
        self._await_all_parsed()
        _await(
            lambda: httpx.get(f"{url}/health/ready", timeout=30).status_code == 200, "it is not ready", self._running
        )
        self._running.stop()
        take_last_notes(self._folder)
        audit = headwater("audit", "--json", "--data", self._folder, environment=_ENVIRONMENT, timeout_s=_STUCK_S)
        check_audit(self._folder, json.loads(audit.stdout))
        stored = check_lake(self._folder, ledger)
        self.chronicle.episodes += 1
        self.chronicle.acknowledged += sum(sent.acknowledged for sent in ledger.events.values())
        self.chronicle.stored += len(stored.events)
        sys.stdout.write(f"episode {self.chronicle.episodes}: {self.chronicle.kills} kills so far\n")

    def _await_all_parsed(self) -> None:
        """Wait until no events are pending. Fails only if the parser makes no progress for a while."""
        url = self._running.url
        pending: int | None = None
        last: dict[str, Any] = {}
        while pending != 0:
            before = pending

            def is_less(before: int | None = before) -> bool:
                nonlocal last
                last = audit_over_http(url)
                return "pending" in last and (before is None or last["pending"] < before)

            _await(is_less, f"the parser has parsed nothing more, {before} pending", self._running)
            pending = last["pending"]

    def _start(self) -> None:
        self._running = Running(self._folder, port=self._running.port, environment=_ENVIRONMENT, timeout_s=_STUCK_S)

    def _cut(self, name: str, *, is_all: bool) -> None:
        self._note(name)
        self.chronicle.kills += 4 if is_all else 1
        if is_all:
            self._running.kill_all()
        else:
            self._running.kill()

    def _kill(self, names: set[str], *, awaited: bool = True) -> None:
        self._note("+".join(sorted(names)) + " killed")
        self.chronicle.kills += len(names)
        pids = {name: self._running.wait_pid(name) for name in sorted(names)}
        for pid in pids.values():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        if awaited:
            for name, pid in pids.items():
                self._running.wait_pid(name, other_than=pid)

    def _segment(self, *, is_newest: bool) -> Path:
        segments = sorted((self._folder / "log").glob("*.sqlite"))
        return segments[-1] if is_newest else self._random.choice(segments)

    def _await_progress(self) -> None:
        """Wait until the receiver acknowledges new events and bronze grows again without intervention."""
        ledger, url = self._producers.ledger, self._running.url
        before = ledger.acknowledged()
        _await(lambda: ledger.acknowledged() > before + 20, "nothing is acknowledged any more", self._running)
        stored = audit_over_http(url).get("stored", 0)
        _await(lambda: audit_over_http(url).get("stored", 0) > stored, "nothing is stored any more", self._running)

    def _pause(self, ms: int) -> None:
        time.sleep(ms / 1000)  # the pause is the random part of the fault

    def _note(self, fault: str) -> None:
        self.chronicle.faults[fault] += 1


@contextmanager
def locked(segment: Path) -> Iterator[None]:
    """Hold an exclusive lock on a SQLite file."""
    connection = sqlite3.connect(segment, isolation_level=None, timeout=5)
    try:
        connection.execute("PRAGMA locking_mode=EXCLUSIVE")
        with suppress(sqlite3.OperationalError):  # a writer already has the lock
            connection.execute("BEGIN EXCLUSIVE")
        yield
    finally:
        connection.close()


def _tried(is_so: Callable[[], bool]) -> bool:
    with suppress(httpx.TransportError):
        return is_so()
    return False


def _await(is_so: Callable[[], bool], otherwise: str, running: Running) -> None:
    began, cpu_s = time.monotonic(), running.cpu_s()
    while not _tried(is_so):
        assert running.process.poll() is None, f"`up` ended: {running.stderr[-2000:]}"
        waited = time.monotonic() - began
        if waited > _RECOVERED_S:
            had = running.cpu_s() - cpu_s
            is_slow = had < _RECOVERED_CPU_S and waited < _STUCK_S
            assert is_slow, f"After {waited:.0f} s and {had:.0f} s of CPU {otherwise}. Errors: {running.stderr[-3000:]}"
        time.sleep(_LOOK_S)  # no event announces the result, so poll


def besiege(seed: int, *, episodes: int, steps: int) -> None:
    """Run episodes of at most `steps` faults each. Raises an error with the steps if a promise is broken.

    The first episode is the same for every seed: it repeats one fault.
    """
    limits = settings(
        max_examples=episodes,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(with_seed(seed)(Campaign), settings=limits)
