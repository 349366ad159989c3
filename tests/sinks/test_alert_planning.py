"""Which messages are due: by routes, quiet hours, limits, and what was sent before."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from headwater.common.errors import WrongSetting
from headwater.events.times import iso_time
from headwater.sinks.targets.alerts import planning
from headwater.sinks.targets.alerts.options import AlertOptions, checked_webhook_address
from headwater.sinks.targets.alerts.planning import Due, plan
from headwater.sinks.targets.alerts.posting import mask_address
from headwater.sinks.targets.alerts.routing import destinations
from headwater.sinks.targets.alerts.server import ReportedIncident
from headwater.sinks.targets.alerts.slack import SlackWebhooks
from headwater.sinks.targets.alerts.station_state import StationState, decode_state, encode_state
from headwater.sinks.targets.alerts.target import Message, message_text
from headwater.sinks.targets.alerts.text import incident_text
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


def late(dataset: str, opened_us: int = NIGHT, **more: Any) -> ReportedIncident:
    subject = {"kind": "dataset", "namespace": "s3://n", "name": dataset}
    return incident(dataset, opened_us, kind="dataset.late", due=iso_time(opened_us), subject=subject, **more)


def test_an_incident_that_is_no_longer_listed_is_not_called_resolved() -> None:
    station = Station()
    station.query(NIGHT, incident("a"), late("d"))
    affected = [{"namespace": "s3://n", "dataset": "d", "distance": 0}]
    run = incident("job", NIGHT + 1, affected=affected, affectedCount=1)
    found = {each.kind: each for each in station.query(NIGHT + 2, incident("a"), run)}
    assert shown([*found.values()]) == [("opened", "#all", ("job",)), ("unlisted", "#all", ("d",))]
    text = message_text(found["unlisted"], (), "https://h")
    assert (text.title, text.is_resolved, text.lines) == (
        "No longer listed: Dataset late: d", False, ("See: Run failed: job",),
    )  # fmt: skip
    (gone,) = station.query(NIGHT + 3, run)
    assert message_text(gone, (), "https://h")[0] == "No longer listed: Run failed: a"
    assert station.query(NIGHT + 4, run) == []
    assert shown(station.query(NIGHT + 5, late("d"), run)) == [
        ("opened", "#all", ("d",))
    ]  # it is late on its own again


QUIET = {"begin": "00:00", "end": "06:00", "zone": "UTC"}
SIX = NIGHT + 5 * HOUR


def test_an_end_in_quiet_hours_is_sent_afterwards_whatever_the_age_of_its_incident() -> None:
    station, day = Station(quiet_hours=[QUIET]), 24 * HOUR
    station.state = StationState(NIGHT - 99 * HOUR, NIGHT - 72 * HOUR)
    station.query(NIGHT - 65 * HOUR, incident("old", NIGHT - 66 * HOUR), incident("run", NIGHT - 66 * HOUR))
    station.state = msgspec.structs.replace(station.state, queried_us=NIGHT - 1)
    assert station.query(NIGHT, incident("run", NIGHT - 66 * HOUR, NIGHT - 1)) == []
    assert station.query(SIX - 1) == []  # the resolved one has left the list in the meantime
    found = station.query(SIX)
    assert shown(found) == [("unlisted", "#all", ("old",)), ("resolved", "#all", ("run",))]
    assert station.query(SIX + day) == []


def test_an_end_above_the_limit_is_not_lost() -> None:
    station = Station(max_per_hour=1)
    station.state = StationState(NIGHT - 99 * HOUR, NIGHT - 72 * HOUR)
    station.query(NIGHT - 65 * HOUR, incident("old", NIGHT - 66 * HOUR))
    station.state = station.state.with_message("#all", NIGHT)
    assert station.query(NIGHT + 1) == []
    assert shown(station.query(NIGHT + HOUR + 1)) == [("unlisted", "#all", ("old",))]


def test_what_ended_in_quiet_hours_waits_for_their_end() -> None:
    quiet = QUIET | {"severities": ["warning"]}
    station = Station(quiet_hours=[quiet])
    assert station.query(NIGHT, incident("a", severity="warning"), incident("b", severity="warning")) == []
    assert station.query(NIGHT + 1, incident("b", NIGHT, NIGHT + 1, severity="warning")) == []
    assert station.query(NIGHT + 2) == []
    (summary,) = station.query(SIX)
    assert message_text(summary, (), "https://h").lines == (
        "No longer listed: Run failed: a", "Resolved: Run failed: b",
    )  # fmt: skip


def test_a_late_write_is_as_old_as_its_detection() -> None:
    station, day = Station(), 24 * HOUR
    station.state = StationState(NIGHT - 100 * day, NIGHT - 1)
    monthly = late("monthly", NIGHT - 8 * day, detected=iso_time(NIGHT - HOUR))
    over_a_weekend = late("weekdays", NIGHT - 2 * day, detected=iso_time(NIGHT - 43 * HOUR))
    old = late("old", NIGHT - 20 * day, detected=iso_time(NIGHT - 15 * day))
    found = station.query(NIGHT, monthly, over_a_weekend, old)
    assert sorted(each.entries[0].incident for each in found) == ["id-of-monthly", "id-of-weekdays"]
    first = Station()
    assert first.query(NIGHT, late("before", NIGHT - 2 * HOUR)) == []
    assert len(first.query(NIGHT, late("after", NIGHT - 2 * HOUR, detected=iso_time(NIGHT)))) == 1


def test_a_second_incident_of_a_subject_and_one_that_returns_are_announced() -> None:
    kind: dict[str, Any] = {"kind": "dataset.emptied"}
    station = Station()
    first = station.query(NIGHT, incident("a", **kind))
    second = incident("a", NIGHT + 60_000_000, id="second", **kind)
    found = station.query(NIGHT + 61_000_000, second)
    assert shown(found) == [("opened", "#all", ("second",)), ("unlisted", "#all", ("a",))]
    (again,) = station.query(NIGHT + 62_000_000, incident("a", **kind), second)
    assert (again.kind, again.reference) == ("opened", "")
    assert again.id != first[0].id


def test_a_clock_that_was_ahead_stops_nothing() -> None:
    station, ahead = Station(max_per_hour=1), NIGHT + 72 * HOUR
    station.query(ahead)
    station.state = station.state.with_message("#all", ahead)
    assert station.query(NIGHT, edits=False) == []
    assert shown(station.query(NIGHT + 2, incident("a", NIGHT + 1))) == [("opened", "#all", ("a",))]


def test_the_bound_drops_ended_incidents_first_and_only_as_many_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MAX_ENTRIES", 50)
    station, same = Station(max_per_hour=9_000), [incident(f"{n:02}") for n in range(51)]
    station.query(NIGHT, *same)
    assert station.query(NIGHT + 1, *same) == []
    assert len(station.state.entries) == 50
    ended = [incident(f"{n:02}", NIGHT, NIGHT + 1_000) for n in range(10)]  # the first of them was dropped
    new = [incident(f"new{n}", NIGHT + 60_000_000) for n in range(9)]
    assert len(station.query(NIGHT + 61_000_000, *ended, *same[10:], *new)) == 18
    assert station.query(NIGHT + 62_000_000, *ended, *same[10:], *new) == []
    assert [each.is_resolved for each in station.state.entries] == [False] * 50


def test_held_incidents_are_bounded_and_the_summary_counts_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planning, "MAX_HELD", 30)
    station, all_ = Station(quiet_hours=[QUIET]), [incident(f"{n}") for n in range(40)]
    assert station.query(NIGHT, *all_) == []
    assert station.query(NIGHT + 1, *all_) == []
    assert len(station.state.entries) == 30
    (summary,) = station.query(SIX, *all_)
    text = message_text(summary, (), "https://h")
    assert (text.title, text.lines[-1]) == ("40 incidents were held back", "and 20 more")


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
    station.query(NIGHT + 1_000 * HOUR)
    assert len(station.state.entries) == 0


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Cannot POST /services/T0/B0/secret-of-a-webhook", "Cannot POST ***"),
        ("no secret-of-a-webhook here", "no *** here"),
        ("sig was a+b=secret1", "sig was ***"),
        ("sig=a%2Bb%3Dsecret1, but v=1", "sig=***, but v=1"),
        ("invalid_payload", "invalid_payload"),
    ],
)
def test_no_reason_contains_a_part_of_a_secret_address(text: str, shown: str) -> None:
    assert mask_address(text, "/services/T0/B0/secret-of-a-webhook?v=1&sig=a%2Bb%3Dsecret1") == shown


@pytest.mark.parametrize("text", ["http://hooks.example.org/x", "ftp://hooks.example.org/x", "https://u@h/x", "h"])
def test_a_secret_address_is_https(text: str) -> None:
    with pytest.raises(WrongSetting, match=r"urls\.one.*not an https address"):
        checked_webhook_address(text, "one")
    assert checked_webhook_address("https://hooks.example.org/x\n", "one") == "https://hooks.example.org/x"


def test_an_older_server_and_a_long_message_cost_no_link() -> None:
    found = msgspec.to_builtins(incident("a", summary="x" * 5_000, error={"message": "e" * 5_000}))
    for name in ("downstreamOwners", "tags", "downstreamTags"):
        del found[name]
    older = msgspec.convert(found, ReportedIncident)
    assert (older.downstreamOwners, older.tags, older.downstreamTags) == ([], [], [])
    text = incident_text(older, (), "https://h")._replace(summary="x" * 9_000, error="e" * 9_000, lines=("l" * 9_000,))
    due = Due("opened", "one", (), (older,))
    blocks = msgspec.json.decode(SlackWebhooks({}).render(Message(due, text, "https://h")))["blocks"]
    assert [each["text"]["text"] for each in blocks].count(
        f"<{text.link.replace('&', '&amp;')}|Open in Headwater>"
    ) == 1


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
