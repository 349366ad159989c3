"""Lists that a reader caches between questions are equal to those of a new reader, whatever events arrive
in between.
"""

import json
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from random import Random
from threading import Thread
from typing import Any

import pytest
from msgspec import to_builtins

from headwater.index import api_changes
from headwater.index.home import IndexHome
from headwater.index.reading.view_opener import FairLock, ViewOpener
from headwater.index.rules_files import RulesFiles
from headwater.index.writing.indexer import Indexer
from headwater.lake.bronze_follower import BronzeEvent
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions.health_lists import list_health_problems
from tests.index.test_reference import RULES, SOURCE, asked_of
from tests.reference.records import Delivered
from tests.reference.small_events import CLEAR, made
from tests.reference.world_events import START_US, Json, at, dataset, deliver, facet, run_event, source, uuid
from tests.reference.worlds import random_world
from tests.support.questions import ask

DAY, DAYS = 86_400, 14
LAKE = "s3://kept"
JOBS = 9


class Growing:
    """An index that accepts events, and one reader that has been open from the beginning."""

    def __init__(self, folder: Path) -> None:
        self._home = IndexHome(folder)
        self._home.publish(self._home.index_path(RULES))
        self._indexer = Indexer(self._home.index_path(RULES), RULES)
        self._at = 0
        self.watching = self.reader()

    def reader(self) -> ViewOpener:
        return ViewOpener(*self.place())

    def place(self) -> tuple[IndexHome, RulesFiles]:
        return self._home, RulesFiles(self._home.published_file().path.parent)

    def add(self, events: list[Delivered]) -> None:
        numbered = dict(enumerate(events, self._at + 1))
        batch = [BronzeEvent(each.event_id, each.received_us, number, None) for number, each in numbered.items()]
        bodies = {number: json.dumps(each.event) for number, each in numbered.items()}
        self._at += len(events)
        self._indexer.process_events(SOURCE, self._at, batch, partial(asked_of, bodies))

    def close(self) -> None:
        self.watching.close()
        self._indexer.close()


@contextmanager
def growing() -> Iterator[Growing]:
    with tempfile.TemporaryDirectory(dir="/dev/shm" if Path("/dev/shm").is_dir() else None) as folder:
        found = Growing(Path(folder))
        yield found
        found.close()


def daily(chance: Random) -> Iterator[Json]:
    """Yield daily jobs that each write a table from the previous one. On some days a job fails, hangs or
    sends nothing.
    """
    for day in range(DAYS):
        for job in range(JOBS):
            kind = chance.choices(("COMPLETE", "FAIL", "START", ""), (9, 1, 1, 1))[0]
            moment, run = day * DAY + job * 60, uuid(10_000 + day * JOBS + job)
            columns = {"x": [source((LAKE, f"t{job}"), "x", CLEAR)]}
            told: dict[str, Any] = {}
            if chance.random() < 0.2:
                told["ownership"] = facet(owners=[{"name": f"team {day % 3}"}])
            if chance.random() < 0.2:
                told["tags"] = facet(tags=[{"key": "pii", "value": chance.choice(("true", "false"))}])
            outputs = [made((LAKE, f"t{job + 1}"), columns, columns="x", **told)] if kind == "COMPLETE" else []
            if kind:
                yield run_event(
                    kind, at(moment), run, ("etl", f"load{job}"), inputs=[dataset((LAKE, f"t{job}"))], outputs=outputs
                )
    yield api_changes.job_tag_event(Name("etl", "load2"), "gold", is_set=True)
    yield api_changes.dataset_deletion_event(Name(LAKE, "t4"))
    yield api_changes.job_deletion_event(Name("etl", "load5"))


def answers(views: ViewOpener, now_us: int) -> dict[str, Any]:
    found = {name: ask(views, name, {"limit": "1000"}) for name in ("datasets", "listed_jobs")}
    for name, since in (("changes", at(5 * DAY)), ("old changes", at(3))):
        found[name] = ask(views, "changes", {"from": since, "limit": "1000"})
    found["health"] = to_builtins(list_health_problems(views, now_us, None, 1_000, max_checks=3))
    return found


