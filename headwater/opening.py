"""What is opened belongs to its caller; when the opening fails half way it belongs to nobody, and is closed."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol, TypeVar


class _Closable(Protocol):
    def close(self) -> object: ...


T = TypeVar("T", bound=_Closable)


@contextmanager
def or_closed(opened: T) -> Iterator[T]:
    """Close what was opened if what is done with it in here fails; else it stays open."""
    try:
        yield opened
    except BaseException:
        opened.close()
        raise
