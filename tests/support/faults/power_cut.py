"""Kill a process before its n-th system call that changes files of a folder, whichever library makes the call."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.paths import ROOT
from tools.programs import COMPILER

_SOURCE = Path(__file__).with_suffix(".c")
_ROOT = ROOT


def library_of(source: Path, folder: Path) -> Path:
    """Compile a library for LD_PRELOAD. Skips the test if there is no C compiler."""
    compiler = COMPILER.find()
    if compiler is None:
        pytest.skip(
            f"No C compiler, which builds tests/{source.name}: run `make setup-test`, which says what to install"
        )
    library = folder / f"{source.stem}.so"
    command = [compiler, "-shared", "-fPIC", "-O1", "-Wall", "-Werror", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True)
    return library


def cut(library: Path, folder: Path, before: int, *arguments: object) -> tuple[bool, str]:
    """Run Python with arguments. Returns whether it was killed, and a description of its last counted call.

    library: counts the calls. before: number of the first call below the folder that must not happen. Raises
    AssertionError if Python exits with a different status.
    """
    told = folder.with_name(f"{folder.name}.calls")
    told.unlink(missing_ok=True)
    own = {"CUT_BELOW": f"{folder}/", "CUT_LIST": str(told), "CUT_BEFORE": str(before), "LD_PRELOAD": str(library)}
    command = [sys.executable, *map(str, arguments)]
    done = subprocess.run(command, cwd=_ROOT, env={**os.environ, **own}, capture_output=True, text=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr
    calls = told.read_text().splitlines()
    return done.returncode != 0, f"{len(calls)}: {calls[-1]}"


def cuts(made: Path, scratch: Path, places: Sequence[int], *arguments: object) -> Iterator[tuple[Path, str]]:
    """Cut the power before each of the given calls, each time on a new copy of a folder, and once after the last call.

    Yields each copy and its last call. places: call numbers in ascending order. The argument `FOLDER` is replaced with
    the path of the copy.
    """
    library = library_of(_SOURCE, scratch)
    for before in places:
        folder = scratch / str(before)
        shutil.copytree(made, folder)
        is_cut, call = cut(library, folder, before, *(folder if each == "FOLDER" else each for each in arguments))
        yield folder, call
        shutil.rmtree(folder)
        if not is_cut:
            return
    pytest.fail(f"More calls than {before}: name more places")
