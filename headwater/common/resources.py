"""Close resources when their initialization fails."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> object: ...


T = TypeVar("T", bound=_Closable)


@contextmanager
def close_on_error(opened: T) -> Iterator[T]:
    """Close a resource if the block raises an error; otherwise leave it open for the caller."""
    try:
        yield opened
    except BaseException:
        opened.close()
        raise
