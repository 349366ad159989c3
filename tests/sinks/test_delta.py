"""A Delta table of whole runs: its rows, read only with delta-rs and pyarrow, contain no duplicates."""

import json
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.common.errors import WrongSetting
from headwater.sinks.control.service import preview_payloads
from headwater.sinks.interface.target_registry import open_sink
from headwater.tables import SENT_RUNS
from tests.support.data.made_events import dataset_event, job_event, run_event
from tests.support.data.sink_world import SinkWorld, bodies, events, no_token, sink, stored
from tests.support.paths import ROOT
from tests.support.servers.azurite import KEY, Storage
from tests.support.servers.sink_target import eventually

pytestmark = pytest.mark.slow

FACET = {"_producer": "https://example.org", "_schemaURL": "https://example.org/facet.json"}
RUN = {"runId": "0195C000-0000-7000-9000-000000000001"}
PARENT = {"run": {"runId": "0195c000-0000-7000-9000-00000000000a"}, "job": {"namespace": "tests", "name": "app"}}


def at(minute: int, **members: Any) -> dict[str, Any]:
    return run_event(**{"run": RUN, "eventTime": f"2026-03-01T12:{minute:02}:00Z"} | members)


def delta(table: Path, **options: Any) -> Any:
    return sink(type="delta", table=str(table), every="1ms", **options)


def rows(table: Path) -> list[dict[str, Any]]:
    """Return the rows of a table in the order of their events."""
    found = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: (row["partition"], row["sequence"]))


def keys(table: Path) -> list[str]:
    return [row["run_id"] for row in rows(table)]


def test_a_run_is_a_row_at_its_end_and_jobs_datasets_and_open_runs_are_none(tmp_path: Path) -> None:
    world, table = SinkWorld(tmp_path / "data"), tmp_path / "out" / "runs"
    start = at(0, eventType="START", inputs=[{"namespace": "n", "name": "i"}])
    start["run"] = RUN | {"facets": {"parent": FACET | PARENT}}
    end = at(2, eventType="FAIL", outputs=[{"namespace": "n", "name": "o"}])
    world.store(*bodies([start, run_event(eventType="START"), job_event(), dataset_event()]))
    world.settle(delta(table))
    assert not table.exists()
    world.store(*bodies([end]))
    world.settle(delta(table))
    (row,) = rows(table)
    event, partition = json.loads(row.pop("event")), row.pop("partition")
    assert row.pop("received_at").date() == row.pop("received_date")
    assert {name: row.pop(name) for name in ("log", "incarnation")} == {"log": "local", "incarnation": epoch(world)}
    assert row == {
        "run_key": RUN["runId"].lower(),
        "run_id": RUN["runId"],
        "job_namespace": "tests",
        "job_name": "job",
        "state": "FAIL",
        "started_at": datetime(2026, 3, 1, 12, 0, tzinfo=UTC),
        "ended_at": datetime(2026, 3, 1, 12, 2, tzinfo=UTC),
        "last_event_at": datetime(2026, 3, 1, 12, 2, tzinfo=UTC),
        "producer": end["producer"],
        "parent_run_id": PARENT["run"]["runId"],
        "inputs": [{"namespace": "n", "name": "i"}],
        "outputs": [{"namespace": "n", "name": "o"}],
        "sequence": 5,
    }
    assert (event["eventType"], event["inputs"], partition) == (
        "FAIL",
        [{"namespace": "n", "name": "i", "facets": {}}],
        "0",
    )


def epoch(world: SinkWorld) -> str:
    return str(world.bronze.events.run_query("SELECT incarnation FROM t LIMIT 1").column("incarnation")[0].as_py())


def test_what_is_delivered_again_is_there_once_and_a_late_event_adds_a_newer_row(tmp_path: Path) -> None:
    world, table = SinkWorld(tmp_path / "data"), tmp_path / "runs"
    made = events(3)
    world.store(*bodies([*made, at(0)]))
    world.settle(delta(table))
    world.ledger.reset("out", {})
    world.store(*bodies(events(1)))
    world.settle(delta(table))
    assert len(keys(table)) == 5
    world.store(*bodies([at(1, eventType="OTHER", outputs=[{"namespace": "n", "name": "late"}])]))
    world.settle(delta(table))
    old, new = (row for row in rows(table) if row["run_id"] == RUN["runId"])
    assert (old["outputs"], new["outputs"]) == ([], [{"namespace": "n", "name": "late"}])
    assert old["sequence"] < new["sequence"]


