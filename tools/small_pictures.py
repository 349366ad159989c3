"""Makes the pictures of docs small: 256 colours each, a third of the size, no colour more than a shade away.

`python -m tools.small_pictures FILE.png …`, which `make screenshots` does with what it made.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

LARGEST_KB = 150


def make_small(path: Path) -> int:
    """Rewrite a PNG with a palette of its own, return its size in bytes; one that has a palette stays as it is."""
    with Image.open(path) as picture:
        if picture.mode != "P":
            # Of the ways to choose colours this one keeps the rare ones: a mark of one word has its own.
            small = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            small.save(path, "PNG", optimize=True)
    return path.stat().st_size


def main(paths: Sequence[str]) -> None:
    """Make pictures small; exit where one stays larger than a page of docs should load."""
    large = [f"{path}: {size // 1000} KB" for path in paths if (size := make_small(Path(path))) > LARGEST_KB * 1000]
    if large:
        sys.exit(f"Larger than {LARGEST_KB} KB, show less of the page: " + ", ".join(large))


if __name__ == "__main__":
    main(sys.argv[1:])
