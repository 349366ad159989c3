"""What a test opens and has no block to close in: closed when the test ends (`conftest.py`).

Readers may be used again behind it: they open anew.
"""

from contextlib import ExitStack, closing
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)

OPENED = ExitStack()


def until_end(opened: T) -> T:
    """Close this when the test ends."""
    kept: T = OPENED.enter_context(closing(opened))
    return kept
