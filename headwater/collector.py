"""Python's garbage collector, told when there is nothing for it to find."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def paused() -> Iterator[None]:
    """Let a batch or an answer make many small objects, none of them in cycles, without looking at all of them again.

    Measured on 800,000 edges: a third of building the index, a quarter of p99 of `impact`.
    """
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
