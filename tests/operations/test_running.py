"""`headwater up` and its children: a child that exits is restarted, and no child outlives its supervisor."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from headwater.common.errors import GiveUp, Retry
from headwater.operations.local.child_process import encode_settings
from headwater.operations.settings import load_settings
from tests.support.running import Running, headwater

pytestmark = pytest.mark.slow  # each test starts `headwater up`, and most kill it

CHILDREN = ("serve", "parser", "index")
CRASHES_AT_THE_END = """
import atexit, os, sys
from headwater.common import errors
from headwater.operations.local.child_process import child_process
atexit.register(os.abort)
with child_process("index", exclusive=False):
    print("done")
    if sys.argv[1:]:
        raise getattr(errors, sys.argv[1])("Cannot go on. Do this.")
"""


def test_a_stop_ends_supervisor_and_children_well(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.wait_pid("index")
        assert {child.pid for child in running.children()} == {running.pid(name) for name in CHILDREN}
        running.stop()
        assert "Traceback" not in running.stderr


def test_a_port_in_use_leaves_no_folder_behind_and_changes_none_that_was_there(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        kept = tmp_path / "mine"
        kept.mkdir()
        for folder in (tmp_path / "fresh", kept):
            refused = headwater("up", "--data", folder, "--port", str(port))
            assert refused.returncode == 3
            assert f"Cannot listen on 127.0.0.1:{port}" in refused.stderr
    assert not (tmp_path / "fresh").exists()
    assert list(kept.iterdir()) == []


def test_children_end_with_a_killed_supervisor(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.kill()


def test_a_dead_child_starts_again(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        for name in CHILDREN:
            before = running.wait_pid(name)
            os.kill(before, signal.SIGKILL)
            running.wait_line(f"{name} exited with status -9")
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


@pytest.mark.parametrize(("fault", "status"), [(None, 0), (Retry, 1), (GiveUp, 3)])
def test_what_libraries_do_at_an_interpreters_end_is_not_how_a_child_ends(
    fault: type[Exception] | None, status: int, tmp_path: Path
) -> None:
    told = encode_settings(load_settings({"data": tmp_path}, environment={})[0])
    command = [sys.executable, "-c", CRASHES_AT_THE_END, *([fault.__name__] if fault else [])]
    done = subprocess.run(command, input=told, capture_output=True, check=False)
    assert (done.returncode, done.stdout) == (status, b"done\n")
    assert done.stderr == (b"index: Cannot go on. Do this.\n" if fault else b"")
