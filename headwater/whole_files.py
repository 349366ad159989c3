"""Small files that are replaced as a whole: who reads one finds this text or the one before."""

import os
from pathlib import Path


def write_whole(path: Path, text: bytes, *, durable: bool = False) -> None:
    """Write a file for us alone, whatever the umask, also on a disk that fills; raises OSError.

    durable: it is on disk, under its name, when this returns.
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
