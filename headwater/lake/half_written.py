"""Temporary files that killed processes left on the local disk. Stores never list these names."""

import os
import re
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

_STAGED = re.compile(r".*#\d+")
"""The temporary names of delta-rs and obstore (the crate `object_store`)."""


def is_half_written(name: str) -> bool:
    """Whether a file of a local lake is temporary. name: without folder."""
    return _STAGED.fullmatch(name) is not None


def remove_half_written(address: str, hours: float) -> None:
    """Delete temporary files that are older than `hours`. Does nothing for a remote lake."""
    oldest = time.time() - hours * 3600
    for path in _half_written(address) if "://" not in address else ():
        with suppress(FileNotFoundError):  # another process deleted it first
            if path.stat().st_mtime < oldest:
                path.unlink()


def _half_written(folder: str) -> Iterator[Path]:
    for place, _, names in os.walk(folder):
        yield from (Path(place, name) for name in names if is_half_written(name))
