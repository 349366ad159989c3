"""Delta commits without a run, and runs without a commit: tables written by delta-rs, and exact lists."""

import json
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from headwater.api import routes
from headwater.cli.answer_source import open_answer_source
from headwater.events.rows import LONGEST_RUN_FACETS
from headwater.governance.reconcile.commit_join import WriteProof
from headwater.governance.reconcile.comparison import request_reported, write_proofs
from headwater.governance.reconcile.delta_log import committed_tables
from headwater.governance.reconcile.events import proof_events
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.governance.reconcile.history_join import WaitTimes
from headwater.governance.reconcile.run_index import with_times
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.reports import ReportedRun, ReportedRuns
from tests.support.data.reconcile_world import OTHER, SPARK, Json, land, reconcile, run_events, stamp

MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US


def commit_at(table: Path, version: int, us: int, **said: Any) -> None:
    """Set the time of a commit, and add members to its commitInfo."""
    file = table / "_delta_log" / f"{version:020}.json"
    actions = [json.loads(line) for line in file.read_text().splitlines()]
    for action in actions:
        if "commitInfo" in action:
            action["commitInfo"] |= {"timestamp": us // 1000, **said}
    file.write_text("\n".join(map(json.dumps, actions)))


def written(table: Path, commits: int, first_us: int) -> list[int]:
    """Append several times, one minute apart. Returns the times."""
    times = [first_us + number * MINUTE_US for number in range(commits)]
    for number, us in enumerate(times):
        write_deltalake(table, pa.table({"a": [number]}), mode="append")
        commit_at(table, number, us)
    return times


def output(table: Path, version: int | None = None, facets: Json | None = None) -> Json:
    more = {"version": {"datasetVersion": str(version)}} if version is not None else {}
    return {"namespace": "file", "name": str(table), "facets": {**more, **(facets or {})}}


def writing(us: int, table: Path, job: str = "loads.orders", version: int | None = None, **said: Any) -> list[bytes]:
    """Return the events of a run that writes a table at a time."""
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
    DeltaTable(table).optimize.compact()  # compaction moves rows without changing any, so it needs no run
    commit_at(table, 3, times[2] + 5 * MINUTE_US)
    land(tmp_path / "data", [body for us in times for body in writing(us, table)])

    assert reconcile(tmp_path / "data", "--tables", table, status=0)["items"] == []


def test_what_spark_does_not_report_is_told_apart_by_statement_engine_version_and_words(tmp_path: Path) -> None:
    table = tmp_path / "t"
    times = written(table, 7, time.time_ns() // 1000 - HOUR_US)
    engine = {"engineInfo": "Apache-Spark/3.5.7 Delta-Lake/3.3.3"}
    beside = times[1] + 500_000  # an UPDATE half a second after a MERGE, within the MERGE's run
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
            # delta-rs wrote the commit
            *writing(times[0], table, f"{app}save_into_data_source_command.t", producer=SPARK),
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
    assert f"`run: {finding['run']}` with `writes: whole` in rewrites.yaml" in finding["advice"]


def changed(what: str) -> Json:
    return {"lifecycleStateChange": {"lifecycleStateChange": what}}


ROWS = pa.table({"a": [1, 2], "day": ["mon", "tue"]})
"""Rows in two partitions."""


def asked(folder: Path, question: str, **parameters: str) -> Json:
    """Ask a data folder a question, and return the answer as over HTTP."""
    questions = {each.path: each for each in routes.ROUTES}
    path = {name: parameters.pop(name) for name in ("run",) if name in parameters}
    with open_answer_source(None, None, folder) as source:
        answer: Json = msgspec.to_builtins(source.ask(questions[question], parameters, **path))
    return answer


def proofs(folder: Path, table: Path) -> list[WriteProof]:
    """Return what `reconcile --save` reports about the runs in a data folder."""
    now_us = time.time_ns() // 1000
    span = HistorySpan(now_us - 2 * HOUR_US, now_us)
    told = request_reported(
        lambda question, parameters: asked(folder, question, **parameters),
        lambda answer: msgspec.convert(answer, ReportedRuns),
        span.since_us,
    )
    tables = [(Dataset("file", str(table)), each) for each in committed_tables(str(table), {}, span)]
    return write_proofs(tables, told, span, WaitTimes(now_us, 0, 0, 5_000_000))


def proven(folder: Path, table: Path) -> dict[str, str]:
    """Return what commits prove about the write of each job."""
    return {each.run.report.job.name: each.proves for each in proofs(folder, table)}


def test_commits_of_delta_rs_prove_what_each_run_did_to_the_rows(tmp_path: Path) -> None:
    table, started = tmp_path / "t", time.time_ns() // 1000 - HOUR_US
    jobs = {"creates": "", "appends": "", "overwrites": "whole", "replaces.a.part": "part", "deletes.all": "whole"}
    write_deltalake(table, ROWS)
    write_deltalake(table, ROWS, mode="append")
    write_deltalake(table, ROWS.slice(1), mode="overwrite")
    write_deltalake(table, ROWS.slice(1), mode="overwrite", predicate="day = 'tue'")
    DeltaTable(table).delete()
    bodies = []
    for version, job in enumerate(jobs):
        us = started + version * MINUTE_US
        commit_at(table, version, us)
        output_of = [output(table, version, changed("CREATE" if job == "appends" else "OVERWRITE"))]
        bodies += run_events(job, us - 2_000_000, us + 1_000_000, outputs=[*output_of])
    later = started + 20 * MINUTE_US
    fails = run_events("fails", later, later, outputs=[output(table, facets=changed("OVERWRITE"))])
    land(tmp_path / "data", [*bodies, *fails])

    found = proven(tmp_path / "data", table)

    assert found == {job: proves for job, proves in jobs.items() if proves} | {"fails": "nothing"}
    every = {json.loads(body)["job"]["name"]: json.loads(body)["run"]["runId"] for body in [*bodies, *fails]}
    reported = dict.fromkeys(("creates", "overwrites", "replaces.a.part", "deletes.all", "fails"), "reported")
    assert rewrites(tmp_path / "data", every) == {"appends": None, **reported}

    land(tmp_path / "data", [*proof_events("nightly", proofs(tmp_path / "data", table))])

    committed = {"overwrites": "committed", "deletes.all": "committed", "replaces.a.part": None, "fails": None}
    assert rewrites(tmp_path / "data", every) == {"appends": None, **reported, **committed}


def rewrites(data: Path, runs: Mapping[str, str]) -> dict[str, str | None]:
    """Return, for the run of each job, the evidence that it replaced all rows."""
    found = {job: asked(data, "runs/{run}/lineage", run=run_id)["writes"] for job, run_id in runs.items()}
    return {job: written.get("rewrite") for job, (written,) in found.items()}


def test_what_a_failed_write_reports_to_have_replaced_is_upstream_again(tmp_path: Path) -> None:
    table, data = tmp_path / "t", tmp_path / "data"
    times = written(table, 2, time.time_ns() // 1000 - HOUR_US)

    def writing_mail(us: int, source: str) -> list[bytes]:
        fields = {"a": {"inputFields": [{"namespace": "db", "name": source, "field": "mail"}]}}
        outputs = [output(table, facets={"columnLineage": {"fields": fields}})]
        return run_events("writes", us - 1_000_000, us, inputs=[{"namespace": "db", "name": source}], outputs=outputs)

    def upstream() -> list[tuple[str, bool]]:
        found = asked(data, "upstream", dataset=str(table), column="a")["columns"]
        return sorted((each["dataset"], each["earlier"]) for each in found)

    fails = times[0] + 20_000_000
    emptied = run_events("fails", fails, fails + 1_000_000, outputs=[output(table, facets=changed("OVERWRITE"))])
    land(data, [*writing_mail(times[0], "crm"), *emptied, *writing_mail(times[1], "shop")])
    assert upstream() == [("shop", False)]

    land(data, [*proof_events("nightly", proofs(data, table))])

    assert upstream() == [("crm", True), ("shop", False)]


def test_proofs_of_many_runs_go_in_events_that_stay_small_and_the_same(tmp_path: Path) -> None:
    run = with_times(ReportedRun(
        id="0193a2b4-0000-7000-8000-000000000001", job=Job("jobs", "j"), producer="p", state="COMPLETE",
        streaming=False, parent=None, ids=[], started=stamp(0), ended=stamp(0), last_event=stamp(0), reads=0, writes=[],
    ))  # fmt: skip
    dataset = Dataset("file", "/t")
    withdrawn = [WriteProof(run._replace(until_us=at), dataset, "nothing", None) for at in range(1_500)]
    whole = [WriteProof(run._replace(until_us=HOUR_US + at), dataset, "whole", at) for at in range(1_500)]

    events = [json.loads(each) for each in proof_events("n", [*whole, *withdrawn])]

    told = [each["run"]["facets"]["headwater_commits"]["commits"] for each in events]
    assert [sum(each["proves"] == kind for some in told for each in some) for kind in ("nothing", "whole")] == [
        1_500,
        1_000,
    ]
    assert max(len(json.dumps(each["run"]["facets"], separators=(",", ":"))) for each in events) <= LONGEST_RUN_FACETS
    assert [json.loads(each) for each in proof_events("n", [*withdrawn, *whole])] == events
    assert min(each["version"] for some in told for each in some if each["proves"] == "whole") == 500


OVERWRITTEN: list[tuple[str, Json, bool, str]] = [
    # commitInfo as Delta 3.3.3 for Spark 3.5 writes it
    ("OVERWRITE", {"mode": "Overwrite", "partitionBy": "[]"}, False, ""),
    ("OVERWRITE", {"mode": "Overwrite", "partitionBy": "[]"}, True, "whole"),
    ("OVERWRITE", {"mode": "Overwrite", "partitionBy": "[]", "predicate": "day = 'tue'"}, False, "part"),
    ("OVERWRITE", {"mode": "Overwrite", "isDynamicPartitionOverwrite": True}, False, "part"),
    ("OVERWRITE", {"mode": "Append", "partitionBy": "[]"}, False, "append"),
    ("CREATE", {"mode": "Append", "partitionBy": "[]"}, False, ""),
]
"""A run's lifecycle change, its commit's parameters, whether the commit removes files of other partitions, and the
proof.
"""


def test_an_overwrite_of_partitions_is_whole_only_if_it_removes_others(tmp_path: Path) -> None:
    """A dynamic overwrite has the same commitInfo, but removes only files of the partitions that it writes."""
    us, data = time.time_ns() // 1000 - HOUR_US, tmp_path / "data"
    tables = [tmp_path / str(number) for number in range(len(OVERWRITTEN))]
    bodies = []
    for table, (reported, parameters, is_static, _) in zip(tables, OVERWRITTEN, strict=True):
        write_deltalake(table, ROWS, partition_by=["day"])
        predicate = None if is_static else "day = 'tue'"
        write_deltalake(table, ROWS.slice(1), mode="overwrite", predicate=predicate)
        commit_at(table, 0, us - MINUTE_US)
        commit_at(table, 1, us, operation="WRITE", operationParameters=parameters)
        told = output(table, 1, changed(reported))
        bodies += run_events("writes", us - 2_000_000, us + 1_000_000, outputs=[told])
    land(data, bodies)

    assert [proven(data, table) for table in tables] == [
        {"writes": proves} if proves else {} for *_, proves in OVERWRITTEN
    ]


def test_of_a_long_log_only_the_commits_of_the_span_are_read(tmp_path: Path) -> None:
    """A checkpoint cleaned the log, and files from before the period would not even parse."""
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