def test_a_commit_whose_position_was_not_kept_is_not_made_twice_however_the_batch_grows(tmp_path: Path) -> None:
    some = stored(bodies(events(6)))
    for cut in (2, 4):
        with closing(open_sink(delta(tmp_path / str(cut)), no_token)) as target:  # type: ignore[arg-type]
            target.deliver(target.convert(some[:cut]))
        with closing(open_sink(delta(tmp_path / str(cut)), no_token)) as target:  # type: ignore[arg-type]
            target.deliver(target.convert(some))
            target.deliver(target.convert(some[3:]))
        assert [row["sequence"] for row in rows(tmp_path / str(cut))] == [1, 2, 3, 4, 5, 6]


def test_two_sinks_of_other_filters_write_one_table_without_losing_anything(tmp_path: Path) -> None:
    world, table = SinkWorld(tmp_path / "data"), tmp_path / "runs"
    made = [run_event(job={"namespace": "tests", "name": name}) for name in ("a", "b", "a", "b")]
    world.store(*bodies(made))
    for name in ("b", "a"):
        world.ledger.reset("out", {})
        world.settle(delta(table, only={"jobs": [name]}))
    assert keys(table) == [event["run"]["runId"] for event in made]


def test_a_table_that_cannot_be_written_is_waited_for(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path / "data")
    world.store(*bodies(events(1)))
    (tmp_path / "runs").write_text("a file is in the way")
    with world.running(delta(tmp_path / "runs")) as runner:
        eventually(lambda: "Cannot use the Delta table" in (runner.status.trouble or ""))
        (tmp_path / "runs").unlink()
        eventually(lambda: (tmp_path / "runs" / "_delta_log").exists() and len(keys(tmp_path / "runs")) == 1)


def test_a_check_makes_the_table_with_the_columns_of_the_documentation(tmp_path: Path) -> None:
    with closing(open_sink(delta(tmp_path / "runs"), no_token)) as target:  # type: ignore[arg-type]
        assert target.check() == "the table exists, at version 0"
    names = [field.name for field in DeltaTable(str(tmp_path / "runs")).schema().fields]
    section = (ROOT / "docs/reference/sinks.md").read_text().split("## Delta table")[1].split("\n## ")[0]
    assert set(names) == {*SENT_RUNS.columns}
    assert [name for name in names if f"`{name}`" not in section] == []


def test_preview_shows_a_row(tmp_path: Path) -> None:
    world = SinkWorld(tmp_path / "data")
    world.store(*bodies([at(0, outputs=[{"namespace": "n", "name": "o"}])]))
    with closing(open_sink(delta(tmp_path / "runs"), no_token)) as target:  # type: ignore[arg-type]
        (shown,) = preview_payloads(world.bronze, target, RUN["runId"])
    assert json.loads(shown["payload"])["outputs"] == [{"namespace": "n", "name": "o"}]


def test_an_address_that_is_none_is_named() -> None:
    with pytest.raises(WrongSetting, match="table"):
        sink(type="delta", table="gs://bucket/runs")


def test_a_table_in_azures_storage_has_the_rows_and_its_key_stays_secret(tmp_path: Path, storage: Storage) -> None:
    world, place = SinkWorld(tmp_path / "data"), storage.lake()
    made = events(3)
    world.store(*bodies(made))
    options = place["lake_options"] | {"account_key": {"env": "KEY"}}
    out = sink(type="delta", table=place["lake"], options=options, every="1ms")
    with world.running(out, {"KEY": KEY}) as runner, storage.failing("busy") as fault:
        fault.wait_met()
        eventually(lambda: "throttles" in (runner.status.trouble or ""))
        assert KEY not in str(runner.status)
    world.settle(out, {"KEY": KEY})
    found = DeltaTable(place["lake"], storage_options=place["lake_options"] | {"account_key": KEY})
    assert found.to_pyarrow_table().column("run_id").to_pylist() == [event["run"]["runId"] for event in made]
