"""The Function App's own environment: Python 3.13, what requirements.txt installs, and the worker library of Azure.

Run by `make setup-test` (`python -m tools.functions_env`); it lies in `.cache/functions/`. The lock file is made by
`uv pip compile requirements.txt tools/functions-worker.in --universal --python-version 3.13 --generate-hashes
--no-emit-index-url --no-header -o locks/functions.txt`; requirements.txt, which a build on Azure installs, by
the same of `tools/function-app.in --constraint locks/functions.txt`.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from tools.locked_environment import ROOT, Missing, locked_environment

LOCK = ROOT / "locks/functions.txt"
HOME = ROOT / ".cache" / "functions"

_VERSION = "3.13"


def environment() -> Path:
    """Return the environment's interpreter, which is installed if it is not there or the lock has changed."""
    return locked_environment(HOME, LOCK, python_313(), "the worker of Azure Functions")


def main() -> int:
    """Bring the environment in order; a machine without Python 3.13 goes without it."""
    try:
        print(f"Worker of the Function App: {environment().relative_to(ROOT)}")
    except Missing as error:
        sys.stderr.write(f"functions: {error}\n")
    return 0


def python_313() -> str:
    """Return the command of a Python 3.13; raises Missing where there is none."""
    for candidate in _candidates():
        done = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.startswith(f"Python {_VERSION}."):
            return candidate
    raise Missing(
        f"There is no Python {_VERSION}, which the worker of Azure Functions needs: install python{_VERSION} and "
        f"python{_VERSION}-venv, or `pyenv install {_VERSION}`. Then run `make setup-test` again."
    )


def _candidates() -> Iterator[str]:
    """Yield what may be it: the command, which may be a shim of pyenv that does not run, then pyenv's own folders."""
    if found := shutil.which(f"python{_VERSION}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{_VERSION}.*/bin/python"), reverse=True))


if __name__ == "__main__":
    sys.exit(main())
