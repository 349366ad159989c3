"""Sphinx with MyST and Furo, in an environment outside of ours: they build the documentation site.

`make docs` installs them (`python -m tools.docs_env`) into `.cache/docs/`. The lock file is made by
`uv pip compile tools/docs.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o locks/docs.txt`.
"""

import sys
from pathlib import Path

from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/docs.txt"
HOME = ROOT / ".cache" / "docs"


def environment() -> Path:
    """Return the interpreter that has Sphinx, which is installed if it is missing or the lock has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "the documentation tools")


def main() -> int:
    """Install the environment; does nothing when it is there."""
    return in_order("docs", lambda: f"Sphinx: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
