"""`headwater up` and its two children: a dead child starts again, and no child outlives its supervisor."""

import contextlib
import os
import signal
from pathlib import Path

import pytest

from tests.running import Running

pytestmark = pytest.mark.slow  # each starts `headwater up`, most kill it

CHILDREN = ("serve", "parser", "index")


def test_a_stop_ends_supervisor_and_children_well(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.wait_pid("index")
        assert {child.pid for child in running.children()} == {running.pid(name) for name in CHILDREN}
        running.stop()
        assert "Traceback" not in running.stderr


def test_children_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.kill()


def test_a_dead_child_starts_again(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        for name in CHILDREN:
            before = running.wait_pid(name)
            os.kill(before, signal.SIGKILL)
            running.wait_line(f"{name} ended with status -9")
            assert running.wait_pid(name, other_than=before) != before


def test_a_supervisor_follows_a_killed_one_on_the_same_port_while_its_parser_is_still_busy(tmp_path: Path) -> None:
    with Running(tmp_path) as first:
        busy = first.wait_pid("parser")
        os.kill(busy, signal.SIGSTOP)
        try:
            first.process.kill()
            first.process.wait()
            with Running(tmp_path, port=first.port) as second:
                assert second.port == first.port
                os.kill(busy, signal.SIGCONT)
                second.wait_pid("parser")
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(busy, signal.SIGKILL)
