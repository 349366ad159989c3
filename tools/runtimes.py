"""What clusters ship, each in an environment of its own: the wheel must live with their packages as they are.

Run by `make test-runtimes` (`python -m tools.runtimes`), with Python 3.11; they lie in `.cache/runtimes/`.
`runtimes/NAME.in` lists what a runtime ships. Its lock is made by `uv pip compile pyproject.toml tools/runtimes/NAME.in
--python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o tools/runtimes/NAME.lock`, which fails where
the wheel asks for something else.
"""

import sys
from functools import partial
from pathlib import Path

from tools import jars
from tools.locked_environment import ROOT, in_order, locked_environment

FOLDER = Path(__file__).parent / "runtimes"
RUNTIMES = sorted(path.stem for path in FOLDER.glob("*.in"))
DELTA = jars.CACHE / "delta-3.2" / "*"
"""The Delta that Fabric has, for a class path."""


def environment(name: str) -> Path:
    """Return the interpreter beside a runtime's packages; these and the jars are fetched if they are not there."""
    jars.fetch("runtimes")
    return locked_environment(ROOT / ".cache" / "runtimes" / name, FOLDER / f"{name}.lock", sys.executable, name)


def main() -> int:
    """Bring the environments in order; does nothing when they already are."""
    return in_order("runtimes", *(partial(_said, name) for name in RUNTIMES))


def _said(name: str) -> str:
    return f"{name}: {environment(name).relative_to(ROOT)}"


if __name__ == "__main__":
    sys.exit(main())
