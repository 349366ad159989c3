"""Copy 200 random worlds into a second Headwater, by a sink and by a replay, and compare the answers of both.

`python -m bench.second --worlds 200` exits with status 1 if an answer differs, and prints the seeds of these worlds.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from tests.sinks.test_second import arrived, differing, fanned_out, lake_of_worlds, replayed
from tests.support.running import Running


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worlds", type=int, default=200)
    worlds = parser.parse_args().worlds
    status = 0
    for sends in (fanned_out, replayed):
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
            world, second = lake_of_worlds(Path(folder), range(worlds)), Path(folder, "second")
            second.mkdir(mode=0o700)
            with Running(second, options=["--tick", "50ms"], cwd=Path(folder)) as other:
                sends(world, other.url)
                arrived(world, second)
            found = differing(world.folder, second)
        print(f"{worlds} worlds, {sends.__name__}: {len(found)} differ (goal 0) {found or ''}")
        status |= bool(found)
    return status


if __name__ == "__main__":
    sys.exit(main())
