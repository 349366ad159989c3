"""Measure the CPU cost of `health` and of cached lists: 20,000 tables with 12 daily writes, and a job with many runs.

Usage: python -m bench.health [TABLES [RUNS]]
"""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import UUID

from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import definitions
from headwater.questions.health_lists import health_of_dataset, health_of_graph, health_of_job, list_health_problems
from headwater.questions.subjects import Subject

_WRITES, _DAY, _MINUTE, _START, _LATE = 12, 86_400, 60, 1_780_000_000, 50
"""One of every _LATE tables is late."""


def main(tables: int = 20_000, runs: int = 200_000) -> None:
    """Build the index, then measure the questions."""
    with tempfile.TemporaryDirectory() as folder:
        home, rules = IndexHome(Path(folder)), default_rules()
        home.publish(home.index_path(rules))
        indexer = Indexer(home.index_path(rules), rules)
        done = 1
        events = _events(tables, runs)
        while some := list(islice(events, 5_000)):
            bodies = {done + at: json.dumps(event) for at, event in enumerate(some)}
            batch = [BronzeEvent(f"{number:032x}", 2 * 10**15 + number, number, None) for number in bodies]
            read = partial(_bodies, bodies)
            indexer.process_events(Source("local", "1", "0"), done + len(some), batch, read)
            done += len(some)
        views = ViewOpener(home, RulesFiles(Path(folder)))
        now_us = (_START + _WRITES * _DAY) * 1_000_000
        _lists(views, now_us, "without a cache")
        for _ in range(2):
            bodies = {done + at: json.dumps(event) for at, event in enumerate(_news(done, tables))}
            batch = [BronzeEvent(f"{number:032x}", 2 * 10**15 + number, number, None) for number in bodies]
            indexer.process_events(Source("local", "1", "0"), done + len(bodies), batch, partial(_bodies, bodies))
            done += len(bodies)
            _lists(views, now_us, f"after {len(bodies)} new events")
        indexer.close()
        _one_by_one(views, now_us, runs)


def _lists(views: ViewOpener, now_us: int, when: str) -> None:
    """Measure the cached lists: the first page, a second page, and a repeated question."""
    sources, since = SimpleNamespace(open_views=views), _time(_START - 1)
    for question, asked in ((definitions.changes, {"from": since}), (definitions.datasets, {})):
        page = {**asked, "limit": "100"}
        first = _cost(f"{question.path} {when}", partial(question.ask, sources, page))
        _cost("  page 2", partial(question.ask, sources, {**page, "cursor": first.next}))
    _cost(f"all health problems {when}", lambda: list_health_problems(views, now_us, None, 1_000))
    _cost("  again", lambda: list_health_problems(views, now_us, None, 1_000))


def _cost(what: str, ask: Callable[[], Any]) -> Any:
    began = time.process_time()
    found = ask()
    print(f"{what}: {time.process_time() - began:.4f} s, {found.totalCount:,} items")
    return found


def _news(done: int, tables: int) -> Iterator[dict[str, Any]]:
    for table in range(0, tables, max(1, tables // 100)):
        at = _START + _WRITES * _DAY - 60
        yield _event(10**7 + done + table, at, f"load_{table}", f"t{table:06d}", [f"t{table // 3:06d}"])


def _one_by_one(views: ViewOpener, now_us: int, runs: int) -> None:
    with views.open_view_and_index(AsOf()) as (here, live):
        shown = tuple(json.dumps(["dataset", "s3://bench", f"t{number:06d}"]) for number in range(100))
        _measure("one dataset", lambda: health_of_dataset(here, live, Subject("s3://bench", "t000123"), now_us, 100))
        _measure("100 shown datasets", lambda: health_of_graph(here, live, shown, now_us))
        _measure(f"a job of {runs:,} runs", lambda: health_of_job(here, live, ("b", "often"), now_us, 100))
        _measure("its table", lambda: health_of_dataset(here, live, Subject("s3://bench", "often"), now_us, 100))


def _bodies(bodies: dict[int, str], asked: Collection[int]) -> dict[int, str]:
    return {number: bodies[number] for number in asked}


def _measure(what: str, ask: Callable[[], Any]) -> None:
    costs = []
    for _ in range(3):
        began = time.process_time()
        found = ask()
        costs.append(time.process_time() - began)
    print(f"{what}: {min(costs):.4f} s, {len(found.items)} items")


def _events(tables: int, runs: int, late: int = _LATE) -> Iterator[dict[str, Any]]:
    number = iter(range(1, 1 << 40))
    for write in range(_WRITES):
        for table in range(tables):
            if table % late or write < _WRITES - 2:
                at = _START + write * _DAY + table % 3_600
                yield _event(
                    next(number), at, f"load_{table}", f"t{table:06d}", [f"t{table // 3:06d}"] if table else []
                )
    for run in range(runs):
        yield _event(
            next(number), _START + (_WRITES * _DAY - runs * _MINUTE) + run * _MINUTE, "often", "often", ["t000000"]
        )


def _event(number: int, at: int, job: str, output: str, reads: Iterable[str]) -> dict[str, Any]:
    return {
        "eventTime": _time(at),
        "eventType": "COMPLETE",
        "producer": "https://example.org/bench",
        "schemaURL": "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent",
        "run": {"runId": str(UUID(int=number))},
        "job": {"namespace": "b", "name": job},
        "inputs": [{"namespace": "s3://bench", "name": name} for name in reads],
        "outputs": [{"namespace": "s3://bench", "name": output}],
    }


def _time(at: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at))


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
