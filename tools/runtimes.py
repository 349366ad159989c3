"""Install the packages of Spark runtimes in separate environments, to test that the wheel works with them unchanged.

`make test-runtimes` (`python -m tools.runtimes`) runs this with Python 3.11. The environments are stored in
`.cache/runtimes/`. `runtimes/NAME.in` lists the packages of a runtime. Its lock file is created by `uv pip compile
pyproject.toml tools/runtimes/NAME.in --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o tools/runtimes/NAME.lock`, which fails if the wheel needs other versions.
"""

import sys
from functools import partial
from pathlib import Path

from tools import jars
from tools.locked_environment import ROOT, in_order, locked_environment

FOLDER = Path(__file__).parent / "runtimes"
RUNTIMES = sorted(path.stem for path in FOLDER.glob("*.in"))
DELTA = jars.CACHE / "delta-3.2" / "*"
"""Class path of the Delta version that Fabric uses."""


def environment(name: str) -> Path:
    """Return the interpreter with a runtime's packages; installs them and fetches the jars if they are missing."""
    jars.fetch("runtimes")
    return locked_environment(ROOT / ".cache" / "runtimes" / name, FOLDER / f"{name}.lock", sys.executable, name)


def main() -> int:
    """Install the environments; does nothing if they are complete."""
    return in_order("runtimes", *(partial(_runtime, name) for name in RUNTIMES))


def _runtime(name: str) -> str:
    return f"{name}: {environment(name).relative_to(ROOT)}"


if __name__ == "__main__":
    sys.exit(main())
