"""The dashboard in headless Chromium: first paint, script, graphs laid out, long tasks, memory under live messages.

`python -m bench.dashboard [--quick]`; medians of rounds, each in a window without a cache.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, show

WEB = Path(__file__).parents[1] / "web"


def run(rounds: int) -> list[Figure]:
    """Run the measurements of `web/bench/measure.ts`; a goal stands beside each figure that has one."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        out = Path(name) / "figures.json"
        environment = os.environ | {"HEADWATER_BENCH_OUT": str(out), "HEADWATER_BENCH_ROUNDS": str(rounds)}
        subprocess.run(["npm", "run", "--silent", "tools", "bench/measure.ts"], cwd=WEB, env=environment, check=True)
        found = json.loads(out.read_text())
    return [
        Figure("first contentful paint", found["paint"] / 1000, "s", 0.6),
        Figure("  its figures and charts are drawn", found["shown"] / 1000, "s"),
        Figure("script before the graph view, gzip", found["script"], "KB", 350),
        Figure("column graph of 1,000 nodes: answer to drawn", found["columns"] / 1000, "s", 6),
        Figure("  longest task of the main thread meanwhile", found["columnsTask"], "ms", 100),
        Figure("groups of a 2,000-table graph: answer to drawn", found["groups"] / 1000, "s", 2),
        Figure("  from opening the page", found["groupsWhole"] / 1000, "s"),
        Figure("  longest task of the main thread meanwhile", found["groupsTask"], "ms", 100),
        Figure("panning 50 tables of 100 columns: longest task", found["pan"], "ms", 100),
        Figure("memory after 20,000 live messages", found["heapBefore"], "MB"),
        Figure("memory after 1,000,000", found["heapAfter"], "MB", found["heapBefore"] * 1.1),
    ]


def main() -> None:
    """Measure and print."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="fewer rounds")
    show("Dashboard", run(QUICK_ROUNDS if arguments.parse_args().quick else ROUNDS))


if __name__ == "__main__":
    main()
