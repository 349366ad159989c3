"""`headwater up`: a small supervisor that owns the port and the data folder and restarts its children."""

import http.client
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from headwater.common.errors import WrongSetting
from headwater.common.failpoints import VARIABLE as FAILPOINT
from headwater.common.resources import close_on_error
from headwater.common.storage_faults import transient_faults_as_retry
from headwater.operations.local.child_process import (
    GIVE_UP,
    NotificationPipe,
    encode_settings,
    retry_while_disk_full,
    write_pid,
)
from headwater.operations.local.log_lines import write_line
from headwater.operations.runtime.data_folder import MARKER, data_folder_path, folder_lock, prepare_folder
from headwater.operations.runtime.sinks import sinks_path
from headwater.operations.settings import Settings

_ALLOCATOR = {"_RJEM_MALLOC_CONF": "background_thread:true,narenas:2,dirty_decay_ms:500,muzzy_decay_ms:0"}
"""Environment variables for delta-rs's jemalloc: return the memory of queries and compactions after half a second."""

_BACK_OFF_S = (0.0, 0.2, 0.5, 1.0)
_CALM_S = 30.0
_STOP_S = 15.0
_LOOK_S = 1.0


@dataclass(slots=True)
class _ChildProcess:
    """A child process. deaths: number of recent consecutive exits; inherited: file descriptors that it inherits."""

    name: str
    module: str
    inherited: tuple[int, ...]
    process: subprocess.Popen[bytes]
    started: float
    deaths: int = 0
    has_pid_file: bool = False


Session = Callable[[str], int | None]
"""Runs in a thread when the server responds; receives its URL. If it returns a status, Headwater exits with it."""


class Supervisor:
    """Starts `serve` and a process for each other service, and restarts a process that died within 2 s.

    `sinks` runs if there are sinks, `index` if this machine serves the API.
    """

    def __init__(self, settings: Settings, folder: Path, listener: socket.socket):
        """Create the pipes. `serve` inherits the listener, so that requests wait in its queue during a restart."""
        self._settings = settings
        self._folder = folder
        self._listener = listener
        self._sinks = sinks_path(settings)
        self._stations = frozenset(settings.stations)
        self._sinks_seen: int | None = None
        self._parser, self._index, self._serve = (
            NotificationPipe.create(),
            NotificationPipe.create(),
            NotificationPipe.create(),
        )
        self._ended: queue.SimpleQueue[_ChildProcess | None] = queue.SimpleQueue()  # its put is safe in signal handlers
        self._children: dict[str, _ChildProcess] = {}
        self._stopping = False
        self._status = 0

    def stop(self, status: int = 0) -> None:
        """Make `run` stop the children and return this exit status. Safe in a signal handler."""
        self._status = status
        self._stopping = True
        self._ended.put(None)

    def run(self) -> int:
        """Start the children and restart them when they exit, until `stop` is called. Returns the exit status."""
        parser, index, serve = self._parser.descriptors, self._index.descriptors, self._serve.descriptors
        # only `serve` inherits the port: any other child that outlives a killed supervisor would block the next one
        self._start_child(
            "serve", "headwater.operations.local.serve_process", (self._listener.fileno(), *parser, *serve), 0
        )
        if "parser" in self._stations:
            self._start_child("parser", "headwater.operations.local.parser_process", (*parser, *index), 0)
        if "api" in self._stations:
            self._start_child("index", "headwater.operations.local.index_process", (*index, *serve), 0)
        status: int | None = None
        while (child := self.wait_for_ended_child()) is not None:
            if child.process.returncode == GIVE_UP:
                status = GIVE_UP
                break
            if child.name == "sinks" and child.process.returncode == 0:
                del self._children["sinks"]  # there are no sinks any more
                continue
            deaths = child.deaths + 1 if time.monotonic() - child.started < _CALM_S else 1
            self._write_line(f"headwater: {child.name} exited with status {child.process.returncode} and is restarted.")
            os.environ.pop(FAILPOINT, None)  # a fail point must not kill the restarted child again
            time.sleep(_BACK_OFF_S[min(deaths, len(_BACK_OFF_S)) - 1])
            self._start_child(child.name, child.module, child.inherited, deaths)
        self._end_children()
        return self._status if status is None else status

    def wait_for_ended_child(self) -> _ChildProcess | None:
        """Wait until a child exits and return it. Return None when `stop` is called. Checks for new sinks meanwhile."""
        while True:
            self._check_for_sinks()
            self._write_pids()
            with suppress(queue.Empty):
                return self._ended.get(timeout=_LOOK_S)

    def _check_for_sinks(self) -> None:
        """Start `sinks` if its file exists and has changed since the process last found no sinks in it.

        For a remote file, the process `sinks` always runs and reads the file itself.
        """
        if "sinks" not in self._stations:
            return
        with suppress(OSError):
            changed = self._sinks.stat().st_mtime_ns if self._sinks else 0
            if "sinks" not in self._children and changed != self._sinks_seen:
                self._sinks_seen = changed
                self._start_child("sinks", "headwater.operations.local.sinks_process", (), 0)

    def _start_child(self, name: str, module: str, inherited: tuple[int, ...], deaths: int) -> None:
        process = retry_while_disk_full(
            lambda: self._start_process(name, module, inherited), self._write_line, self._wait_or_stop
        )
        if process is None:
            return
        child = _ChildProcess(name, module, inherited, process, time.monotonic(), deaths)
        self._children[name] = child
        self._write_pids()
        assert process.stdin  # noqa: S101 - it is a pipe
        try:
            process.stdin.write(encode_settings(self._settings))
            process.stdin.flush()
        except BrokenPipeError:
            pass  # the child died immediately; the waiting thread reports its exit
        threading.Thread(target=self._wait_for_child, args=(child,), name=f"wait-{name}", daemon=True).start()

    def _start_process(self, name: str, module: str, inherited: tuple[int, ...]) -> subprocess.Popen[bytes] | None:
        """Start a process and return it; None if the supervisor is stopping.

        Raises Retry if the system has no resources for another process.
        """
        if self._stopping:
            return None
        command = [sys.executable, "-m", module, *map(str, inherited)]
        environment = {**_ALLOCATOR, **os.environ}
        with transient_faults_as_retry(f"start {name}"):
            return subprocess.Popen(
                command, stdin=subprocess.PIPE, pass_fds=inherited, start_new_session=True, env=environment
            )

    def _write_line(self, message: str) -> None:
        write_line(self._settings, message)

    def _wait_or_stop(self, seconds: float) -> None:
        if not self._stopping:
            time.sleep(seconds)

    def _write_pids(self) -> None:
        """Write a file with the process id of each child. If the disk is full, a later call tries again."""
        for child in self._children.values():
            if not child.has_pid_file:
                with suppress(OSError):
                    write_pid(self._folder, child.name, child.process.pid)
                    child.has_pid_file = True

    def _wait_for_child(self, child: _ChildProcess) -> None:
        child.process.wait()
        self._ended.put(child)

    def _end_children(self) -> None:
        for child in self._children.values():
            if child.process.stdin:
                try:
                    child.process.stdin.close()
                except BrokenPipeError:
                    continue
        deadline = time.monotonic() + _STOP_S
        for child in self._children.values():
            try:
                child.process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                child.process.kill()


