"""Measure the web interface in headless Chromium: paint, first answer, graphs, long tasks, memory with live messages.

`python -m bench.dashboard [--quick] [--only WORDS]`. Each figure is the median of several rounds. Each round uses a new
window without a cache.
"""

import argparse
import json
import os
import subprocess
import tempfile
from pathlib import Path

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, show
from tools.programs import WHOLE_CHROMIUM

WEB = Path(__file__).parents[1] / "web"
GRAPHS = {
    "columns": ("column graph of 1,000 nodes", 2.0),
    "tables": ("1,000 tables around one, none folded", 2.0),
    "map": ("map of 2,000 tables in 40 schemas", 1.5),
    "around": ("2,000 tables around one, folded", 1.5),
    "unfolded": ("2,000 tables around one, none folded", None),
    "more": ("map of 10,000 tables in 40 schemas", 6.0),
}
TASKS = {"pan": "panning 50 tables of 100 columns", "save": "saving 2,000 tables as SVG and PNG"}
LONGEST_TASK_MS = 50


def run(rounds: int, only: str = "") -> list[Figure]:
    """Run the measurements in `web/bench/measure.ts` and return their figures.

    only: run only the measurements whose name contains this text.
    """
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        out = Path(name) / "figures.json"
        environment = os.environ | {"HEADWATER_BENCH_OUT": str(out), "HEADWATER_BENCH_ROUNDS": str(rounds)}
        environment[WHOLE_CHROMIUM.variable] = WHOLE_CHROMIUM.find() or ""
        chosen = ["--", "-t", only] if only else []
        subprocess.run(
            ["npm", "run", "--silent", "tools", "bench/measure.ts", *chosen], cwd=WEB, env=environment, check=True
        )
        found: dict[str, float] = json.loads(out.read_text())
    figures = [*_first(found), *(each for key in GRAPHS if key in found for each in _graph(key, found))]
    for key, name in TASKS.items():
        if key in found:
            figures.append(Figure(f"{name}: longest task", found[key], "ms", LONGEST_TASK_MS))
            figures.append(Figure("  CPU", found[f"{key}Cpu"], "ms", LONGEST_TASK_MS))
    if "heapAfter" in found:
        for of, label in (("heap", "memory"), ("data", "  without compiled code")):
            goal = found[f"{of}First"] * 1.1
            figures.append(Figure(f"{label}, after 20,000 live messages", found[f"{of}First"], "MB"))
            figures.append(Figure(f"{label}, after 300,000", found[f"{of}Warm"], "MB"))
            figures.append(Figure(f"{label}, after 1,000,000", found[f"{of}After"], "MB", goal))
    return figures


def _first(found: dict[str, float]) -> list[Figure]:
    """Return the figures of a first visit. The floor is a page with one line of text and no script."""
    if "paint" not in found:
        return []
    floor = found.get("floor", 0) / 1000 or None
    return [
        Figure("first contentful paint: the skeleton, before the script", found["paint"] / 1000, "s", 0.6, floor=floor),
        Figure("  first answer shown", found["answer"] / 1000, "s", floor=floor),
        Figure("  longest task, CPU", found["firstTaskCpu"], "ms"),
        Figure("  whole page, CPU", found["firstCpu"], "s"),
        Figure("script before the graph view, gzip", found["script"], "KB", 350),
    ]


def _graph(key: str, found: dict[str, float]) -> list[Figure]:
    """Return the figures of one graph. The floor is a graph of two tables."""
    name, goal = GRAPHS[key]

    def figure(label: str, of: str, unit: str, goal: float | None = None) -> Figure:
        scale = 1000 if unit == "s" and of != "Cpu" else 1  # the page reports ms, browser processes s
        floor = found.get(f"two{of}")
        return Figure(label, found[f"{key}{of}"] / scale, unit, goal, floor=floor and floor / scale)

    return [
        figure(f"{name}: opened to drawn", "Whole", "s", goal),
        figure("  answer to drawn", "", "s"),
        figure("  whole page, CPU", "Cpu", "s"),
        figure("  longest task, answer to drawn", "Task", "ms", LONGEST_TASK_MS),
        figure("    CPU", "TaskCpu", "ms", LONGEST_TASK_MS),
        figure("  longest task since opening, CPU", "OpenTaskCpu", "ms"),
    ]


def main() -> None:
    """Run the benchmark from the command line."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--quick", action="store_true", help="fewer rounds")
    arguments.add_argument("--only", default="", help="run only measurements whose name contains these words")
    chosen = arguments.parse_args()
    show("Dashboard", run(QUICK_ROUNDS if chosen.quick else ROUNDS, chosen.only))


if __name__ == "__main__":
    main()
