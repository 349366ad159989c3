"""Replace small files atomically: readers see either the old or the new content."""

import os
from pathlib import Path


def atomic_write(path: Path, text: bytes, *, durable: bool = False) -> None:
    """Replace a file atomically, readable only by this account. Raises OSError; if writing fails, the old file stays.

    durable: sync file and folder to disk before returning.
    """
    fresh = path.with_suffix(".new")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
        file.write(text)
        if durable:
            file.flush()
            os.fsync(file.fileno())
    fresh.replace(path)
    if durable:
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
