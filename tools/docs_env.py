"""Install Sphinx with MyST and Furo, which build the documentation site, in a separate environment.

`make docs` installs them into `.cache/docs/` (`python -m tools.docs_env`). The lock file is created by
`uv pip compile tools/docs.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o locks/docs.txt`.
"""

import sys
from pathlib import Path

from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/docs.txt"
HOME = ROOT / ".cache" / "docs"


def environment() -> Path:
    """Return the interpreter with Sphinx; installs it if it is missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "the documentation tools")


def main() -> int:
    """Install the environment; does nothing if it is complete."""
    return in_order("docs", lambda: f"Sphinx: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
