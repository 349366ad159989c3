"""Close resources at the end of a test that cannot use a `with` block.

`conftest.py` closes them. Tests may use a reader again after it is closed: it reopens its files.
"""

from contextlib import ExitStack, closing
from typing import Any, TypeVar

T = TypeVar("T", bound=Any)

OPENED = ExitStack()


def until_end(opened: T) -> T:
    """Close an object when the test ends, and return it."""
    kept: T = OPENED.enter_context(closing(opened))
    return kept
