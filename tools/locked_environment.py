"""Create a virtual environment from a lock file with hashes, for a tool that conflicts with the project's packages."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[1]


class Missing(Exception):
    """Something on this machine is missing or wrong. The message is one line and contains the fix."""


def locked_environment(home: Path, lock: Path, python: str, what: str) -> Path:
    """Return the interpreter of an environment; creates it if it is missing or the lock file has changed.

    python: the interpreter that creates it. what: its description in the progress message. Raises Missing.
    """
    interpreter, stamp = home / "venv" / "bin" / "python", home / "lock.sha256"
    wanted = hashlib.sha256(lock.read_bytes()).hexdigest()
    if not (interpreter.exists() and stamp.exists() and stamp.read_text() == wanted):
        print(f"Installing {what} in {home.relative_to(ROOT)} (a minute or two, once)", flush=True)
        shutil.rmtree(home, ignore_errors=True)
        _run([python, "-m", "venv", str(home / "venv")])
        # The lock file is complete. --no-deps also allows versions that a package rules out (tools/spark4.in).
        options = ["--quiet", "--no-compile", "--no-deps", "--require-hashes", "--requirement", str(lock)]
        _run([str(interpreter), "-m", "pip", "install", *options])
        stamp.write_text(wanted)
    return interpreter


def in_order(tool: str, *steps: Callable[[], str]) -> int:
    """Run the setup steps of a tool and print their results; returns the exit status."""
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
