"""A small disk that tests fill and free. It requires permission to mount file systems."""

import errno
import itertools
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class SmallDisk:
    """A file system in memory, mounted at `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.data = root / "data"
        self._ballast = root / "ballast"

    def fill(self) -> None:
        """Use up every byte, so that the next write fails with ENOSPC."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with _until_full():
                    while True:
                        file.write(bytes(size))

    def take_names(self) -> None:
        """Use up all inodes, so that no file can be created although there is free space."""
        self._ballast.mkdir()
        with _until_full():
            for number in itertools.count():
                (self._ballast / str(number)).touch()

    def allow(self, *, writing: bool) -> None:
        """Remount the disk read-write or read-only. No process may have a file open for writing."""
        subprocess.run(["mount", "-o", f"remount,{'rw' if writing else 'ro'}", str(self.root)], check=True)

    def free(self) -> None:
        """Delete the files that fill the disk."""
        if self._ballast.is_dir():
            for path in self._ballast.iterdir():
                path.unlink()
            self._ballast.rmdir()
        else:
            self._ballast.unlink()


@contextmanager
def _until_full() -> Iterator[None]:
    with pytest.raises(OSError, match="No space left") as raised:
        yield
    assert raised.value.errno == errno.ENOSPC


@contextmanager
def small_disk(folder: Path, *, mebibytes: int, names: int = 10_000) -> Iterator[SmallDisk]:
    """Mount a disk and unmount it at the end. Skips the test if the system does not allow mounting."""
    root = folder / "disk"
    root.mkdir()
    options = f"size={mebibytes}m,nr_inodes={names},mode=700"
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", options, "headwater-test", str(root)],
        capture_output=True,
        text=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip(f"No disk can be mounted here, which takes root: {mounted.stderr.strip()}")
    try:
        yield SmallDisk(root)
    finally:
        subprocess.run(["umount", "--lazy", str(root)], check=True)
