"""Reduce pictures of the docs to 256 colours, which makes them a third of the size without a visible difference.

`make screenshots` runs `python -m tools.small_pictures FILE.png …` on the screenshots.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

from PIL import Image

LARGEST_KB = 150


def make_small(path: Path) -> int:
    """Convert a PNG to a palette of 256 colours and return its size in bytes; a PNG with a palette is not changed."""
    with Image.open(path) as picture:
        if picture.mode != "P":
            # Maximum coverage also keeps rare colours, such as that of a single marked word.
            small = picture.convert("RGB").quantize(256, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
            small.save(path, "PNG", optimize=True)
    return path.stat().st_size


def main(paths: Sequence[str]) -> None:
    """Reduce the pictures; exits with an error if one is still too large for a page of the docs."""
    large = [f"{path}: {size // 1000} KB" for path in paths if (size := make_small(Path(path))) > LARGEST_KB * 1000]
    if large:
        sys.exit(f"Larger than {LARGEST_KB} KB. Show less of the page: " + ", ".join(large))


if __name__ == "__main__":
    main(sys.argv[1:])
