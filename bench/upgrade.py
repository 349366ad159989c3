"""Measure a rules upgrade: the index of older code answers until the new one is built, under continuous questions.

A copy of the package with one changed line in its rules builds the index of 20,000 events (`--events 200000` is the
documented size). The current `headwater up` then starts on that folder while events come in. The figures cover every
answer from the first one until five seconds after questions use the new index.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import cycle, pairwise
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from bench.answers import Client
from bench.figures import Figure, percentile, show
from bench.generate import generate
from bench.lineage import parse
from bench.load import bodies
from bench.reading import JOBS, KILOBYTES
from bench.running import Server, headwater, incoming, memory_mb, write_events
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings

EVENTS = 20_000
MANY_EVENTS = 200_000
DIFFERENT = 20_000
"""The number of different events; beyond it, events repeat with new run IDs."""
RATE = 20
"""Incoming events per second."""
AFTER_S = 5.0
API = "/api/headwater/v1"

_ROOT = Path(__file__).parents[1]
_BUILD = """
import sys
from pathlib import Path
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.settings import load_settings
folder = Path(sys.argv[1])
open_view_opener(load_settings({"data": folder}, folder=folder, environment={})[0], folder).close()
"""


class Answer(NamedTuple):
    """An answer: the question, its latency (ms), its status, and its time (s)."""

    question: str
    wait_ms: float
    status: int
    at: float


def run(events: int = EVENTS) -> list[Figure]:
    """Build the index with other code, start the current code, and ask questions until the switch is over."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        folder = prepare_folder(load_settings({"data": Path(name)}, folder=Path(name), environment={})[0])
        file = write_events(folder / "events.ndjson", min(events, DIFFERENT), KILOBYTES, jobs=JOBS)
        parse(folder, bodies(file, events, 0))
        _build_by_other_code(folder)
        old = (folder / "index" / "current").read_text()
        began = time.perf_counter()
        with headwater(tick="1s", folder=folder) as server, incoming(server.url, file, RATE, start=1000):
            answers, indexed_at = _ask(server)
            if (folder / "index" / "current").read_text() == old:
                raise SystemExit("Headwater did not build a new index, so there is nothing to measure.")
            return _figures(events, answers, answers[0].at - began, indexed_at - began, server)


def _build_by_other_code(folder: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        shutil.copytree(_ROOT / "headwater", Path(name) / "headwater", ignore=shutil.ignore_patterns("__pycache__"))
        with (Path(name) / "headwater" / "lineage" / "edges" / "run_edges.py").open("a") as rules:
            rules.write("\n_OTHER = True\n")
        environment = {**os.environ, "PYTHONPATH": name}
        subprocess.run([sys.executable, "-c", _BUILD, str(folder)], cwd=name, env=environment, check=True)


def _ask(server: Server) -> tuple[list[Answer], float]:
    """Ask questions sequentially over one connection; also returns the time of the first answer of the new index."""
    client, answers, indexed_at = Client(server.url), list[Answer](), 0.0
    for path in _questions():
        wait, status, body = client.get(path)
        answers.append(Answer(path, wait, status, time.perf_counter()))
        if not indexed_at and "/rules?" in path and msgspec.json.decode(body)["indexed"]:
            indexed_at = answers[-1].at
        if indexed_at and answers[-1].at > indexed_at + AFTER_S:
            break
    return answers, indexed_at


def _questions() -> Iterator[str]:
    """Yield paths endlessly: each question about a column of each output."""
    for body in cycle(list(generate(2 * JOBS, KILOBYTES, jobs=JOBS))):
        (output,) = msgspec.json.decode(body)["outputs"]
        dataset = {"namespace": output["namespace"], "dataset": output["name"]}
        column = dataset | {"column": output["facets"]["schema"]["fields"][0]["name"]}
        for question, asked in (
            ("impact", column), ("upstream", column), ("surface", column), ("unused", dataset),
            ("coverage", {"limit": "10"}), ("search", {"q": output["name"][-11:]}), ("rules", {}),
        ):  # fmt: skip
            yield f"{API}/{question}?{urlencode(asked)}"


def _figures(events: int, answers: list[Answer], first_s: float, built_s: float, server: Server) -> list[Figure]:
    waits = [answer.wait_ms for answer in answers]
    gaps = [(after.at - before.at) * 1000 for before, after in pairwise(answers)]
    slowest = max(answers, key=lambda answer: answer.wait_ms)
    others = sum(answer.status != 200 for answer in answers)
    assert server.index
    return [
        Figure("machine load", os.getloadavg()[0], ""),
        Figure(f"{events:,} events: process start to the first answer, from the old index", first_s, "s"),
        Figure("process start to the first answer from the new index", built_s, "s"),
        Figure(f"answers other than 200, of {len(answers):,}", others, "", 0),
        Figure("longest time without an answer", max(gaps), "ms", 1000),
        Figure(f"slowest answer: {slowest.question.partition('?')[0]}", slowest.wait_ms, "ms"),
        Figure("answers: median", percentile(waits, 0.5), "ms"),
        Figure("  p99", percentile(waits, 0.99), "ms"),
        Figure("process serve: peak memory", memory_mb(server.process, "VmHWM"), "MB", 1024),
        Figure("process index: peak memory", memory_mb(server.index, "VmHWM"), "MB", 1024),
    ]


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=EVENTS)
    show("Upgrade", run(parser.parse_args().events))


if __name__ == "__main__":
    main()
