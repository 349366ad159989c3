"""What a killed process left half-written on this disk: stores write beside a file's name, and never list that."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_STAGED = re.compile(r".*#\d+")
"""How delta-rs and obstore (the crate `object_store`) name a file until it is whole."""


def is_half_written(name: str) -> bool:
    """Tell whether a file of a folder's lake is one that a store has not ended to write; name: without its folder."""
    return _STAGED.fullmatch(name) is not None


def remove_half_written(address: str, hours: float) -> None:
    """Delete what was begun to be written below a folder longer ago, and never ended; stores elsewhere have none."""
    oldest = time.time() - hours * 3600
    for path in _half_written(address) if "://" not in address else ():
        with suppress(FileNotFoundError):  # another process is as quick
            if path.stat().st_mtime < oldest:
                path.unlink()


def _half_written(folder: str) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_half_written(name))