def run_headwater(settings: Settings, session: Session | None = None) -> int:
    """Run Headwater in the foreground until SIGINT or SIGTERM, or until the session ends it. Returns the exit status.

    While the disk is full, it waits and does not listen yet. session: see `Session`; by default, it prints the URL of
    the server.
    """
    with ExitStack() as stack:

        def prepare_and_lock_folder() -> Path:
            folder = prepare_folder(settings)
            stack.enter_context(folder_lock(folder, "up", wait_s=1.0))
            return folder

        try:
            listener = stack.enter_context(bind_port(settings))  # first, so that a port in use leaves no folder behind
        except WrongSetting:
            if (data_folder_path(settings) / MARKER).exists():
                prepare_and_lock_folder()  # if another `headwater up` uses the folder, its error is more helpful
            raise
        folder = retry_while_disk_full(
            prepare_and_lock_folder, lambda why: write_line(settings, f"headwater: {why}"), time.sleep
        )
        _listen_on_port(settings, listener)
        supervisor = Supervisor(settings, folder, listener)
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: supervisor.stop())
        run_session = session or (lambda url: _print_address(settings, url, folder))
        threading.Thread(target=_run_session, args=(listener, supervisor, run_session), daemon=True).start()
        try:
            return supervisor.run()
        finally:
            listener.close()


def bind_port(settings: Settings) -> socket.socket:
    """Bind the port of the settings without listening. Raises WrongSetting if another program uses it."""
    listener = socket.socket(socket.AF_INET6 if ":" in settings.host else socket.AF_INET)
    with close_on_error(listener), _port_errors(settings):
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if listener.family == socket.AF_INET6:
            listener.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listener.bind((settings.host, settings.port))
    return listener


def _listen_on_port(settings: Settings, listener: socket.socket) -> None:
    with _port_errors(settings):
        listener.listen(2048)


@contextmanager
def _port_errors(settings: Settings) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise WrongSetting(
            f"Cannot listen on {settings.host}:{settings.port}: {error.strerror}. Choose another with --port."
        ) from error


def _print_address(settings: Settings, url: str, folder: Path) -> None:
    write_line(settings, f"Headwater listens on {url} · data in {folder} · stop with Ctrl-C")


def _run_session(listener: socket.socket, supervisor: Supervisor, session: Session) -> None:
    """Run the session once the server responds."""
    host, port = listener.getsockname()[:2]
    shown = f"[{host}]" if ":" in host else host
    reachable = "127.0.0.1" if host in ("0.0.0.0", "::") else host  # noqa: S104 - compared, not bound
    connection = http.client.HTTPConnection(reachable, port, timeout=60)
    try:
        connection.request("GET", "/health/live", headers={"Host": "localhost"})
        connection.getresponse().read()
    except OSError:
        return  # the server could not start and has logged the reason
    status = session(f"http://{shown}:{port}")
    if status is not None:
        supervisor.stop(status)
