"""A signal ends a wait at any point, even while the waiting code briefly holds a lock."""

import os
import signal
import socket
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from threading import Timer
from types import FrameType

import pytest

from headwater.operations.local.up import Supervisor
from headwater.operations.settings import load_settings
from headwater.spark.repeated_passes import stop_on_signal

pytestmark = [pytest.mark.slow, pytest.mark.timeout(60)]  # a deadlock on a lock would never end

AT_LAST_S = 0.1
"""After this time, another thread sends the notification, which no lock of the waiting thread can delay."""


def is_told_at(line: int, tell: Callable[[], None], wait: Callable[[], object]) -> bool:
    """Notify a waiter before the given line of its code. Returns False if the waiter blocks before that line."""
    lines = 0

    def trace(frame: FrameType, event: str, _: object) -> object:
        nonlocal lines
        lines += event == "line"
        if lines == line:
            sys.settrace(None)
            frame.f_trace = None
            at_last.cancel()
            tell()
            return None
        return trace

    before = sys.gettrace()
    at_last = Timer(AT_LAST_S, tell)
    at_last.start()
    sys.settrace(trace)  # type: ignore[arg-type]  # what it gives is asked for the next line of its frame
    try:
        wait()
    finally:
        sys.settrace(before)
        at_last.cancel()
    return lines >= line


def test_a_supervisor_that_waits_for_its_children_is_told_to_end_at_any_line(tmp_path: Path) -> None:
    settings, _ = load_settings({"data": tmp_path}, environment={})
    with socket.socket() as listener:

        def at(line: int) -> bool:
            supervisor = Supervisor(settings, tmp_path, listener)
            ended = []
            told = is_told_at(line, supervisor.stop, lambda: ended.append(supervisor.wait_for_ended_child()))
            assert ended == [None]
            return told

        assert next(line for line in count(1) if not at(line)) > 10


def test_passes_that_wait_for_events_are_told_to_end_at_any_line() -> None:
    def at(line: int) -> bool:
        with stop_on_signal() as ending:
            told = is_told_at(line, lambda: os.kill(os.getpid(), signal.SIGTERM), ending.wait)
            assert ending.is_set()
            return told

    assert next(line for line in count(1) if not at(line)) > 10
