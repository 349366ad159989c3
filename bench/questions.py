"""Measure the CPU time of questions in one process on two lakes, for this release and optionally for an older one.

Each release builds its lake and its index from the same events. The times do not include HTTP.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from bench import appends, wide
from bench.figures import Figure, percentile, show
from bench.parser import fill_log
from headwater.cli.answer_source import DataFolder
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.storage import OWNER, open_bronze
from headwater.operations.settings import load_settings
from headwater.questions.declaring import Question
from headwater.questions.definitions import lineage as lineage_questions

SLOWEST = 1.3
"""The maximum ratio of the median CPU time to that of the older release."""

LIMIT = 1_000
ASKED = 60
ROUNDS = 3
WARM = 2
"""Answers that are not measured; the first one loads the index."""

LAKES = ("wide", "appends")
_OWN = Path(__file__).resolve().parents[1]

Answers = dict[str, tuple[float, float]]
"""By question: the median CPU time (ms) of an answer and the median number of its items."""


def run(jobs: int | None = None, older: Path | None = None, lakes: tuple[str, ...] = LAKES) -> list[Figure]:
    """Measure the questions. older: a checkout of a release to compare with, measured alternately with this one."""
    figures: list[Figure] = []
    for lake in lakes:
        with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
            events = Path(name) / "events.ndjson"
            with events.open("wb") as file:
                file.writelines(body + b"\n" for body in _events(lake, jobs))
            trees = {"this": _OWN} | ({"older": older.resolve()} if older else {})
            for which, tree in trees.items():
                code = Path(name) / f"code of {which}"
                code.mkdir()
                (code / "headwater").symlink_to(tree / "headwater")
                (code / "bench").symlink_to(_OWN / "bench")
                _step(code, "build", str(Path(name) / which), str(events))
            found: dict[str, list[Answers]] = {which: [] for which in trees}
            for _ in range(ROUNDS):
                for which in trees:
                    output = _step(
                        Path(name) / f"code of {which}", "ask", str(Path(name) / which), lake, str(jobs or 0)
                    )
                    found[which].append(msgspec.json.decode(output, type=Answers))
            figures += _figures(lake, found)
    return figures


def _figures(lake: str, found: dict[str, list[Answers]]) -> Iterator[Figure]:
    for question in found["this"][0]:
        own_ms, own_items = _least(found["this"], question)
        name = f"{lake}: {question} ({own_items:,.0f} items): p50"
        if "older" not in found:
            yield Figure(name, own_ms, "ms")
            continue
        old_ms, old_items = _least(found["older"], question)
        yield Figure(name, own_ms, "ms", SLOWEST * old_ms, floor=old_ms, ratio=own_ms / old_ms)
        yield Figure(f"  older release, {old_items:,.0f} items", old_ms, "ms")


def _least(rounds: list[Answers], question: str) -> tuple[float, float]:
    """Return the minimum of the medians, because other work on the machine can only slow a round down."""
    return min(each[question] for each in rounds)


def _events(lake: str, jobs: int | None) -> Iterator[bytes]:
    if lake == "wide":
        return wide.wide_events(jobs or wide.JOBS, (jobs or wide.JOBS) // wide.LAYERS)
    return appends.append_events(jobs or appends.JOBS)


def _step(code: Path, *arguments: str) -> bytes:
    """Run a step of this module with the code of a release."""
    command = [sys.executable, "-m", "bench.questions", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(code), "PYTHONHASHSEED": "0"}
    return subprocess.run(command, check=True, env=environment, cwd=code, stdout=subprocess.PIPE).stdout


def _build(folder: Path, events: Path) -> None:
    prepare_folder(load_settings({"data": folder}, folder=folder, environment={})[0])
    with events.open("rb") as file:
        log = fill_log(folder / "log", (line.rstrip(b"\n") for line in file))
    bronze = open_bronze(load_settings({"data": folder})[0])
    parser = PartitionParser(log, bronze, FolderClaims(folder / "claims"), OWNER)
    while parser.commit_next():
        pass
    log.close()
    DataFolder(folder).open_views.close()


def _ask(folder: Path, lake: str, jobs: int) -> Answers:
    sources = DataFolder(folder)
    early, late, namespace = _columns(lake, jobs)
    column, dataset, tag = ("dataset", "column"), ("dataset",), ()
    asked: list[tuple[str, Question, list[tuple[str, str]], tuple[str, ...], dict[str, str]]] = [
        ("impact", lineage_questions.impact, early, column, {}),
        ("upstream", lineage_questions.upstream, late, column, {}),
        ("surface of a column", lineage_questions.surface, early[: ASKED // 3], column, {}),
        ("unused of a dataset", lineage_questions.unused, early, dataset, {}),
    ]
    if lake == "appends":
        asked.append(("surface of a tag", lineage_questions.surface, early[: ASKED // 6], tag, {"tag": "pii"}))
    medians = {}
    for name, question, subjects, keys, more in asked:
        found = []
        for number, subject in enumerate(subjects[: ASKED + WARM]):
            given = dict(zip(keys, subject, strict=False)) | more | {"limit": str(LIMIT)}
            began = time.process_time()
            answer = question.ask(sources, given | ({"namespace": namespace} if keys else {}))
            msgspec.json.encode(answer)
            if number >= WARM:
                items = answer.columns if hasattr(answer, "columns") else answer.items
                found.append(((time.process_time() - began) * 1000, len(items)))
        medians[name] = percentile([ms for ms, _ in found], 0.5), percentile([items for _, items in found], 0.5)
    return medians


def _columns(lake: str, jobs: int) -> tuple[list[tuple[str, str]], list[tuple[str, str]], str]:
    """Return columns for impact questions, columns for upstream questions, and their namespace."""
    if lake == "wide":
        early = wide.early_columns((jobs or wide.JOBS) // wide.LAYERS)
        deep = [each for each in early if "layer_04" in each[0]]
        return early, deep, wide.NAMESPACE
    jobs = jobs or appends.JOBS
    return appends.columns_of_layer(1, jobs), appends.columns_of_layer(4, jobs), appends.NAMESPACE


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="the source tree of an older release")
    parser.add_argument("--jobs", type=int, help="number of jobs, a multiple of 10; default: 2,000 or 1,000 by lake")
    parser.add_argument("--lake", choices=LAKES, help="measure only this lake")
    given = parser.parse_args()
    show("Questions", run(given.jobs, given.against, (given.lake,) if given.lake else LAKES))


if __name__ == "__main__":
    if sys.argv[1:2] == ["build"]:
        _build(*map(Path, sys.argv[2:4]))
    elif sys.argv[1:2] == ["ask"]:
        sys.stdout.buffer.write(msgspec.json.encode(_ask(Path(sys.argv[2]), sys.argv[3], int(sys.argv[4]))))
    else:
        main()
