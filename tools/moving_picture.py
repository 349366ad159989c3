"""Join the frames of `web/bench/tour.ts` into one animated WebP.

`make screenshots` runs `python -m tools.moving_picture FOLDER FILE.webp`. The frames in the folder are PNG files named
`NUMBER-MILLISECONDS.png`.
"""

import sys
from pathlib import Path

from PIL import Image

LARGEST_KB = 400
_WIDTH = 960


def join_frames(folder: Path, target: Path) -> int:
    """Write an endless animation of the frames in the order of their names, and return its size in bytes."""
    paths = sorted(folder.glob("*.png"))
    if not paths:
        raise SystemExit(f"{folder} has no frames. Run `npm run tools bench/tour.ts` in web/ first.")
    frames = []
    for path in paths:
        with Image.open(path) as frame:
            height = round(frame.height * _WIDTH / frame.width)
            frames.append(frame.convert("RGB").resize((_WIDTH, height), Image.Resampling.LANCZOS))
    shown_ms = [int(path.stem.rpartition("-")[2]) for path in paths]
    frames[0].save(
        target, "WEBP", save_all=True, append_images=frames[1:], duration=shown_ms, loop=0, quality=80, method=6
    )
    return target.stat().st_size


def main(arguments: list[str]) -> None:
    """Write the file; exits with an error if it is too large for a README."""
    folder, target = (Path(each) for each in arguments)
    size = join_frames(folder, target)
    if size > LARGEST_KB * 1000:
        sys.exit(f"{target} has {size // 1000} KB, the limit is {LARGEST_KB} KB. Show fewer frames.")


if __name__ == "__main__":
    main(sys.argv[1:])
