"""Install the Function App's environment: Python 3.13, the packages of requirements.txt, and Azure's worker library.

`make setup-test` installs it into `.cache/functions/` (`python -m tools.functions_env`). The lock file is created by
`uv pip compile requirements.txt tools/functions-worker.in --universal --python-version 3.13 --generate-hashes
--no-emit-index-url --no-header -o locks/functions.txt`. requirements.txt, which a build on Azure installs, is created
by the same command for `tools/function-app.in --constraint locks/functions.txt`.
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
    """Return the interpreter of the environment; installs it if it is missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, python_313(), "the worker of Azure Functions")


def main() -> int:
    """Install the environment; a machine without Python 3.13 only gets a message."""
    try:
        print(f"Worker of the Function App: {environment().relative_to(ROOT)}")
    except Missing as error:
        sys.stderr.write(f"functions: {error}\n")
    return 0


def python_313() -> str:
    """Return the command of a Python 3.13; raises Missing if there is none."""
    for candidate in _candidates():
        done = subprocess.run([candidate, "--version"], capture_output=True, text=True, check=False)
        if done.returncode == 0 and done.stdout.startswith(f"Python {_VERSION}."):
            return candidate
    raise Missing(
        f"There is no Python {_VERSION}, which the worker of Azure Functions needs: install python{_VERSION} and "
        f"python{_VERSION}-venv, or `pyenv install {_VERSION}`. Then run `make setup-test` again."
    )


def _candidates() -> Iterator[str]:
    """Yield candidates: the command, which may be a broken shim of pyenv, then the interpreters in pyenv's folders."""
    if found := shutil.which(f"python{_VERSION}"):
        yield found
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from map(str, sorted(pyenv.glob(f"versions/{_VERSION}.*/bin/python"), reverse=True))


if __name__ == "__main__":
    sys.exit(main())