@pytest.mark.slow
def test_what_is_kept_is_what_who_has_just_begun_says() -> None:
    statuses = {status for seed in range(2) for status in statuses_of(Random(seed), random_world(seed))}
    assert statuses == {"failed", "late", "stale"}


def statuses_of(chance: Random, world: list[Delivered]) -> set[str]:
    """Add a world in pieces, ask after each piece, and return all states of the listed items."""
    world = [*world, *deliver(daily(chance))]
    chance.shuffle(world)
    now, found = 5.0 * DAY, set[str]()
    with growing() as index:
        while world:
            some = chance.choice((1, 3, 20))
            index.add(world[:some])
            del world[:some]
            now += chance.choice((0, 3_600, DAY))
            fresh = index.reader()
            said = answers(index.watching, START_US + round(now * 1e6))
            assert said == answers(fresh, START_US + round(now * 1e6))
            found |= {item["status"] for item in said["health"]["items"]}
            fresh.close()
    assert {item["name"] for item in said["listed_jobs"]["items"]} >= {"load1", "load2"}
    return found


@pytest.mark.slow
def test_a_page_of_changes_works_nothing_out_that_the_one_before_has() -> None:
    with growing() as index:
        index.add(deliver(daily(Random(1))))
        read: list[str] = []
        index.watching.query_current_index(lambda live, _: live.sql.set_trace_callback(read.append))
        first = ask(index.watching, "changes", {"from": at(3), "limit": "5"})
        whole, pages = len(read), []
        cursor = first["next"]
        while cursor:
            read.clear()
            page = ask(index.watching, "changes", {"from": at(3), "limit": "5", "cursor": cursor})
            pages.append(len(read))
            assert page["totalCount"] == first["totalCount"] > 20
            cursor = page["next"]
    assert max(pages) < whole / 2, "SQL statements: a page must look up only its own runs"


@pytest.mark.slow
def test_after_an_event_changes_are_worked_out_of_what_it_is_about_alone() -> None:
    with growing() as index:
        index.add(deliver(daily(Random(1))))
        read: list[str] = []
        index.watching.query_current_index(lambda live, _: live.sql.set_trace_callback(read.append))
        asked = {"from": at(3), "limit": "1"}
        before = ask(index.watching, "changes", asked)["totalCount"]
        whole = len(read)
        new = dataset((LAKE, "new"), schema=facet(fields=[{"name": "x", "type": "INT"}]))
        index.add(deliver([run_event("COMPLETE", at(DAYS * DAY), uuid(1), ("etl", "load0"), outputs=[new])]))
        read.clear()
        assert ask(index.watching, "changes", asked)["totalCount"] == before + 1
    assert len(read) < whole / 2, "number of SQL statements"


class CountedLooks(ViewOpener):
    """Counts how often a view is opened."""

    looks = 0

    @contextmanager
    def open_view_and_index(self, as_of: AsOf) -> Iterator[Any]:
        self.looks += 1
        with super().open_view_and_index(as_of) as found:
            yield found


@pytest.mark.slow
def test_all_health_is_judged_in_many_looks_between_which_others_have_a_turn() -> None:
    with growing() as index:
        index.add(deliver(daily(Random(1))))
        counted = CountedLooks(*index.place())
        list_health_problems(counted, START_US + 9 * DAY * 1_000_000, None, 10, max_checks=1)
        counted.close()
    assert counted.looks > 3, "each attempt opens the view once more than the previous one"


def test_who_waits_for_a_turn_has_it_before_who_has_just_let_go() -> None:
    turns, order = FairLock(), list[str]()
    waiting = Thread(target=lambda: _note(turns, order, "who waited"))
    with turns:
        waiting.start()
        while not turns.has_waiter():
            time.sleep(0.001)
    _note(turns, order, "who let go")
    waiting.join()
    assert order == ["who waited", "who let go"]


def _note(turns: FairLock, order: list[str], who: str) -> None:
    with turns:
        order.append(who)
