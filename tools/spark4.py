"""Spark 4.1 in an environment of its own, with its jars: what runs on 3.5 runs there too.

Run by `make test-spark4` (`python -m tools.spark4`); it lies in `.cache/spark4/`. The lock file is ours with two other
versions: `uv pip compile pyproject.toml --extra server --group dev --override tools/spark4.in --universal
--python-version 3.11 --generate-hashes --no-emit-index-url --no-header -o locks/spark4.txt`.
"""

import sys
from pathlib import Path

from tools import jars
from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/spark4.txt"
HOME = ROOT / ".cache" / "spark4"


def environment() -> Path:
    """Return the environment's interpreter; it and the jars are installed if they are not there as listed."""
    jars.fetch(jars.SPARK4)
    return locked_environment(HOME, LOCK, sys.executable, "Spark 4.1")


def main() -> int:
    """Bring the environment in order; does nothing when it already is."""
    return in_order("spark4", lambda: f"Spark 4.1: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
