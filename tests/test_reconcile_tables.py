"""Delta commits without a run, and runs without a commit: tables that delta-rs wrote, exact lists."""

import json
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headwater.reconcile.histories.history_entry import HistorySpan
from headwater.reconcile.table_commits import committed_tables
from tests.reconciling import OTHER, SPARK, Json, land, reconcile, run_events

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US


def commit_at(table: Path, version: int, us: int, **said: Any) -> None:
    """Let a commit have been made at a moment, and say more of itself."""
    file = table / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"] |= {"timestamp": us // 1000, **said}
    file.write_text("\n".join(map(json.dumps, actions)))


def written(table: Path, commits: int, first_us: int) -> list[int]:
    """Append so many times, a minute between two; return when."""
    times = [first_us + number * MINUTE_US for number in range(commits)]
    for number, us in enumerate(times):
        write_deltalake(table, pa.table({"a": [number]}), mode="append")
        commit_at(table, number, us)
    return times


def output(table: Path, version: int | None = None, facets: Json | None = None) -> Json:
    more = {"version": {"datasetVersion": str(version)}} if version is not None else {}
    return {"namespace": "file", "name": str(table), "facets": {**more, **(facets or {})}}


def writing(us: int, table: Path, job: str = "loads.orders", version: int | None = None, **said: Any) -> list[bytes]:
    """Return the events of a run that writes a table around a moment."""
    return run_events(job, us - 2_000_000, us + 1_000_000, outputs=[output(table, version)], **said)


