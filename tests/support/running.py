"""Run a real `headwater up` as a subprocess: start it, find its address in its output, stop or kill it."""

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
    """Run a command to its end. This includes the processes that it starts, because they share its output."""
    return subprocess.run(
        [*_COMMAND, *map(str, arguments)], cwd=cwd,
        env=_environment(environment or {}), capture_output=True, text=True, timeout=timeout_s, check=False,
    )  # fmt: skip


def started(*arguments: str | Path, environment: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    """Start a command without waiting for it."""
    return subprocess.Popen(
        [*_COMMAND, *map(str, arguments)], env=_environment(environment or {}),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


class Running:
    """`headwater up` on a folder and a free port (or `port`). Leaving the `with` block stops it.

    environment: added to the environment of the tests, such as HEADWATER_TICK_S. url: the address where it listens.
    folder: its data folder. timeout_s: how long it may take to listen, to restart a process and to exit.
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
        """The lines that the supervisor has printed on standard output so far."""
        with self._more:
            return list(self._lines)

    @property
    def stderr(self) -> str:
        """The output of the supervisor and its children on standard error so far."""
        return "".join(self._errors)

    def wait_line(self, text: str, *, timeout_s: float | None = None) -> str:
        """Wait for a printed line that contains `text`, and return the line."""
        return self.wait_next(text, after=0, timeout_s=timeout_s)[1]

    def wait_next(self, text: str, *, after: int, timeout_s: float | None = None) -> tuple[int, str]:
        """Wait for a line with `text` after the first `after` lines.

        Returns the line's number, counted from 1, and its text.
        """

        def found() -> tuple[int, str] | None:
            lines = enumerate(self._lines[after:], after + 1)
            return next((numbered for numbered in lines if text in numbered[1]), None)

        with self._more:
            self._more.wait_for(lambda: found() or self._ended, timeout_s or self._timeout_s)
            line = found()
        assert line, f"`headwater up` never printed {text!r}. It printed {self._lines}. Errors: {self.stderr}"
        return line

    def pid(self, name: str) -> int:
        """Read the process ID of a role, `serve` or `parser`. That process may have exited in the meantime."""
        return int((self.folder / "run" / f"{name}.pid").read_text())

    def wait_pid(self, name: str, *, other_than: int = 0, timeout_s: float | None = None) -> int:
        """Wait until a running child process other than `other_than` has a role. Returns its process ID."""
        patience = timeout_s or self._timeout_s
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with contextlib.suppress(FileNotFoundError, psutil.NoSuchProcess):
                pid = self.pid(name)
                if pid != other_than and psutil.Process(pid).ppid() == self.process.pid:
                    return pid
            time.sleep(0.01)  # the file sends no notification when it is replaced
        raise AssertionError(f"No new {name} within {patience:.0f} s. Errors: {self.stderr}")

    def cpu_s(self) -> float:
        """Return the CPU time of the supervisor and its children in seconds, including exited ones."""
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
        """Return the supervisor's running child processes."""
        return [child for child in self._descendants() if child.status() != psutil.STATUS_ZOMBIE]

    def stop(self) -> None:
        """Stop Headwater as Ctrl-C and service managers do. It must exit with 0 and leave no process behind."""
        self._end(signal.SIGTERM, 0)

    def kill(self) -> None:
        """Kill the supervisor as a power cut would. Its children must exit without a signal."""
        self._end(signal.SIGKILL, -signal.SIGKILL)

    def kill_all(self) -> None:
        """Kill the supervisor and its children at the same moment."""
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
        assert not alive, f"Children are still running after the supervisor ended: {alive}. Errors: {self.stderr}"
        assert found == status, f"`headwater up` exited with {found}. Errors: {self.stderr}"

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
    assert stream, "stream is a pipe"
    return stream


def _ends(pid: int, timeout_s: float) -> bool:
    """Wait until a process has exited, even if it is not a child of this one."""
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
    """Return the environment of the tests, in which the repository precedes any installed Headwater."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}
