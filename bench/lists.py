"""Measure the CPU cost of a page of datasets, jobs or runs, sorted by each column, on 20,000 datasets and 200,000 runs.

`python -m bench.lists` measures each list after new events, and again while its cache is valid.
"""

import json
import random
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.figures import Figure, show
from bench.generate import generate
from bench.lineage import parse
from headwater.index.reading.view_opener import ViewOpener
from headwater.lineage.snapshots.as_of import AsOf
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.settings import load_settings
from headwater.questions import definitions
from headwater.questions.declaring import Question

JOBS, RUNS = 13_400, 200_000
GOAL_MS = 300
ASKED: tuple[tuple[Question, dict[str, str]], ...] = (
    *((definitions.datasets, {"sort": sort}) for sort in ("name", "-last_written", "owners", "columns", "state")),
    (definitions.datasets, {"tag": "pii", "state": "FAIL", "text": "silver"}),
    *((definitions.listed_jobs, {"sort": sort}) for sort in ("name", "-started", "-duration", "integration")),
    *((definitions.listed_runs, {"sort": sort}) for sort in ("-time", "-duration", "job", "state", "id")),
    (definitions.listed_runs, {"state": "FAIL"}),
    (definitions.listed_runs, {"namespace": "team_3", "text": "job_01"}),
)


def events(jobs: int, runs: int) -> Iterator[bytes]:
    """Yield the final event of each run. Every job writes its own table, which has an owner and a tag."""
    chance = random.Random(3)
    for number, body in enumerate(generate(2 * runs, 8, jobs=jobs)):
        if number % 2 == 0:
            continue
        event, job = json.loads(body), (number // 2) % jobs
        event["eventType"] = "FAIL" if chance.random() < 0.05 else "COMPLETE"
        event["job"]["namespace"] = f"team_{job % 12}"
        facets: dict[str, Any] = event["outputs"][0]["facets"]
        own = {"_producer": event["producer"], "_schemaURL": "https://openlineage.io/spec/facets/1-0-0/Of.json"}
        facets["ownership"] = {**own, "owners": [{"name": f"team:{job % 40}"}]}
        facets["tags"] = {**own, "tags": [{"key": "pii", "value": str(job % 7 == 0).lower()}]}
        yield json.dumps(event).encode()


def run(jobs: int = JOBS, runs: int = RUNS, folder: Path | None = None) -> list[Figure]:
    """Build the index, then measure each list with and without its cache."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name:
        settings = load_settings({"data": folder or Path(name)}, environment={})[0]
        there = prepare_folder(settings)
        if not any((there / "log").glob("*.sqlite")):
            parse(there, events(jobs, runs))
        open_views = open_view_opener(settings, there)
        with open_views.open_view(AsOf()) as here:
            here.snapshot.current_tags()
        found = [figure for question, asked in ASKED for figure in _asked(open_views, question, asked)]
        open_views.close()
        return found


def _asked(open_views: ViewOpener, question: Question, asked: dict[str, str]) -> Iterator[Figure]:
    sources = SimpleNamespace(open_views=open_views)
    spent: list[float] = []
    open_views.query_current_index(lambda live, _: live.clear_caches())
    for _ in range(3):
        began = time.process_time()
        answer = question.ask(sources, {**asked, "limit": "100"})
        spent.append((time.process_time() - began) * 1000)
    began = time.process_time()
    behind = question.ask(sources, {**asked, "limit": "100", "cursor": answer.next or ""})
    spent.append((time.process_time() - began) * 1000)
    called = " ".join(f"{name}={value}" for name, value in asked.items())
    yield Figure(f"{question.path} {called} ({answer.totalCount:,}): CPU after new events", spent[0], "ms", GOAL_MS)
    yield Figure(f"  again; page 2 {len(behind.items)} rows: {spent[3]:.0f} ms", min(spent[1:3]), "ms")


if __name__ == "__main__":
    show("Lists", run())
