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
from headwater.index.stored.measures import MAX_ROWS, RECENT_ROWS, StoredNumbers, numbers_from
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.canonical_names import default_rules
from tests.reference.world_events import Json, at, dataset, facet, run_event, uuid
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


PARTITIONS = {"dt=2026-01-01": 1_000, "dt=2026-01-02": 1_200, "dt=2026-01-03": 900}


def test_the_partitions_that_a_run_writes_are_added(tmp_path: Path) -> None:
    parts = [_written(f"sales/{part}", rowCount=rows, fileCount=1) for part, rows in PARTITIONS.items()]
    event = run_event("COMPLETE", at(60), uuid(1), ("jobs", "load"), outputs=[*parts, parts[0]])
    assert _stored(tmp_path, [event]) == [StoredNumbers(3_100, None, 3)], "a name that an event repeats counts once"


def test_of_reports_at_one_time_each_number_is_the_greatest_one(tmp_path: Path) -> None:
    reports: list[dict[str, float]] = [
        {"rowCount": 100},
        {"size": 5_000, "rowCount": 7},
        {"rowCount": 20.5, "size": -1},
    ]
    events = [
        run_event(kind, at(60), uuid(1), ("jobs", "load"), outputs=[_written("orders", **report)])
        for kind, report in zip(("START", "RUNNING", "COMPLETE"), reports, strict=True)
    ]
    assert _stored(tmp_path / "one", events) == [StoredNumbers(100, 5_000, None)]
    assert _stored(tmp_path / "other", events[::-1], size=1) == [StoredNumbers(100, 5_000, None)]


def test_a_run_has_one_row_from_its_newest_event_with_numbers(tmp_path: Path) -> None:
    events = [
        run_event("RUNNING", at(60 * minute), uuid(1), ("jobs", "load"), outputs=[_written("orders", rowCount=minute)])
        for minute in (1, 3, 2)
    ]
    assert _stored(tmp_path / "one", events) == [StoredNumbers(3, None, None)]
    assert _stored(tmp_path / "other", events, size=1) == [StoredNumbers(3, None, None)]


def test_an_event_with_a_time_in_the_far_future_has_no_numbers(tmp_path: Path) -> None:
    late = run_event("COMPLETE", "2098-01-01T00:00:00Z", uuid(2), ("jobs", "read"), inputs=[_read(5)])
    events = [_read_event(number) for number in range(EVENTS)]
    views, rows = _index(tmp_path / "one", [*events, body(late)], EVENTS + 1)
    views.close()
    views, usual = _index(tmp_path / "other", events, EVENTS)
    views.close()
    assert rows == usual


def test_series_have_the_same_bound_if_each_process_writes_few_rows(tmp_path: Path) -> None:
    events, most = [_read_event(number, hours=1) for number in range(1_900)], MAX_ROWS[READ]
    views, rows = _index(tmp_path / "one", events, 95, reopen=True)
    views.close()
    assert rows <= most < len(events)


def test_volume_states_that_events_were_removed_before_the_index_read_them(tmp_path: Path) -> None:
    _index(tmp_path / "one", [_read_event(1)], 1)[0].close()
    (path,) = (tmp_path / "one").rglob("*.sqlite")
    indexer = Indexer(path, default_rules())
    indexer.record_removed_before(1_767_225_600_000_000)
    indexer.close()
    views = ViewOpener(IndexHome(tmp_path / "one"), RulesFiles(tmp_path / "one"))
    answer = ask(views, "volume", {"dataset": "feed"})
    views.close()
    assert answer["events_removed_before"] == "2026-01-01"


def _written(name: str, **numbers: float) -> Json:
    return dataset(("s3://lake", name)) | {"outputFacets": {"outputStatistics": facet(**numbers)}}


def _stored(folder: Path, events: Sequence[Json], size: int = 10) -> list[StoredNumbers]:
    views, _ = _index(folder / "index", [body(event) for event in events], size)
    views.close()
    (path,) = (folder / "index").rglob("*.sqlite")
    return [numbers_from(value) for (value,) in sqlite3.connect(path).execute("SELECT value FROM measures")]


def _read(rows: int) -> Json:
    return dataset(("s3://lake", "feed")) | {"inputFacets": {"inputStatistics": facet(rowCount=rows)}}


def _read_event(number: int, hours: int = HOURS) -> bytes:
    inputs = [_read(number)]
    return body(run_event("COMPLETE", at(number * hours * 3_600), uuid(number), ("jobs", "read"), inputs=inputs))


def _index(folder: Path, events: Sequence[bytes], size: int, *, reopen: bool = False) -> tuple[ViewOpener, int]:
    """Index events, as an older version of Headwater stored them: without columns for what the rules read.

    size: of a batch. reopen: whether each batch has its own indexer.
    """
    folder.mkdir(parents=True)
    home, rules = IndexHome(folder), default_rules()
    path = home.index_path(rules)
    home.publish(path)
    indexer = Indexer(path, rules)
    bodies = {number: event.decode() for number, event in enumerate(events, 1)}
    for first in range(1, len(events) + 1, size):
        until = min(first + size, len(events) + 1)
        if reopen:
            indexer.close()
            indexer = Indexer(path, rules)
        batch = [BronzeEvent(_event_id(bodies[each]), 2 * 10**15, each, None) for each in range(first, until)]
        indexer.process_events(Source("local", "1", "0"), until - 1, batch, partial(_bodies, bodies))
    indexer.close()
    (rows,) = sqlite3.connect(path).execute("SELECT count(*) FROM measures").fetchone()
    return ViewOpener(home, RulesFiles(folder)), rows


def _event_id(text: str) -> str:
    return str(json.loads(text)["run"]["runId"]).replace("-", "")


def _bodies(bodies: dict[int, str], asked: Collection[int]) -> dict[int, Any]:
    return {number: bodies[number] for number in asked}
