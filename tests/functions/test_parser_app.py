"""Azure's worker library runs the parser from the deployment package. The tests read bronze after each step."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.ownership import OWNER, ROUTES
from headwater.operations.runtime.storage import open_claims
from tests.functions.host import App, running
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World

pytestmark = pytest.mark.slow

GEO_REPLICATED = "1:{}:12"
KEYS = [{"name": "viewer", "key": "viewer-key", "roles": ["read"]}]


class Hub(World):
    """The log from which the trigger delivers, and the lake."""

    def grow(self, count: int) -> tuple[int, int]:
        """Append events. Returns their first and last sequence number."""
        first = self.tail() + 1
        self.append(*(body(run_event()) for _ in range(count)))
        return first, first + count - 1

    def all(self) -> list[int]:
        return list(range(1, self.tail() + 1))


@contextmanager
def storage_down(hub: Hub) -> Iterator[None]:
    """Replace the lake with a file."""
    bronze, away = hub.folder / "lake" / "bronze", hub.folder / "away"
    bronze.rename(away)
    bronze.write_text("no folder")
    try:
        yield
    finally:
        bronze.unlink()
        away.rename(bronze)


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    return Hub(tmp_path_factory.mktemp("parser"))


@pytest.fixture(scope="module")
def app(hub: Hub, package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[App]:
    log = tmp_path_factory.mktemp("log") / "worker.log"
    triggers = ["parser", "maintenance", "api"]
    with running(package, log, triggers=triggers, keys=KEYS, data=hub.folder, flush_s=0) as started:
        yield started


def test_the_trigger_is_indexed_with_many_binary_events_and_unlimited_retries(app: App) -> None:
    assert "error" not in app.index
    assert app.functions.keys() == {"parser", "compact", "vacuum", "catch_up", "api", "snapshot"}
    (trigger,) = app.functions["parser"]["bindings"]
    assert (trigger["type"], trigger["cardinality"], trigger["dataType"]) == ("eventHubTrigger", "MANY", "BINARY")
    assert (trigger["connection"], trigger["eventHubName"]) == ("HEADWATER_HUB", "openlineage")
    assert app.functions["parser"]["retries"] == -1


def test_a_batch_is_stored_and_its_redelivery_changes_nothing(app: App, hub: Hub) -> None:
    first, last = hub.grow(5)
    for _ in range(2):
        assert app.deliver(hub.records(first, last)) is None
        assert hub.placed() == hub.all()
    assert DeltaTable(hub.bronze.events.uri).metadata().configuration[OWNER] == "parser/function"


def test_an_event_that_was_sent_twice_is_one_event_and_one_duplicate(app: App, hub: Hub) -> None:
    first, _ = hub.grow(1)
    hub.append(hub.records(first, first)[0].body)
    assert app.deliver(hub.records(first, first + 1)) is None
    assert hub.sequences("duplicates")[-1] == first + 1
    assert hub.placed() == hub.all()


def test_overlapping_batches_are_stored_once(app: App, hub: Hub) -> None:
    first, last = hub.grow(6)
    assert app.deliver(hub.records(first, last - 2)) is None
    assert app.deliver(hub.records(first + 2, last)) is None
    assert hub.placed() == hub.all()


def test_a_gap_before_and_a_gap_inside_a_batch_are_read_from_the_log(app: App, hub: Hub) -> None:
    first, last = hub.grow(9)
    delivered = [*hub.records(first + 2, first + 3), *hub.records(last - 1, last)]
    assert app.deliver(delivered) is None
    assert hub.placed() == hub.all()
    assert "gap" not in hub.reasons().values()


def test_offsets_of_geo_replication_do_not_matter(app: App, hub: Hub) -> None:
    first, last = hub.grow(3)
    assert app.deliver(hub.records(first, last), offset=GEO_REPLICATED) is None
    assert hub.placed() == hub.all()


def test_a_poison_record_is_rejected_and_its_neighbours_are_stored(app: App, hub: Hub) -> None:
    first, _ = hub.grow(1)
    hub.append(b"\xff\xfe no event", body(run_event()))
    assert app.deliver(hub.records(first, first + 2)) is None
    assert hub.reasons()[first + 1] == "not_utf8"
    assert hub.placed() == hub.all()


def test_with_the_storage_down_the_delivery_fails_and_the_same_delivery_succeeds_later(app: App, hub: Hub) -> None:
    first, last = hub.grow(4)
    with storage_down(hub):
        failures = [app.deliver(hub.records(first, last)) for _ in range(2)]
    assert all(failures)
    assert "LakeUnavailable: Cannot use the Delta table" in str(failures)
    assert app.deliver(hub.records(first, last)) is None
    assert hub.placed() == hub.all()


def test_a_lake_of_another_route_stops_the_trigger_until_it_is_handed_over(app: App, hub: Hub) -> None:
    hub.bronze.events.set_properties({OWNER: "spark/stream"})
    first, last = hub.grow(2)
    with storage_down(hub):
        app.deliver(hub.records(first, last))  # an open parser has already checked the owner of the lake
    failure = app.deliver(hub.records(first, last))
    assert failure
    assert failure.startswith("WrongSetting: The lake belongs to the ingest route 'spark/stream'")
    reason = "Partition 0: The lake belongs to the ingest route 'spark/stream'"
    assert reason.replace("0:", "0 waits, nothing is lost:") in app.logged()
    audit, ready, in_trouble = told_of_the_parser(app)
    assert (audit["balanced"], in_trouble) == (False, 1)
    assert audit["trouble"].startswith(f"The parser has stopped: {reason}")
    assert ready["components"]["parser"].startswith(reason)
    hub.bronze.events.set_properties({OWNER: "parser/function"})
    assert app.deliver(hub.records(first, last)) is None
    assert hub.placed() == hub.all()
    audit, ready, in_trouble = told_of_the_parser(app)
    assert (audit["balanced"], audit["trouble"], in_trouble) == (True, None, 0)
    assert "parser" not in ready["components"]


def told_of_the_parser(app: App) -> tuple[Any, Any, float]:
    """Return the audit, readiness, and the metric for trouble of the parser."""
    asked = ("/api/headwater/v1/audit", "/health/ready", "/metrics")
    audit, ready, metrics = (
        app.request("api", method="GET", target=each, x_functions_key="viewer-key") for each in asked
    )
    found = re.search(r"^headwater_parser_in_trouble (.*)$", metrics.body.decode(), re.MULTILINE)
    assert found
    return audit.json(), ready.json(), float(found[1])


def test_a_partition_that_another_instance_went_on_with_is_in_trouble_no_more(app: App, hub: Hub) -> None:
    hub.bronze.events.set_properties({OWNER: "spark/stream"})
    first, last = hub.grow(1)
    with storage_down(hub):
        app.deliver(hub.records(first, last))
    assert app.deliver(hub.records(first, last))
    assert told_of_the_parser(app)[2] == 1
    hub.bronze.events.set_properties({OWNER: "parser/function"})
    PartitionParser(hub.reader(), hub.bronze, open_claims(hub.settings), ROUTES["function"], 30).commit_next()
    assert hub.placed() == hub.all()
    assert app.tick("catch_up") is None
    assert told_of_the_parser(app)[2] == 0


def test_what_no_delivery_brought_is_caught_up_once_it_is_overdue(app: App, hub: Hub) -> None:
    hub.grow(3)
    before = hub.placed()
    assert app.tick("catch_up") is None
    assert hub.placed() == before
    hub.age(days=1)
    assert app.tick("catch_up") is None
    assert hub.placed() == hub.all()


def test_maintenance_leaves_one_file_and_every_row(app: App, hub: Hub) -> None:
    first, last = hub.grow(2)
    assert app.deliver(hub.records(first, last)) is None
    assert app.tick("compact") is None
    assert app.tick("vacuum") is None
    days = {row["received_date"] for row in DeltaTable(hub.bronze.events.uri).to_pyarrow_table().to_pylist()}
    assert len(DeltaTable(hub.bronze.events.uri).file_uris()) == len(days)
    assert hub.placed() == hub.all()
    assert "put off" not in app.logged()


def test_the_api_answers_from_the_same_lake(app: App, hub: Hub) -> None:
    answer = app.request("api", method="GET", target="/api/headwater/v1/events?limit=1", x_functions_key="viewer-key")
    assert answer.status == 200
    assert answer.json()["totalCount"] == len(hub.sequences("events"))
    assert app.request("api", method="GET", target="/api/headwater/v1/events").status == 401
    assert app.request("api", method="GET", target="/nothing", x_functions_key="viewer-key").status == 404
    assert json.loads(answer.body)["truncated"]


def test_the_dashboard_is_in_the_package_and_public(app: App) -> None:
    page = app.request("api", method="GET", target="/lineage", accept="text/html")
    assert (page.status, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'self'" in page.headers["content-security-policy"]
    script = re.search(r'src="(/assets/[^"]+\.js)"', page.body.decode())
    assert script
    found = app.request("api", method="GET", target=script[1])
    assert (found.status, found.headers["content-type"].partition(";")[0]) == (200, "text/javascript")