@pytest.mark.slow
def test_of_thirty_commits_those_five_are_named_that_no_run_wrote(tmp_path: Path) -> None:
    table = tmp_path / "lake" / "sales" / "orders"
    times = written(table, 30, time.time_ns() // 1000 - HOUR_US)
    alone = [3, 4, 11, 20, 29]
    land(tmp_path / "data", [body for at, us in enumerate(times) if at not in alone for body in writing(us, table)])

    found = reconcile(tmp_path / "data", "--tables", tmp_path / "lake")

    assert [(each["kind"], each["version"]) for each in found["items"]] == [("commit_without_run", at) for at in alone]
    assert {each["certain"] for each in found["items"]} == {True}
    assert found["items"][0]["dataset"] == {"namespace": "file", "dataset": str(table)}
    assert found["looked"] == {"executions": 0, "tables": 1, "runs": 25}
    assert reconcile(tmp_path / "data", "--tables", table, "--fail-on", "none", status=0)["counts"] == {
        "commit_without_run": 5
    }


def test_a_lake_that_all_report_is_clean(tmp_path: Path) -> None:
    table = tmp_path / "t"
    times = written(table, 3, time.time_ns() // 1000 - HOUR_US)
    DeltaTable(table).optimize.compact()  # moves rows, and changes none: no run has to say so
    commit_at(table, 3, times[2] + 5 * MINUTE_US)
    land(tmp_path / "data", [body for us in times for body in writing(us, table)])

    assert reconcile(tmp_path / "data", "--tables", table, status=0)["items"] == []


def test_what_spark_does_not_report_is_told_apart_by_statement_engine_version_and_words(tmp_path: Path) -> None:
    table = tmp_path / "t"
    times = written(table, 7, time.time_ns() // 1000 - HOUR_US)
    engine = {"engineInfo": "Apache-Spark/3.5.7 Delta-Lake/3.3.3"}
    beside = times[1] + 500_000  # an UPDATE half a second behind a MERGE, within the MERGE's run
    commit_at(table, 1, times[1], operation="MERGE", **engine)
    commit_at(table, 2, beside, operation="UPDATE", **engine)
    commit_at(table, 3, times[3], operation="WRITE", **engine)
    commit_at(table, 4, times[3] + 200_000, operation="WRITE", **engine)  # one statement makes one commit
    run = "0193a2b4-0000-7000-8000-00000000aaaa"
    commit_at(table, 6, times[6], operation="WRITE", userMetadata=f"run {run.upper()}")
    app = "nb.execute_"
    land(
        tmp_path / "data",
        [
            *writing(times[0], table, f"{app}save_into_data_source_command.t", producer=SPARK),  # delta-rs wrote it
            *writing(times[1], table, f"{app}merge_into_command.t", producer=SPARK),
            *run_events(f"{app}update_command", beside - 900_000, beside + 900_000, producer=SPARK, run=run[:-1] + "b"),
            *writing(times[3], table, f"{app}save_into_data_source_command.t", version=3, producer=SPARK),
            *writing(times[5], table, "dags.load", producer=OTHER),
            *run_events("elsewhere", times[6], times[6], run=run),
        ],
    )

    found = reconcile(tmp_path / "data", "--tables", table)

    assert [(each["kind"], each["version"], each["certain"], each["run"]) for each in found["items"]] == [
        ("commit_without_run", 0, False, None),
        ("commit_without_run", 2, False, run[:-1] + "b"),
        ("commit_without_run", 4, False, None),
    ]


def test_a_run_that_reports_complete_and_committed_nothing_is_named(tmp_path: Path) -> None:
    table = tmp_path / "t"
    times = written(table, 2, time.time_ns() // 1000 - HOUR_US)
    later = times[1] + 10 * MINUTE_US
    altered = {"lifecycleStateChange": {"lifecycleStateChange": "ALTER"}}
    land(
        tmp_path / "data",
        [
            *writing(times[0], table),
            *writing(times[1], table),
            *writing(later, table, "fails.silently"),
            *writing(later + MINUTE_US, table, "failed.loudly", end="FAIL"),
            *writing(later + 2 * MINUTE_US, table, "says.version", version=1),
            *run_events("alters.it", later, later, outputs=[output(table, facets=altered)]),
            *run_events("reads.scan_existing_rdd", later, later, inputs=[output(table)], outputs=[output(table)]),
        ],
    )

    found = reconcile(tmp_path / "data", "--tables", table)

    assert [(each["kind"], each["name"]) for each in found["items"]] == [("committed_nothing", "jobs/fails.silently")]
    (finding,) = found["items"]
    assert f"`run: {finding['run']}` with `writes: append` in rewrites.yaml" in finding["advice"]


def test_of_a_long_log_only_the_commits_of_the_span_are_read(tmp_path: Path) -> None:
    """Cleaned by a checkpoint, and with files that would not even parse behind the span."""
    table = tmp_path / "t"
    now_us = time.time_ns() // 1000
    write_deltalake(table, pa.table({"a": [0]}))
    log = table / "_delta_log"
    first = (log / f"{0:020}.json").read_text()
    (log / f"{0:020}.json").write_bytes(b"\xff never read")
    for version, ago_us in ((99_998, 30 * HOUR_US), (99_999, 10 * MINUTE_US), (100_000, 5 * MINUTE_US)):
        (log / f"{version:020}.json").write_text(first)
        commit_at(table, version, now_us - ago_us)
    (log / f"{100_000:020}.checkpoint.parquet").write_bytes(b"never read")

    (found,) = committed_tables(str(table), {}, HistorySpan(now_us - HOUR_US, now_us))

    assert [commit.version for commit in found.commits] == [100_000, 99_999]


def test_an_action_of_many_megabytes_and_a_torn_commit_are_read_as_far_as_they_say_something(tmp_path: Path) -> None:
    table = tmp_path / "t"
    now_us = time.time_ns() // 1000
    write_deltalake(table, pa.table({"a": [0]}))
    log = table / "_delta_log"
    add = {"add": {"path": "x", "partitionValues": {}, "size": 1, "modificationTime": 1, "dataChange": True}}
    info = {"commitInfo": {"timestamp": now_us // 1000, "operation": "WRITE"}}
    long = json.dumps(add, separators=(",", ":"))[:-2] + ',"stats":"' + "x" * (30 << 20) + '"}}'
    (log / f"{1:020}.json").write_text(json.dumps(info, separators=(",", ":")) + "\n" + long)
    (log / f"{2:020}.json").write_text('{"commitInfo":{"timestamp":17')

    (found,) = committed_tables(str(table), {}, HistorySpan(now_us - HOUR_US, now_us + HOUR_US))

    assert [(each.version, each.operation, each.changes_data) for each in found.commits] == [
        (2, "unknown", False),
        (1, "WRITE", True),
        (0, "WRITE", True),
    ]
