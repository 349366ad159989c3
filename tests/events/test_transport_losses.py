"""A transport's report of lost events is stored as an event like any other."""

import json
from typing import Any

import pytest

from headwater.events.envelope import read_envelope
from headwater.events.event import Event
from headwater.events.event_reader import EventReader
from headwater.events.transport_losses import loss_event
from headwater.events.validation import validate_event
from tests.support.data.made_events import body, run_event

LOST = {
    "transport": "onelake",
    "application": "application_1772_0001",
    "applicationName": "nightly",
    "dropped": 12,
    "queueFull": 11,
    "unserialisable": 1,
    "since": "2026-03-01T23:59:59.500Z",
    "until": "2026-03-02T00:00:01.500Z",
}


def line(**members: Any) -> bytes:
    return json.dumps({"headwater": LOST | members}).encode() + b"\n"


def event_of(text: bytes) -> dict[str, Any]:
    found = loss_event(text)
    assert found is not None
    decoded: dict[str, Any] = json.loads(found)
    return decoded


def test_a_line_of_losses_becomes_a_valid_job_event_that_says_all_of_it() -> None:
    event = event_of(line())

    assert [problem for problem in validate_event(event) if problem.severity == "error"] == []
    assert event["eventTime"] == "2026-03-02T00:00:01.500Z"
    assert (event["job"]["namespace"], event["job"]["name"]) == ("headwater", "nightly")
    told = {name: value for name, value in LOST.items() if name != "applicationName"}
    facet = event["job"]["facets"]["headwater_transportLosses"]
    assert {name: value for name, value in facet.items() if not name.startswith("_")} == told


def test_the_job_is_of_the_namespace_that_the_line_names() -> None:
    found = loss_event(line(namespace="fabric/Sales"))

    assert found is not None
    assert read_envelope(found).namespace == "fabric/Sales"


def test_a_line_taken_twice_is_one_event_and_two_losses_are_two() -> None:
    texts = [loss_event(each) for each in (line(), line(), line(dropped=13, queueFull=12))]

    ids = [event.id for event in EventReader().read([text for text in texts if text]) if isinstance(event, Event)]

    assert len(ids) == 3
    assert ids[0] == ids[1] != ids[2]


@pytest.mark.parametrize(
    "other",
    [
        body(run_event()),
        body(run_event(producer="headwater")),
        b"",
        b'{"headwater": {"dropped": 1',
        b'{"headwater": "nightly"}',
        b'{"headwater": {"dropped": 1}}',
        b'{"headwater": ' + b"[" * 100_000,
        b'{"headwater": {"applicationName": "\xff", "dropped": 1, "until": "2026"}}',
        line(until=""),
        line(dropped=-1),
        line()[:-2] + b', "run": {"runId": "1"}}',
    ],
)
def test_no_other_line_is_one(other: bytes) -> None:
    assert loss_event(other) is None
