"""A small disk of its own that tests fill and free; it needs a system that lets them mount one."""

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
        """Leave no byte: whatever is written next fails with ENOSPC."""
        with self._ballast.open("ab", buffering=0) as file:
            for size in (1 << 20, 4096, 1):
                with _until_full():
                    while True:
                        file.write(bytes(size))

    def take_names(self) -> None:
        """Leave no inode: no file can be made, though there is room."""
        self._ballast.mkdir()
        with _until_full():
            for number in itertools.count():
                (self._ballast / str(number)).touch()

    def allow(self, *, writing: bool) -> None:
        """Mount it anew, for writing or not; nobody may have a file open for writing."""
        subprocess.run(["mount", "-o", f"remount,{'rw' if writing else 'ro'}", str(self.root)], check=True)

    def free(self) -> None:
        """Take away what filled it."""
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
    """Mount one, gone at the end; skips the test where this system does not allow it."""
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
