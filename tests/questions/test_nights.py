"""Incidents in the morning after a night of 300 DAGs, a dbt project and Spark applications."""

import json
import random
from collections.abc import Iterator
from typing import Any, Literal

import pytest

from tests.support.data.night import Incident, Night, night
from tests.support.data.parsing import World
from tests.support.data.shop import Asker, up

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

_BATCH = 1_000


@pytest.fixture(
    scope="module",
    # night 2 gives figures: no rule was written against it
    params=[1, *(pytest.param(number, marks=pytest.mark.long) for number in (2, 3))],
)
def morning(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Asker, Night]]:
    """Give a Headwater that has all events of a night, which came in no order."""
    number: Literal[1, 2, 3] = request.param
    found = night(number)
    folder = tmp_path_factory.mktemp("night") / "data"
    world, events = World(folder), random.Random(number).sample(found.events, len(found.events))
    for first in range(0, len(events), _BATCH):
        world.append(*events[first : first + _BATCH])
    parser = world.parser()
    while parser.commit_next():
        pass
    with up(folder) as running, Asker(running.url) as asker:
        asker.wait_for("runs", limit=1)
        yield asker, found


def test_the_incidents_are_those_that_a_person_would_list(morning: tuple[Asker, Night]) -> None:
    asker, expected = morning
    answer = asker.ask("incidents", asOf=expected.moment.isoformat().replace("+00:00", "Z"), limit=1000)
    found = {_incident(each) for each in answer["items"]}
    assert len(answer["items"]) == len(found), "no incident is listed twice"
    missing, unexpected = expected.incidents - found, found - expected.incidents
    assert not missing, missing
    assert not unexpected, unexpected


def test_failed_runs_have_the_error_that_their_producer_sent(morning: tuple[Asker, Night]) -> None:
    asker, expected = morning
    answer = asker.ask("incidents", asOf=expected.moment.isoformat().replace("+00:00", "Z"), limit=1000)
    errors = {_incident(each): json.dumps(each["error"]) for each in answer["items"] if each["kind"] == "run.failed"}
    assert {each for each, error in errors.items() if expected.errors[each.cause or ""] not in error} == set()


def test_the_failed_runs_are_listed(morning: tuple[Asker, Night]) -> None:
    asker, expected = morning
    listed = asker.ask("runs", state="FAIL", limit=1000)["items"]
    found = {each["id"]: (each["job"]["namespace"], each["job"]["name"]) for each in listed}
    assert found == expected.failed_runs
    if expected.incidents:
        assert (len(found), len(expected.test_runs)) == (20, 4), "16 runs of 8 causes, and those of failed tests"


def test_health_lists_the_jobs_of_open_failures(morning: tuple[Asker, Night]) -> None:
    asker, expected = morning
    listed = asker.ask("health", status="failed", limit=1000)["items"]
    failed = {(each["namespace"], each["name"]) for each in listed if each["kind"] == "job"}
    causes = {each.subject for each in expected.incidents if each.kind == "run.failed" and each.state == "open"}
    assert causes <= failed
    assert bool(failed) == bool(causes)


def _incident(item: Any) -> Incident:
    """Return an item of the answer as the expectation describes it."""
    subject = item["subject"]
    check = (subject["column"], subject["test"]) if item["kind"] == "test.failed" else None
    failures = [each["id"] for each in item["failures"]]
    return Incident(
        item["kind"],
        (subject["namespace"], *([subject["name"]] if subject["name"] else [])),
        item["state"],
        check,
        item["severity"],
        failures[0] if failures else None,
        frozenset(failures),
        frozenset((each["namespace"], each["dataset"]) for each in item["affected"]),
    )
