"""Python's garbage collector, told when there is nothing for it to find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Let a batch make millions of small objects, none of them in cycles, without looking at all of them each time.

    Measured: a third of building an index of 800,000 edges.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
