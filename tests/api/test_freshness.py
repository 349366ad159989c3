"""Freshness is 0 only when answers include every acknowledged event. Until then, an unknown name is
`behind`, not 404.
"""

import json
import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import write_deltalake

from headwater.api.freshness import FreshnessMeter, WaitingEvents
from headwater.common.errors import NotKnown
from headwater.index.reading.view_opener import ViewOpener
from headwater.index.writing.follower import IndexFollower
from headwater.intake.event_log import RecordKind
from headwater.lake.arrow_batches import arrow_batch
from headwater.operations.runtime.event_log import reader_opener
from headwater.operations.runtime.index import open_freshness, open_index_home, open_rules
from headwater.tables import GENERATIONS, STATE
from tests.reference.small_events import CLEAR, made, run
from tests.reference.world_events import at, source, uuid
from tests.support.cleanup import until_end
from tests.support.data.parsing import World, event, note
from tests.support.data.shop import LAKE, Asker, up
from tests.support.few_of_many import few_of
from tests.support.questions import ask
from tests.support.running import Running, headwater
from tests.support.waiting import rest

NOTHING = WaitingEvents()


def lineage(number: int) -> Any:
    """Return an event of a run that creates a new dataset `out/NUMBER` from `in/NUMBER`."""
    output = made((LAKE, f"out/{number}"), {"x": [source((LAKE, f"in/{number}"), "x", CLEAR)]}, columns="x")
    return run(1000 + number, number, output, job=f"job_{number}")


def caught_up(asker: Asker) -> Any:
    """Ask for the freshness until answers are up to date."""
    deadline = time.monotonic() + 120
    while (found := asker.ask("freshness"))["seconds"]:
        assert time.monotonic() < deadline, found
        rest()
    return found


@contextmanager
def held(running: Running, role: str) -> Iterator[None]:
    """Suspend a process of a running Headwater."""
    pid = running.wait_pid(role)
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


@pytest.mark.slow
@pytest.mark.parametrize("count", few_of([100, 1_000], 1))
def test_once_it_says_0_a_question_about_anything_posted_before_finds_it(tmp_path: Path, count: int) -> None:
    with up(tmp_path / "data") as running, Asker(running.url) as asker:
        for first in (0, count):
            batch = [lineage(number) for number in range(first, first + count)]
            assert asker.client.post("/api/v1/lineage/batch", json=batch).status_code == 204
            found = caught_up(asker)
            assert found == {"seconds": 0, "log": 0, "bronze": 0, "events": 0, "gold": None}
            statuses = [
                asker.get("upstream", namespace=LAKE, dataset=f"out/{number}").status_code
                for number in range(first, first + count)
            ]
            assert statuses == [200] * count


@pytest.mark.slow
@pytest.mark.parametrize(("role", "station"), [("parser", "log"), ("index", "bronze")])
def test_while_an_event_waits_anywhere_an_unknown_name_is_behind_and_then_it_is_known_or_404(
    tmp_path: Path, role: str, station: str
) -> None:
    asked = {"namespace": LAKE, "dataset": "out/2"}
    with up(tmp_path / "data") as running, Asker(running.url) as asker:
        asker.post(lineage(1))
        asker.refused("upstream", 404, **asked)
        with held(running, role):
            assert asker.client.post("/api/v1/lineage", json=lineage(2)).status_code == 200
            found = asker.ask("freshness")
            while not found[station]:  # the event moves from the log to the lake while the index is suspended
                rest()
                found = asker.ask("freshness")
            assert found["seconds"] == found[station] > 0
            for question, parameters in (
                ("upstream", asked), ("impact", {**asked, "dataset": "out/1", "column": "y"}),
                (f"runs/{uuid(1002)}/lineage", {}), ("unused", asked), ("timeline", asked),
            ):  # fmt: skip
                refused = asker.refused(question, 503, **parameters)
                assert refused["behind"] > 0
                assert f"waits in the {'log' if station == 'log' else 'lake'}" in refused["error"]
                assert "Ask again" in refused["fix"]
                assert asker.get(question, **parameters).headers["retry-after"] == "1"
            assert asker.ask("upstream", namespace=LAKE, dataset="out/1")["columns"], (
                "the server must answer about known datasets"
            )
            ready = asker.client.get("/health/ready")
            assert (ready.status_code, ready.json()["freshness"]["seconds"] > 0) == (200, True)
            late = ready.json()["components"]["lake" if station == "log" else "index"]
            assert late.startswith("the oldest event that is not in the")
            told = asker.client.get("/metrics").text
            assert f'headwater_waiting_seconds{{station="{station}"}} 0.0\n' not in told
            assert "headwater_freshness_seconds 0.0\n" not in told
            assert "headwater_behind_events 1.0\n" in told
            assert "headwater_index_set_aside_events 0.0\n" in told
            lag = asker.ask("audit")["index"]
            assert (lag["events"], lag["seconds"] > 0, lag["set_aside"]) == (1, True, 0)
            assert "headwater_findings{" not in told, (
                "without a comparison, no metric may claim that everything is in order"
            )
            marquez = asker.client.get(f"/api/v1/jobs/runs/{uuid(1002)}")
            assert (marquez.status_code, marquez.json()["code"]) == (503, 503)
            assert marquez.headers["retry-after"] == "1"
            assert "behind" in marquez.json()["message"]
            said = headwater("upstream", "out/2", "--data", running.folder)
            assert said.returncode == 3
            assert "answers are behind by" in said.stderr
        caught_up(asker)
        assert asker.ask("upstream", **asked)["columns"]
        refused = asker.refused("upstream", 404, namespace=LAKE, dataset="out/3")
        assert set(refused) == {"error", "field", "fix", "nearest"}
        assert asker.client.get(f"/api/v1/jobs/runs/{uuid(1003)}").status_code == 404


