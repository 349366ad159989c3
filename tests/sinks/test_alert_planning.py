"""Which messages are due: by routes, quiet hours, limits, and what was sent before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from headwater.common.errors import WrongSetting
from headwater.events.times import iso_time
from headwater.sinks.targets.alerts.options import AlertOptions
from headwater.sinks.targets.alerts.planning import Due, plan
from headwater.sinks.targets.alerts.routing import destinations
from headwater.sinks.targets.alerts.server import ReportedIncident
from headwater.sinks.targets.alerts.station_state import StationState, decode_state, encode_state
from tests.support.data.alert_world import alert_sink

HOUR = 3_600_000_000
NIGHT = int(datetime(2026, 3, 3, 1, tzinfo=UTC).timestamp()) * 1_000_000


def incident(name: str, opened_us: int = NIGHT, resolved_us: int | None = None, **more: Any) -> ReportedIncident:
    item: dict[str, Any] = {
        "id": f"id-of-{name}", "kind": "run.failed", "severity": "error", "due": None, "error": None, "failures": [],
        "state": "open" if resolved_us is None else "resolved", "opened": iso_time(opened_us), "failureCount": 1,
        "subject": {"kind": "job", "namespace": "etl", "name": name}, "resolved": iso_time(resolved_us),
        "summary": f"Job {name} failed", "affected": [], "affectedCount": 0, "owners": [], "downstreamOwners": [],
        "tags": [], "downstreamTags": [],
    }  # fmt: skip
    return msgspec.convert(item | more, ReportedIncident)


def options(*routes: Any, **more: Any) -> AlertOptions:
    """Return the options of a sink to Slack."""
    given = {"token": {"env": "TOKEN"}, "routes": routes or ({"to": "#all"},)} | more
    found = alert_sink("slack", "http://127.0.0.1:1", **given).options
    assert isinstance(found, AlertOptions)
    return found


class Station:
    """A sink that sends whatever is due."""

    def __init__(self, *routes: Any, **more: Any) -> None:
        self.options = options(*routes, **more)
        self.state = StationState(NIGHT - HOUR, NIGHT - HOUR)

    def query(self, at_us: int, *incidents: ReportedIncident, edits: bool = True, not_before_us: int = 0) -> list[Due]:
        due, state = plan(self.state, incidents, self.options, at_us=at_us, edits=edits, not_before_us=not_before_us)
        named = ((entry, each.reference or each.id) for each in due for entry in each.entries)
        stored = {entry.key: msgspec.structs.replace(entry, reference=reference) for entry, reference in named}
        state = state.with_entries(stored)
        for each in due[:100]:
            state = state.with_message(each.to, at_us) if each.counts else state
        self.state = decode_state(encode_state(state)) or self.state
        return due


def shown(due: Sequence[Due]) -> list[tuple[str, str, tuple[str, ...]]]:
    return [
        (each.kind, each.to, tuple(entry.incident.removeprefix("id-of-") for entry in each.entries)) for each in due
    ]


def test_an_incident_is_opened_changed_and_resolved_once() -> None:
    station, changed = Station(), incident("a", affectedCount=3)
    assert shown(station.query(NIGHT, incident("a"))) == [("opened", "#all", ("a",))]
    assert station.query(NIGHT + 1, incident("a")) == []
    assert shown(station.query(NIGHT + 2, changed)) == [("changed", "#all", ("a",))]
    assert station.query(NIGHT + 3, changed) == []
    over = incident("a", resolved_us=NIGHT + 4)
    assert shown(station.query(NIGHT + 5, over)) == [("resolved", "#all", ("a",))]
    assert station.query(NIGHT + 6, over) == []


def test_an_incident_that_is_no_longer_listed_has_ended() -> None:
    station = Station()
    station.query(NIGHT, incident("a"))
    (ended,) = station.query(NIGHT + 1)
    assert (ended.kind, ended.incidents, ended.entries[0].title) == ("resolved", (), "Run failed: a")


@pytest.mark.parametrize(
    ("opened_us", "not_before_us", "is_sent"),
    [
        (NIGHT - HOUR + 1_000, 0, True),
        (NIGHT - HOUR - 1_000, 0, False),  # before the first query
        (NIGHT - 60_000_000, NIGHT - 30_000_000, False),  # before a restore or a reset to now
    ],
)
def test_the_past_is_never_sent(opened_us: int, not_before_us: int, is_sent: bool) -> None:
    station = Station()
    assert bool(station.query(NIGHT, incident("a", opened_us), not_before_us=not_before_us)) == is_sent


def test_a_backfill_sends_nothing_and_an_outage_of_the_sink_loses_nothing() -> None:
    station, days = Station(), 24 * HOUR
    station.state = StationState(NIGHT - 100 * days, NIGHT - 1)
    assert station.query(NIGHT, incident("filled", NIGHT - 10 * days)) == []
    station.state = StationState(NIGHT - 100 * days, NIGHT - 5 * days)
    found = station.query(NIGHT, incident("missed", NIGHT - 3 * days), incident("old", NIGHT - 10 * days))
    assert shown(found) == [("opened", "#all", ("missed",))]


def test_an_incident_that_ended_before_it_was_seen_is_not_sent() -> None:
    assert Station().query(NIGHT + 2, incident("a", NIGHT, NIGHT + 1)) == []


def test_messages_above_the_limit_are_one_summary_and_later_ones_wait_for_the_hour() -> None:
    station, all_ = Station(max_per_hour=3), [incident(f"{n}", affectedCount=n) for n in range(6)]
    assert shown(station.query(NIGHT, *all_)) == [
        ("opened", "#all", ("5",)), ("opened", "#all", ("4",)), ("summary", "#all", ("3", "2", "1", "0")),
    ]  # fmt: skip
    late = [incident("x", NIGHT + 1), incident("y", NIGHT + 1)]
    assert station.query(NIGHT + 1, *all_, *late) == []
    x_ended = incident("x", NIGHT + 1, NIGHT + 2)
    (summary,) = station.query(NIGHT + HOUR + 1, *all_, x_ended, late[1])
    assert shown([summary]) == [("summary", "#all", ("x", "y"))]
    assert [entry.is_resolved for entry in summary.entries] == [True, False]  # held back, not lost
    ended = [incident(f"{n}", NIGHT, NIGHT + 3, affectedCount=n) for n in range(6)]
    found = station.query(NIGHT + HOUR + 2, *ended, x_ended, late[1])
    assert shown(found) == [("resolved", "#all", ("5",)), ("resolved", "#all", ("4",))]
    (rest,) = station.query(NIGHT + 3 * HOUR, *ended, x_ended, late[1])
    assert shown([rest]) == [("resolved", "#all", ("3", "2", "1", "0"))]  # one message for the thread of the summary


def test_quiet_hours_hold_back_what_is_sent_together_afterwards() -> None:
    berlin = {"begin": "22:00", "end": "07:00", "zone": "Europe/Berlin", "days": ["mon"], "severities": ["warning"]}
    station, warnings = Station(quiet_hours=[berlin]), [incident(name, severity="warning") for name in "ab"]
    assert shown(station.query(NIGHT, *warnings, incident("c"))) == [("opened", "#all", ("c",))]  # Tuesday, 02:00
    six, seven = NIGHT + 5 * HOUR - 1, NIGHT + 5 * HOUR
    assert station.query(six, *warnings, incident("c")) == []
    assert shown(station.query(seven, *warnings, incident("c"))) == [("summary", "#all", ("a", "b"))]
    lone = incident("d", NIGHT + 20 * HOUR, severity="warning")
    assert shown(station.query(NIGHT + 21 * HOUR, lone, *warnings, incident("c"))) == [("opened", "#all", ("d",))]


def test_a_late_event_that_changes_the_id_continues_the_message() -> None:
    station = Station()
    station.query(NIGHT, incident("a"))
    assert shown(station.query(NIGHT + 1, incident("a", NIGHT - 1, id="another"))) == []
    assert [each.incident for each in station.state.entries] == ["another"]


def test_what_is_stored_stays_bounded_and_sends_nothing_again() -> None:
    station, count = Station(max_per_hour=9_000), 5_200
    all_ = [incident(f"{n}", NIGHT + 1_000 * n) for n in range(count)]
    assert len(station.query(NIGHT, *all_)) == count
    assert station.query(NIGHT + 1, *all_) == []
    assert len(station.state.entries) == 5_000
    assert station.query(NIGHT + 2, *all_) == []
    station.query(NIGHT + 200 * HOUR)
    station.query(NIGHT + 300 * HOUR)
    assert len(station.state.entries) == 0


def owner(name: str) -> dict[str, Any]:
    return {"name": name, "type": None}


ROUTED = incident(
    "orders", kind="volume.unusual", severity="warning", tags=["pii", "tier=1"], downstreamTags=["board"],
    subject={"kind": "dataset", "namespace": "s3://lake", "name": "orders"},
    owners=[owner("team:data"), owner("team:finance")], downstreamOwners=[owner("team:finance")],
    affected=[{"namespace": "s3://lake", "dataset": "orders", "distance": 0},
              {"namespace": "s3://mart", "dataset": "sums", "distance": 1}],
)  # fmt: skip


@pytest.mark.parametrize(
    ("route", "fits"),
    [
        ({}, True),
        ({"namespaces": ["s3://l*"]}, True),
        ({"namespaces": ["s3://mart"]}, False),
        ({"namespaces": ["s3://mart"], "downstream": True}, True),
        ({"owners": ["team:data"]}, True),
        ({"owners": ["team:finance"]}, False),
        ({"owners": ["team:finance"], "downstream": True}, True),
        ({"tags": ["tier"]}, True),
        ({"tags": ["tier=1"]}, True),
        ({"tags": ["tier=2"]}, False),
        ({"tags": ["board"]}, False),
        ({"tags": ["board"], "downstream": True}, True),
        ({"kinds": ["volume.*"]}, True),  # a kind that this sink does not know
        ({"kinds": ["run.*"]}, False),
        ({"severities": ["error"]}, False),
        ({"severities": ["warning"], "kinds": ["volume.unusual"], "owners": ["team:*"]}, True),
    ],
)
def test_a_route_fits_by_namespace_owner_tag_kind_and_severity(route: dict[str, Any], fits: bool) -> None:
    routes = options({"to": "#x", **route}, {"to": "#others", "fallback": True}).routes
    assert destinations(routes, ROUTED) == (["#x"] if fits else ["#others"])


def test_each_route_that_matches_sends_and_a_destination_gets_it_once() -> None:
    routes = options({"to": ["#a", "#b"]}, {"to": "#b"}, {"to": "#c", "kinds": ["none"]}).routes
    assert destinations(routes, ROUTED) == ["#a", "#b"]


@pytest.mark.parametrize(
    ("kind", "given", "words"),
    [
        ("slack", {"token": {"env": "T"}}, "add `routes`"),
        ("slack", {"routes": [{"to": "#a"}]}, "either `token"),
        ("slack", {"urls": {"a": {"env": "U"}}, "routes": [{"to": "b"}]}, "not a name in `urls`"),
        ("slack", {"token": {"env": "T"}, "routes": [{"to": "#a"}], "only": {"jobs": ["x"]}}, "Use `routes`"),
        ("slack", {"token": {"env": "T"}, "routes": [{"to": "#a"}], "begin": "start"}, "begin"),
        ("teams", {"urls": {"a": "https://x"}, "routes": [{"to": "a"}]}, "must not contain a secret"),
        ("email", {"server": "m", "sender": "no", "routes": [{"to": "a@b.c"}]}, "`sender` is not an e-mail"),
        ("email", {"server": "m", "sender": "a@b.c", "routes": [{"to": "x\nBcc: y@z"}]}, "not an e-mail address"),
        ("email", {"server": "m", "sender": "a@b.c", "user": "u", "routes": [{"to": "a@b.c"}]}, "belong together"),
        ("slack", {"token": {"env": "T"}, "routes": [{"to": "#a"}], "quiet_hours": [{"zone": "Moon"}]}, "time zone"),
        ("slack", {"token": {"env": "T"}, "routes": [{"to": "#a"}], "quiet_hours": [{"end": "24:61"}]}, "time of day"),
    ],
)  # fmt: skip
def test_wrong_options_are_explained(kind: str, given: dict[str, Any], words: str) -> None:
    with pytest.raises(WrongSetting, match=words):
        alert_sink(kind, "http://127.0.0.1:1", **given)
