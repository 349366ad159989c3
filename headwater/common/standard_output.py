"""Lines of long-running commands on standard output."""

import sys
from contextlib import suppress


def print_line(line: str) -> None:
    """Print a line at once. Ignores a closed pipe or a full disk."""
    with suppress(OSError):
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