class Place:
    """A log, a lake and an index without servers, and the freshness of the index."""

    def __init__(self, folder: Path) -> None:
        self.world = World(folder)
        settings = self.world.settings
        self.home = open_index_home(folder)
        self.rules = open_rules(settings)
        self.open_views = until_end(ViewOpener(self.home, self.rules))
        readers = reader_opener(settings, folder)
        for reader in readers():
            until_end(reader)
        self.freshness: FreshnessMeter = open_freshness(settings, folder, readers)
        self._follower = until_end(IndexFollower(self.home, self.world.bronze))

    def parse(self) -> None:
        parser = self.world.parser()
        while parser.commit_next():
            pass

    def index(self) -> None:
        while self.index_once():
            pass

    def index_once(self) -> int:
        return self._follower.process_batches(self.rules.current_rules().names)

    def upstream(self, **asked: str) -> Any:
        return ask(self.open_views, "upstream", asked)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path / "data")


def test_each_station_counts_what_waits_in_it(place: Place) -> None:
    place.world.append(event("r"))
    waiting = place.freshness.count_waiting()
    assert waiting.worst_s == waiting.log_s > 0 == waiting.bronze_s
    assert (waiting.log_events, waiting.bronze_events) == (1, 0)
    place.parse()
    waiting = place.freshness.count_waiting()
    assert waiting.worst_s == waiting.bronze_s > 0 == waiting.log_s
    assert (waiting.log_events, waiting.bronze_events) == (0, 1)
    place.index()
    assert place.freshness.count_waiting() == NOTHING
    place.world.append(event("r"), b"no event")
    place.parse()
    assert place.freshness.count_waiting() == NOTHING, (
        "duplicates and rejected records are not events that answers could include"
    )


@pytest.mark.slow
def test_an_event_that_comes_between_the_question_and_the_look_is_answered(place: Place) -> None:
    place.world.append(event("r"))
    place.parse()
    place.index()
    place.world.append(event("s").replace(b'"target"', b'"other"'))

    def question() -> Any:
        try:
            return place.upstream(dataset="other")
        finally:
            place.parse()
            place.index()

    assert place.freshness.ask_or_report_delay(question)["columns"]
    with pytest.raises(NotKnown, match="No dataset 'none'"):
        place.freshness.ask_or_report_delay(lambda: place.upstream(dataset="none"))


def test_a_clock_ahead_of_ours_hides_no_event(place: Place) -> None:
    place.world.append(event("r"))
    place.world.age(-1)
    assert place.freshness.count_waiting().log_s > 0
    place.parse()
    assert place.freshness.count_waiting().bronze_s > 0


def test_an_event_behind_a_gap_of_the_log_counts_and_a_note_of_refusals_does_not(place: Place) -> None:
    place.world.append(note(), kind=RecordKind.REFUSAL)
    assert place.freshness.count_waiting() == NOTHING
    place.world.append_to_end_of_segment(event("r")).unlink()
    place.world.append(event("s"))
    assert place.freshness.count_waiting().log_s > 0


def test_while_another_index_is_built_the_one_that_answers_counts(place: Place) -> None:
    place.world.append(event("r"))
    place.parse()
    place.index()
    rules = place.world.folder / "rules"
    rules.mkdir()
    (rules / "names.yaml").write_text('version: 1\naliases:\n- {alias: mine, namespace: "s3://gold", name: daily}\n')
    place.world.append(event("s"))
    place.parse()
    assert place.index_once(), (
        "the index for the new rules contains both events, but answers still come from the old index"
    )
    assert place.freshness.count_waiting().bronze_s > 0
    assert not place.index_once()
    assert place.freshness.count_waiting() == NOTHING


def test_gold_says_when_it_last_took_events_and_how_old_the_oldest_is_that_it_lacks(place: Place) -> None:
    place.world.append(event("r"))
    place.parse()
    assert place.freshness.freshness_answer().gold is None
    gold_folder, log = place.world.folder / "lake" / "gold", place.world.reader().source
    write_deltalake(gold_folder / "generations", arrow_batch(GENERATIONS, [("gold", "g1", "rules")]))
    position = {
        "part": "position",
        "log": log.log,
        "incarnation": log.epoch,
        "partition": log.partition,
        "sequence": 1,
    }
    state = arrow_batch(STATE, [tuple(map(position.get, STATE.columns))])
    write_deltalake(place.world.folder / "lake" / "silver" / "g1" / "state", state)
    gold = place.freshness.freshness_answer().gold
    assert gold
    assert gold.seconds == 0
    assert gold.last_pass.endswith("Z")
    place.world.append(event("s"))
    assert gold_lacks_s(place) > 0
    place.parse()
    assert gold_lacks_s(place) > 0


def gold_lacks_s(place: Place) -> float:
    gold = place.freshness.freshness_answer().gold
    assert gold
    return gold.seconds


@pytest.mark.slow
def test_a_question_about_the_past_sees_a_late_event_that_changes_nothing_now(place: Place) -> None:
    def writes(number: int, second: float, column: str) -> bytes:
        output = made((LAKE, "out"), {"x": [source((LAKE, "in"), column, CLEAR)]}, columns="x")
        return json.dumps(run(number, second, output, job="same")).encode()

    def then() -> set[str]:
        return {each["column"] for each in place.upstream(dataset="out", asOf=at(25), view="newest")["columns"]}

    place.world.append(writes(1, 10, "a"), writes(2, 30, "b"))
    place.parse()
    place.index()
    assert then() == {"a"}
    place.world.append(writes(3, 20, "c"))
    place.parse()
    place.index()
    assert place.freshness.count_waiting() == NOTHING
    assert then() == {"c"}
