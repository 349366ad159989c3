"""A real `headwater up` as a subprocess: started, found by its own line, stopped or killed."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO

import psutil

from tests.support.paths import ROOT

LISTENS = "Headwater listens on "
TIMEOUT_S = 60.0
_ROOT = ROOT
_COMMAND = [sys.executable, "-m", "headwater"]


def headwater(
    *arguments: str | Path,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    timeout_s: float = TIMEOUT_S,
) -> subprocess.CompletedProcess[str]:
    """Run one command of the command line to its end, and all that it started: they hold its output."""
    return subprocess.run(
        [*_COMMAND, *map(str, arguments)], cwd=cwd,
        env=_environment(environment or {}), capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip


def started(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start one command of the command line."""
    return subprocess.Popen(
        [*_COMMAND, *map(str, arguments)], env=_environment(environment or {}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class Running:
    """`headwater up` on a free port (or `port`) and a folder; leaving the `with` block stops what still runs.

    environment: added to ours, such as HEADWATER_TICK_S; url: where it listens; folder: its data; timeout_s: how long
    it may take to listen, to start a station again and to end.
    """

    def __init__(
        self,
        folder: Path,
        *,
        port: int = 0,
        environment: Mapping[str, str] | None = None,
        options: Sequence[str] = (),
        cwd: Path | None = None,
        timeout_s: float = TIMEOUT_S,
    ) -> None:
        self.folder = folder
        self._timeout_s = timeout_s
        self._lines: list[str] = []
        self._ended = False
        self._more = threading.Condition()
        self._errors: list[str] = []
        self.process = subprocess.Popen(
            [*_COMMAND, "up", "--data", str(folder), "--port", str(port), *options],
            env=_environment(environment or {}), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        )  # fmt: skip
        self._threads = [
            threading.Thread(target=self._read_lines, daemon=True),
            threading.Thread(target=self._read_errors, daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        try:
            self.url = self.wait_line(LISTENS).split(LISTENS)[1].split()[0]
        except AssertionError:
            self.process.kill()
            raise

    def __enter__(self) -> "Running":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.process.poll() is not None:
            self._close()
        elif kind is None:
            self.stop()
        else:
            self.kill()

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    @property
    def lines(self) -> list[str]:
        """What it has printed on standard output so far."""
        with self._more:
            return list(self._lines)

    @property
    def stderr(self) -> str:
        """What it and its children have printed on standard error so far."""
        return "".join(self._errors)

    def wait_line(self, text: str, *, timeout_s: float | None = None) -> str:
        """Wait until a line that contains `text` is printed; return it."""
        return self.wait_next(text, after=0, timeout_s=timeout_s)[1]

    def wait_next(self, text: str, *, after: int, timeout_s: float | None = None) -> tuple[int, str]:
        """Wait for a line with `text` behind the first `after` lines; return its number, from 1, and it."""

        def found() -> tuple[int, str] | None:
            lines = enumerate(self._lines[after:], after + 1)
            return next((numbered for numbered in lines if text in numbered[1]), None)

        with self._more:
            self._more.wait_for(lambda: found() or self._ended, timeout_s or self._timeout_s)
            line = found()
        assert line, f"`headwater up` never printed {text!r}. It printed {self._lines}. Errors: {self.stderr}"
        return line

    def pid(self, name: str) -> int:
        """Read who plays a role, `serve` or `parser`; it may have died since it wrote that."""
        return int((self.folder / "run" / f"{name}.pid").read_text())

    def wait_pid(self, name: str, *, other_than: int = 0, timeout_s: float | None = None) -> int:
        """Wait until a living child of ours, not the process `other_than`, plays a role."""
        patience = timeout_s or self._timeout_s
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):
                pid = self.pid(name)
                if pid != other_than and psutil.Process(pid).ppid() == self.process.pid:
                    return pid
            time.sleep(0.01)  # a file tells nobody that it was replaced
        raise AssertionError(f"No new {name} within {patience:.0f} s. Errors: {self.stderr}")

    def cpu_s(self) -> float:
        """Return the CPU time that it and its children have had, those that ended included."""
        spent = 0.0
        with contextlib.suppress(psutil.NoSuchProcess):
            of = psutil.Process(self.process.pid).cpu_times()
            spent = float(of.user + of.system + of.children_user + of.children_system)
        for child in self._descendants():
            with contextlib.suppress(psutil.NoSuchProcess):
                of = child.cpu_times()
                spent += of.user + of.system
        return spent

    def children(self) -> list[psutil.Process]:
        """Return the supervisor's living children."""
        return [child for child in self._descendants() if child.status() != psutil.STATUS_ZOMBIE]

    def stop(self) -> None:
        """End it as Ctrl-C and service managers do; it must end well and leave no process behind."""
        self._end(signal.SIGTERM, 0)

    def kill(self) -> None:
        """Kill the supervisor as a power cut would; its children must end by themselves."""
        self._end(signal.SIGKILL, -signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill supervisor and children at one moment."""
        children = self._descendants()
        self.process.kill()
        for child in children:
            _signal(child.pid, signal.SIGKILL)
        self._await(children, -signal.SIGKILL)

    def _end(self, number: signal.Signals, status: int) -> None:
        children = self._descendants()
        self.process.send_signal(number)
        self._await(children, status)

    def _await(self, children: Sequence[psutil.Process], status: int) -> None:
        found = self.process.wait(self._timeout_s)
        alive = [child for child in children if not _ends(child.pid, self._timeout_s)]
        self._close()
        assert not alive, f"Children outlived the supervisor: {alive}. Errors: {self.stderr}"
        assert found == status, f"`headwater up` ended with {found}. Errors: {self.stderr}"

    def _descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True) if self.process.poll() is None else []

    def _close(self) -> None:
        for thread in self._threads:
            thread.join(self._timeout_s)
        for stream in (self.process.stdout, self.process.stderr):
            if stream:
                stream.close()

    def _read_lines(self) -> None:
        for line in _lines(self.process.stdout):
            with self._more:
                self._lines.append(line.rstrip("\n"))
                self._more.notify_all()
        with self._more:
            self._ended = True
            self._more.notify_all()

    def _read_errors(self) -> None:
        for line in _lines(self.process.stderr):
            self._errors.append(line)


def _lines(stream: IO[str] | None) -> IO[str]:
    assert stream, "it is a pipe"
    return stream


def _ends(pid: int, timeout_s: float) -> bool:
    """Wait until a process that may not be our child has ended."""
    try:
        descriptor = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        poll = select.poll()
        poll.register(descriptor, select.POLLIN)
        return bool(poll.poll(timeout_s * 1000))
    finally:
        os.close(descriptor)


def _signal(pid: int, number: signal.Signals) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _environment(more: Mapping[str, str]) -> dict[str, str]:
    """Return our environment with ours before any installed Headwater."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}
