"""A virtual environment for a tool that does not go with ours: exactly what a lock file with hashes names."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Missing(Exception):
    """Something of this machine is missing or wrong; the message is one line and names the fix."""


def locked_environment(home: Path, lock: Path, python: str, what: str) -> Path:
    """Return the interpreter of an environment, which is made if it is not there or its lock has changed.

    python: the interpreter to build it from. what: named in the line that says what takes so long.
    Raises Missing.
    """
    interpreter, stamp = home / "venv" / "bin" / "python", home / "lock.sha256"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not (interpreter.exists() and stamp.exists() and stamp.read_text() == wanted):
        print(f"Installing {what} in {home.relative_to(ROOT)} (a minute or two, once)", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        _run([python, "-m", "venv", str(home / "venv")])
        # the lock is complete, and may hold what a package forbids for no reason: see tools/spark4.in
        options = ["--quiet", "--no-compile", "--no-deps", "--require-hashes", "--requirement", str(lock)]
        _run([str(interpreter), "-m", "pip", "install", *options])
        stamp.write_text(wanted)
    return interpreter


def in_order(tool: str, *steps: Callable[[], str]) -> int:
    """Take the steps that bring what a tool needs in order, and print what each says; returns the exit status."""
    try:
        for step in steps:
            print(step())
    except Missing as error:
        sys.stderr.write(f"{tool}: {error}\n")
        return 3
    return 0


def _run(command: list[str]) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode:
        last = (done.stdout.strip().splitlines() or ["no output"])[-1]
        raise Missing(f"`{' '.join(command[1:4])} …` failed: {last[:300]}")
