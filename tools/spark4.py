"""Install Spark 4.1 with its jars in a separate environment, to test that the project also runs on it.

`make test-spark4` runs this (`python -m tools.spark4`). The environment is stored in `.cache/spark4/`. Its lock file
differs from the project's in two versions: `uv pip compile pyproject.toml --extra server --group dev --override
tools/spark4.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o locks/spark4.txt`.
"""

import sys
from pathlib import Path

from tools import jars
from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/spark4.txt"
HOME = ROOT / ".cache" / "spark4"


def environment() -> Path:
    """Return the interpreter of the environment; installs it and fetches the jars if they are missing or outdated."""
    jars.fetch(jars.SPARK4)
    return locked_environment(HOME, LOCK, sys.executable, "Spark 4.1")


def main() -> int:
    """Install the environment; does nothing if it is complete."""
    return in_order("spark4", lambda: f"Spark 4.1: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
