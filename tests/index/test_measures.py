"""The size of stored series, and that they depend neither on the order of events nor on how bronze stores them."""

import json
import sqlite3
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

from headwater.events.position import Source
from headwater.events.statistics_facets import READ
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.stored.measures import MAX_ROWS, RECENT_ROWS
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from tests.reference.world_events import at, dataset, facet, run_event, uuid
from tests.support.data.samples import body
from tests.support.questions import ask

EVENTS, HOURS = 700, 8


def test_a_series_has_all_newest_points_and_one_for_each_earlier_day(tmp_path: Path) -> None:
    events = [_read_event(number) for number in range(EVENTS)]
    chance, shuffled = Random(1), [*events]
    chance.shuffle(shuffled)
    series = []
    for name, order, size in (("one", events, EVENTS), ("other", shuffled, 50)):
        views, rows = _index(tmp_path / name, order, size)
        assert rows < min(EVENTS, MAX_ROWS[READ])
        answer = ask(views, "volume", {"dataset": "feed", "measure": "rows_read", "limit": "2500"})
        series.append([(point["time"], point["value"]) for point in answer["series"][0]["points"]])
        views.close()
    recent = EVENTS - RECENT_ROWS[READ]
    days = [at(number * HOURS * 3_600)[:10] for number in range(EVENTS)]
    last_of_day = [number for number in range(recent) if days[number] != days[number + 1]]
    assert [value for _, value in series[0]] == [*last_of_day, *range(recent, EVENTS)]
    assert series[0] == series[1]


def _read_event(number: int) -> bytes:
    read = dataset(("s3://lake", "feed")) | {"inputFacets": {"inputStatistics": facet(rowCount=number)}}
    return body(run_event("COMPLETE", at(number * HOURS * 3_600), uuid(number), ("jobs", "read"), inputs=[read]))


def _index(folder: Path, events: Sequence[bytes], size: int) -> tuple[ViewOpener, int]:
    """Index events, as an older version of Headwater stored them: without columns for what the rules read."""
    folder.mkdir()
    home, rules = IndexHome(folder), default_rules()
    path = home.index_path(rules)
    home.publish(path)
    indexer = Indexer(path, rules)
    bodies = {number: event.decode() for number, event in enumerate(events, 1)}
    for first in range(1, len(events) + 1, size):
        until = min(first + size, len(events) + 1)
        batch = [BronzeEvent(_event_id(bodies[each]), 2 * 10**15, each, None) for each in range(first, until)]
        indexer.process_events(Source("local", "1", "0"), until - 1, batch, partial(_bodies, bodies))
    indexer.close()
    (rows,) = sqlite3.connect(path).execute("SELECT count(*) FROM measures").fetchone()
    return ViewOpener(home, RulesFiles(folder)), rows


def _event_id(text: str) -> str:
    return str(json.loads(text)["run"]["runId"]).replace("-", "")


def _bodies(bodies: dict[int, str], asked: Collection[int]) -> dict[int, Any]:
    return {number: bodies[number] for number in asked}
