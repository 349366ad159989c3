"""Measure the cost of `incidents`: 10,000 tables with 12 daily writes; 1 in 500 jobs failed and 1 in 500 is late.

Usage: python -m bench.incidents [TABLES [RUNS [OF_EVERY]]]; one in OF_EVERY tables fails and one in OF_EVERY is late.
"""

import json
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from bench.health import _DAY, _START, _WRITES, _bodies, _event, _events, _news, _time
from headwater.events.position import Source
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from headwater.questions.incidents.answer import IncidentPeriod, incidents_answer


def main(tables: int = 10_000, runs: int = 1_000, of_every: int = 500) -> None:
    """Build the index, then measure the question without a cache, repeated, and after new events."""
    with tempfile.TemporaryDirectory() as folder:
        home, rules = IndexHome(Path(folder)), default_rules()
        home.publish(home.index_path(rules))
        indexer = Indexer(home.index_path(rules), rules)
        done = 1

        def index_events(events: Iterator[dict[str, Any]]) -> None:
            nonlocal done
            while some := list(islice(events, 5_000)):
                bodies = {done + at: json.dumps(event) for at, event in enumerate(some)}
                batch = [BronzeEvent(f"{number:032x}", 2 * 10**15 + number, number, None) for number in bodies]
                indexer.process_events(Source("local", "1", "0"), done + len(some), batch, partial(_bodies, bodies))
                done += len(some)

        index_events(_events(tables, runs, of_every))
        index_events(_failures(tables, of_every))
        views = ViewOpener(home, RulesFiles(Path(folder)))
        now_us = (_START + _WRITES * _DAY) * 1_000_000
        bronze: Any = SimpleNamespace(exists=lambda: False)
        period = IncidentPeriod(now_us - _DAY * 1_000_000, now_us, is_present=True)
        for when in ("without a cache", "again", "100 new events", "again", "100 new events", "again"):
            if when.endswith("events"):
                index_events(_news(done, tables))
            began, began_wall = time.process_time(), time.monotonic()
            found = incidents_answer(views, period, 1_000, bronze)
            cost, wall = time.process_time() - began, time.monotonic() - began_wall
            print(f"incidents, {when}: {cost:.3f} s CPU, {wall:.3f} s; {found.totalCount} incidents {found.kinds}")
        indexer.close()


def _failures(tables: int, of_every: int) -> Iterator[dict[str, Any]]:
    """Yield failed runs of last night, of one in `of_every` jobs."""
    for table in range(7, tables, of_every):
        at = _START + _WRITES * _DAY - 6 * 3_600 + table % 3_600
        event = _event(10**9 + table, at, f"load_{table}", f"t{table:06d}", [f"t{table // 3:06d}"])
        error = {"_producer": "x", "_schemaURL": "x", "message": "disk full", "programmingLanguage": "PYTHON"}
        run = event["run"] | {"facets": {"errorMessage": error}}
        yield event | {"eventType": "START", "eventTime": _time(at - 60)}
        yield event | {"eventType": "FAIL", "run": run}


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
