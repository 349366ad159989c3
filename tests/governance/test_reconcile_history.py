"""Readers of job history: files as Spark writes them, and servers that check each request, including hostile ones."""

import gzip
import json
import os
import time
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import lz4.block
import pyarrow as pa
import pytest

from headwater.common.errors import Retry, WrongSetting
from headwater.governance.reconcile.histories import history_server
from headwater.governance.reconcile.histories.client import HistoryApi
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, deduplicate
from headwater.governance.reconcile.histories.history_registry import KINDS, TOKENS, read_history
from tests.support.servers.judged_server import Answered, Asked, JudgedServer

NOW_US = time.time_ns() // 1000
SPAN = HistorySpan(NOW_US - 3_600_000_000, NOW_US + 1)
MS = NOW_US // 1000 - 600_000
TOKEN = "history-token"


def read(written: str, span: HistorySpan = SPAN) -> list[HistoryEntry]:
    return sorted(read_history(written, span, dict.fromkeys(TOKENS.values(), TOKEN).get))


def log_lines(app: str, *, ended: bool = True, failed: bool = False, name: str = "Nightly Load") -> list[str]:
    """Return an event log as Spark 3.5 writes it, including events that the reader skips."""
    start = {"App Name": name, "App ID": app, "Timestamp": MS, "User": "etl"}
    result = {"Result": "JobFailed", "Exception": {"Message": "boom"}} if failed else {"Result": "JobSucceeded"}
    lines = [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.7"},
        {"Event": "SparkListenerApplicationStart", **start},
        {"Event": "SparkListenerJobStart", "Job ID": 0, "Properties": {"x": '{"Event":"SparkListenerApplicationEnd"'}},
        {"Event": "SparkListenerJobEnd", "Job ID": 0, "Completion Time": MS + 5, "Job Result": result},
    ]
    lines += [{"Event": "SparkListenerApplicationEnd", "Timestamp": MS + 9_000}] if ended else []
    return [json.dumps(line, separators=(",", ":")) for line in lines]


def packed(lines: list[str], codec: str) -> bytes:
    """Compress as Spark does. For lz4, this writes lz4-java blocks, including an uncompressed one."""
    text = ("\n".join(lines) + "\n").encode()
    if codec == "gz":
        return gzip.compress(text)
    if codec == "zstd":
        sink = pa.BufferOutputStream()
        with pa.CompressedOutputStream(sink, "zstd") as stream:
            stream.write(text)
        return bytes(sink.getvalue())
    if codec == "lz4":
        found = b""
        for at in range(0, len(text), 300):
            plain = text[at : at + 300]
            small = plain if at == 0 else lz4.block.compress(plain, store_size=False)
            sizes = len(small).to_bytes(4, "little") + len(plain).to_bytes(4, "little")
            found += b"LZ4Block" + bytes([0x15 if at == 0 else 0x25]) + sizes + b"\0" * 4 + small
        return found + b"LZ4Block\x15" + b"\0" * 12
    return text


def test_event_logs_are_read_in_each_codec_rolling_ones_in_order_and_running_ones_as_such(tmp_path: Path) -> None:
    for codec in ("", "gz", "zstd", "lz4"):
        name = f"app-{codec or 'plain'}"
        (tmp_path / (f"{name}.{codec}" if codec else name)).write_bytes(
            packed(log_lines(name, failed=codec == "gz"), codec)
        )
    (tmp_path / "app-runs.inprogress").write_text("\n".join(log_lines("app-runs", ended=False)) + '\n{"Event":"SparkL')
    rolling = tmp_path / "eventlog_v2_app-rolls"
    rolling.mkdir()
    lines = log_lines("app-rolls")
    for number, part in ((2, lines[:2]), (10, lines[2:])):
        (rolling / f"events_{number}_app-rolls{'.compact' if number == 2 else ''}").write_text("\n".join(part))
    (rolling / "appstatus_app-rolls").touch()
    (tmp_path / ".app-hidden").write_text("\n".join(lines))
    (tmp_path / "unlike.txt").write_text("no log at all")
    (tmp_path / "empty").touch()

    found = read(f"eventlogs:{tmp_path}")

    assert [(each.id, each.state) for each in found] == [
        ("app-gz", "FAILED"),
        ("app-lz4", "ENDED"),
        ("app-plain", "ENDED"),
        ("app-rolls", "ENDED"),
        ("app-runs", "RUNNING"),
        ("app-zstd", "ENDED"),
    ]
    plain = found[2]
    assert plain.seen_us
    assert plain._replace(seen_us=None) == HistoryEntry(
        "spark", "app-plain", "Nightly Load", "ENDED", MS * 1000, MS * 1000 + 9_000_000, ("app-plain",),
        None, "etl", str(tmp_path / "app-plain"), True,
    )  # fmt: skip


def test_a_line_of_100_mb_is_passed_over_and_costs_no_memory(tmp_path: Path) -> None:
    log = tmp_path / "app-long"
    lines = log_lines("app-long")
    with log.open("w") as file:
        file.write("\n".join(lines[:2]) + '\n{"Event":"SparkListenerSQLExecutionStart","physicalPlanDescription":"')
        for _ in range(100):
            file.write("x" * (1 << 20))
        file.write('"}\n' + "\n".join(lines[2:]))
    tracemalloc.start()

    found = read(f"eventlogs:{tmp_path}")

    assert [each.state for each in found] == ["ENDED"]
    assert tracemalloc.get_traced_memory()[1] < 8 << 20
    tracemalloc.stop()


@pytest.mark.parametrize("codec", ["", "gz", "zstd", "lz4"])
def test_a_log_torn_anywhere_is_read_as_far_as_it_goes(tmp_path: Path, codec: str) -> None:
    """A killed writer leaves a log in this state."""
    first, second, *rest = log_lines("app-torn")
    whole = packed([first, second, os.urandom(200_000).hex(), *rest], codec)  # more than one block of zstd
    log = tmp_path / (f"app-torn.{codec}.inprogress" if codec else "app-torn.inprogress")
    states: set[str] = set()
    for size in (*range(0, len(whole), len(whole) // 40), *range(len(whole) - 40, len(whole))):
        log.write_bytes(whole[:size])
        states.update(each.state for each in read(f"eventlogs:{tmp_path}"))
    assert "RUNNING" in states
    assert states <= {"RUNNING", "ENDED"}  # ended if only the end of the codec's frame is missing


def test_a_log_without_its_beginning_stands_for_the_application_that_it_is_named_after(tmp_path: Path) -> None:
    """The driver was killed before it wrote, the disk damaged the file, or the first part of a rolling log
    is missing.
    """
    broken = bytearray(packed(log_lines("local-1772000000001"), "gz"))
    broken[12] ^= 0xFF
    (tmp_path / "local-1772000000001.gz").write_bytes(broken)
    (tmp_path / "app-20260301120000-0001.zstd.inprogress").touch()
    (tmp_path / "application_1772_0007_2.lz4").write_bytes(packed(log_lines("x"), "lz4")[5:])
    (tmp_path / f"spark-{'a' * 32}").write_text('{"Event":"SparkListenerApplicationStart","App ID":7}\n')
    rolling = tmp_path / "eventlog_v2_local-1772000000002"
    rolling.mkdir()
    (rolling / "events_9_local-1772000000002").write_text("\n".join(log_lines("")[2:]))
    (tmp_path / "notes-local-1").touch()
    for log in tmp_path.iterdir():
        os.utime(log, (MS / 1000, MS / 1000))

    found = {each.id: each for each in read(f"eventlogs:{tmp_path}")}

    assert {key: each.state for key, each in found.items()} == {
        "local-1772000000001": "RUNNING",
        "app-20260301120000-0001": "RUNNING",
        "application_1772_0007/2": "RUNNING",
        f"spark-{'a' * 32}": "RUNNING",
        "local-1772000000002": "ENDED",
    }
    assert found["local-1772000000002"].ended_us == found["local-1772000000002"].started_us == MS * 1000 + 9_000_000
    assert found["application_1772_0007/2"].ids == ("application_1772_0007",)


def test_a_log_that_ends_or_goes_while_others_are_read_is_looked_for_once_more(tmp_path: Path) -> None:
    for name in ("a", "b.inprogress", "c"):
        (tmp_path / name).write_text("\n".join(log_lines(f"app-{name[0]}", ended=name == "a")))
    reading = iter(read_history(f"eventlogs:{tmp_path}", SPAN, lambda _: None))
    first = next(reading)
    (tmp_path / "b.inprogress").unlink()
    (tmp_path / "b").write_text("\n".join(log_lines("app-b")))
    (tmp_path / "c").unlink()

    assert [(each.id, each.state) for each in (first, *reading)] == [("app-a", "ENDED"), ("app-b", "ENDED")]


def test_a_log_that_cannot_be_opened_is_named_for_nothing_is_known_of_its_application(tmp_path: Path) -> None:
    (tmp_path / "app-loop").symlink_to("app-loop")
    with pytest.raises(WrongSetting, match=r"app-loop cannot be read: .*historyserver:URL"):
        read(f"eventlogs:{tmp_path}")


def test_a_folder_without_a_log_is_named_for_of_none_nobody_is_missing(tmp_path: Path) -> None:
    (tmp_path / ".hidden").touch()
    (tmp_path / "spark-events").mkdir()
    (tmp_path / "spark-events" / "app-1").write_text("\n".join(log_lines("app-1")))
    with pytest.raises(WrongSetting, match="contains no Spark event log"):
        read(f"eventlogs:{tmp_path}")


def test_gzip_of_several_members_is_read_to_its_end(tmp_path: Path) -> None:
    lines = log_lines("app-joined")
    (tmp_path / "app-joined.gz").write_bytes(packed(lines[:2], "gz") + packed(lines[2:], "gz"))
    assert [each.state for each in read(f"eventlogs:{tmp_path}")] == ["ENDED"]


def test_an_execution_that_several_histories_remember_is_one(tmp_path: Path) -> None:
    """One row each comes from copies made during the run, from the log itself, and from an export that names both."""
    began = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(MS // 1000)) + f".{MS % 1000:03}Z"
    for folder, ended in (("copied", False), ("logs", True), ("copied-again", False)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "app-1").write_text("\n".join(log_lines("app-1", ended=ended)))
    (tmp_path / "jobs.csv").write_text(f"id,name,started,system\nj,J,{began},x\nj,J,{began},x\napp-1,N,{began},spark\n")
    places = (
        *(f"eventlogs:{tmp_path / each}" for each in ("copied", "logs", "copied-again")),
        f"csv:{tmp_path}/jobs.csv",
    )

    found = deduplicate(entry for place in places for entry in read(place))

    assert [(each.id, each.state) for each in found] == [("app-1", "ENDED"), ("j", "RUNNING")]


def test_logs_that_were_written_before_the_span_are_not_opened_and_unreadable_codecs_are_named(tmp_path: Path) -> None:
    old = tmp_path / "app-old.snappy"
    old.write_bytes(b"whatever")
    os.utime(old, (0, 0))
    assert read(f"eventlogs:{tmp_path}") == []
    os.utime(old)
    with pytest.raises(WrongSetting, match=r"app-old\.snappy is compressed with an unsupported codec"):
        read(f"eventlogs:{tmp_path}")


def test_a_history_that_is_none_is_refused_with_the_kinds_there_are() -> None:
    for written in ("", "eventlogs", "eventlogs:", "yarn:/x", "/a/folder"):
        with pytest.raises(WrongSetting, match=", ".join(KINDS)):
            read(written)


def test_csv_is_read_by_its_header_and_a_wrong_line_is_named(tmp_path: Path) -> None:
    file = tmp_path / "jobs.csv"
    begin, end = "2026-03-01T10:00:00Z", "2026-03-01T10:10:00+00:00"
    file.write_text(
        "system,id,name,state,started,ended,ids,who,where\n"
        f'cron,7,"nightly, big",success,{begin},{end},a-1 b-2,root,http://x\n'
        f"cron,8,hourly,Aborted,{begin},{end},,,\n"
        f"cron,9,hourly,,{begin},,,,\n"
    )
    span = HistorySpan(1_772_000_000_000_000, 1_773_000_000_000_000)

    found = read(f"csv:{file}", span)

    assert [(each.id, each.name, each.state, each.ids) for each in found] == [
        ("7", "nightly, big", "SUCCEEDED", ("7", "a-1", "b-2")),
        ("8", "hourly", "FAILED", ("8",)),
        ("9", "hourly", "RUNNING", ("9",)),
    ]
    file.write_text("id,name,started\n1,a,yesterday\n")
    with pytest.raises(WrongSetting, match=r"jobs\.csv line 2: started is 'yesterday'"):
        read(f"csv:{file}")
    file.write_text("id,started\n")
    with pytest.raises(WrongSetting, match="no column name"):
        read(f"csv:{file}")


def patient(answer: Callable[[Asked], Answered]) -> Callable[[Asked], Answered]:
    """Throttle each request once, require its token, and then answer."""
    seen: set[str] = set()

    def judge(asked: Asked) -> Answered:
        if asked.headers.get("authorization") != f"Bearer {TOKEN}":
            return 401, {}, {}
        if str(asked[:2]) not in seen:
            seen.add(str(asked[:2]))
            return 429, {"retry-after": "0"}, {}
        return answer(asked)

    return judge


def history_apps(count: int) -> Iterator[dict[str, Any]]:
    """Yield applications as a History Server lists them. 40 of them ended in the same millisecond."""
    for number in range(count):
        end = MS + max(number, 40)
        attempt = {"startTimeEpoch": MS - 5, "endTimeEpoch": end, "lastUpdatedEpoch": end, "completed": True}
        yield {"id": f"app-{number:04}", "name": "load", "attempts": [{**attempt, "sparkUser": "etl"}]}


def test_a_history_server_is_read_page_by_page_also_where_many_ended_at_one_moment() -> None:
    apps = list(history_apps(120))
    running = {
        "startTimeEpoch": MS,
        "endTimeEpoch": -1,
        "lastUpdatedEpoch": MS + 1,
        "completed": False,
        "sparkUser": "u",
    }

    def answer(asked: Asked) -> Answered:
        assert asked.path == "/api/v1/applications"
        if asked.query.get("status") == "running":
            return 200, {}, [{"id": "app-runs", "name": "runs", "attempts": [running | {"attemptId": "2"}]}]
        assert asked.query["minEndDate"].endswith("GMT")
        most = _epoch(asked.query["maxEndDate"]) if "maxEndDate" in asked.query else 1 << 60
        fit = [app for app in reversed(apps) if app["attempts"][0]["endTimeEpoch"] <= most]
        return 200, {}, fit[: int(asked.query["limit"])]

    with JudgedServer(patient(answer)) as server:
        place = HistoryPlace(server.url, lambda: TOKEN)
        found = list(history_server.read_history(place, SPAN, page=25))

    assert sorted(each.id for each in found) == [*(app["id"] for app in apps), "app-runs/2"]
    assert found[-1].state == "RUNNING"
    assert found[-1].where == f"{server.url}/history/app-runs/2/jobs/"


def _epoch(text: str) -> int:
    from headwater.events.times import parse_time

    return (parse_time(text.replace("GMT", "Z"))[0] or 0) // 1000


def test_databricks_is_read_by_page_tokens_an_older_one_by_version_2_1_without_what_never_ran() -> None:
    runs = [
        {"run_id": 11, "run_name": "load", "start_time": MS, "end_time": MS + 5, "state": {"result_state": "SUCCESS"},
         "tasks": [{"run_id": 111}, {"run_id": 112}], "run_page_url": "https://x/11"},
        {"run_id": 12, "run_name": "load", "start_time": MS, "end_time": MS + 5, "state": {"result_state": "FAILED"}},
        {"run_id": 13, "run_name": "load", "start_time": MS, "end_time": 0, "state": {"life_cycle_state": "RUNNING"}},
        {"run_id": 14, "run_name": "load", "start_time": MS, "end_time": MS,
         "status": {"state": "TERMINATED", "termination_details": {"code": "SUCCESS"}}},
        {"run_id": 15, "run_name": "load", "start_time": MS, "end_time": MS, "state": {"life_cycle_state": "SKIPPED"}},
        {"run_id": 16, "run_name": "load", "start_time": MS, "end_time": MS, "state": {"result_state": "EXCLUDED"}},
        {"run_id": 17, "run_name": "load", "start_time": MS, "end_time": MS,
         "status": {"state": "TERMINATED", "termination_details": {"code": "MAX_CONCURRENT_RUNS_EXCEEDED"}}},
    ]  # fmt: skip

    def answer(asked: Asked) -> Answered:
        if asked.path.startswith("/api/2.2"):
            return 404, {}, {}
        assert asked.path == "/api/2.1/jobs/runs/list"
        assert int(asked.query["limit"]) < 25
        assert int(asked.query["start_time_from"]) <= SPAN.since_us // 1000
        at = int(asked.query.get("page_token", "0"))
        more = {"next_page_token": str(at + 1)} if at + 1 < len(runs) else {}
        return 200, {}, {"runs": runs[at : at + 1], "has_more": bool(more), **more}

    with JudgedServer(patient(answer)) as server:
        found = read(f"databricks:{server.url}")

    assert [(each.id, each.state, each.ids) for each in found] == [
        ("11", "SUCCEEDED", ("11", "111", "112")),
        ("12", "FAILED", ("12",)),
        ("13", "RUNNING", ("13",)),
        ("14", "SUCCEEDED", ("14",)),
    ]


TASK_QUERY = {"limit", "offset", "state", "start_date_gte", "start_date_lte", "end_date_gte", "end_date_lte"}
"""Some of the parameters that Airflow 2.10 accepts. It answers 400 to others, such as `order_by` (its issue 48494)."""


@pytest.mark.parametrize("version", ["v1", "v2"])
def test_airflow_is_read_by_times_in_any_order_and_tasks_that_never_ran_are_left_out(version: str) -> None:
    def task(name: str, state: str, **more: Any) -> dict[str, Any]:
        times = {"start_date": "2026-03-01T10:00:00+00:00", "end_date": "2026-03-01T10:00:09.500000+00:00"}
        own = {"dag_id": "sales", "dag_run_id": "scheduled__2026-03-01", "task_id": name, "map_index": -1}
        return {**own, "state": state, "operator": "BashOperator", **times, **more}

    many = [
        task("many", "success", map_index=number, end_date=f"2026-03-01T11:00:{number:02}+00:00") for number in range(9)
    ]
    tasks = [
        task("load", "success"), task("mapped", "failed", map_index=3), task("skipped", "skipped"),
        task("join", "success", operator="EmptyOperator"), task("above", "upstream_failed", start_date=None),
        task("old", "success", end_date="2026-01-01T10:00:00+00:00"),
        task("now", "running", end_date=None), *many,
    ]  # fmt: skip
    turned = iter(range(1_000_000))

    def fits(one: dict[str, Any], query: dict[str, str]) -> bool:
        """Compare as a database does: a missing time satisfies no bound."""
        bounds = [(name.rsplit("_", 1), said) for name, said in query.items() if name.endswith(("_gte", "_lte"))]
        return query.get("state", one["state"]) == one["state"] and all(
            one[field] and (said <= one[field] if way == "gte" else one[field] <= said) for (field, way), said in bounds
        )

    def answer(asked: Asked) -> Answered:
        if asked.path == "/api/v2/version":
            return (200, {}, {"version": "3.1.0"}) if version == "v2" else (404, {}, b"<html>")
        assert asked.path == f"/api/{version}/dags/~/dagRuns/~/taskInstances"
        if asked.query.keys() - TASK_QUERY:
            return 400, {}, {"detail": "Extra query parameter(s) not in spec"}
        found = [one for one in tasks if fits(one, asked.query)]
        turn = next(turned) % (len(found) or 1)
        at, most = int(asked.query.get("offset", "0")), 5
        return 200, {}, {"task_instances": (found[turn:] + found[:turn])[at : at + most], "total_entries": len(found)}

    with JudgedServer(patient(answer)) as server:
        found = read(f"airflow:{server.url}", HistorySpan(1_772_000_000_000_000, 1_773_000_000_000_000))

    run = "sales/scheduled__2026-03-01"
    assert [(each.id, each.name, each.state) for each in found] == [
        (f"{run}/load", "sales.load", "SUCCEEDED"),
        *((f"{run}/many/{number}", "sales.many", "SUCCEEDED") for number in range(9)),
        (f"{run}/mapped/3", "sales.mapped", "FAILED"),
        (f"{run}/now", "sales.now", "RUNNING"),
    ]
    pages = {
        "v1": "sales/grid?dag_run_id=scheduled__2026-03-01&task_id=mapped",
        "v2": "sales/runs/scheduled__2026-03-01/tasks/mapped/mapped/3",
    }
    assert found[-2].where == f"{server.url}/dags/{pages[version]}"


def test_airflow_whose_tasks_ended_at_one_moment_is_read_by_offsets() -> None:
    def answer(asked: Asked) -> Answered:
        if asked.path == "/api/v2/version":
            return 200, {}, {"version": "3.1.0"}
        at = int(asked.query.get("offset", "0"))
        moment = "2026-03-01T10:00:09.500000+00:00"
        here = asked.query.get("end_date_gte", "z") <= moment <= asked.query.get("end_date_lte", "")
        ended = {"state": "success", "start_date": moment, "end_date": moment, "map_index": -1}
        tasks = [{"dag_id": "d", "dag_run_id": "r", "task_id": f"t{number}", **ended} for number in range(7 * here)]
        return 200, {}, {"task_instances": tasks[at : at + 3], "total_entries": len(tasks)}

    with JudgedServer(answer) as server:
        found = read(f"airflow:{server.url}", HistorySpan(1_772_000_000_000_000, 1_773_000_000_000_000))

    assert [each.id for each in found] == [f"d/r/t{number}" for number in range(7)]


def test_fabric_is_read_by_its_continuations_sessions_of_a_workspace_and_job_instances_of_an_item() -> None:
    def session(number: int, **more: Any) -> dict[str, Any]:
        times = {"startDateTime": "2026-03-01T10:00:00Z", "endDateTime": "2026-03-01T10:05:00Z"}
        own = {"livyId": f"livy-{number}", "sparkApplicationId": f"application_1_000{number}", "itemName": "Nb"}
        return {**own, "item": {"itemId": "item"}, "state": "Succeeded", **times, **more}

    sessions = [
        session(1, jobInstanceId="job-1"), session(2, state="Cancelled"), session(3, endDateTime=None),
        session(4, sparkApplicationId=None),
    ]  # fmt: skip
    jobs = [
        {"id": "job-1", "itemId": "item", "status": "Completed", "rootActivityId": "root-1",
         "startTimeUtc": "2026-03-01T10:00:00.7812154", "endTimeUtc": "2026-03-01T10:05:00.8033333"},
        {"id": "job-2", "itemId": "item", "status": "Deduped", "startTimeUtc": "2026-03-01T10:00:00.78"},
    ]  # fmt: skip

    def answer(asked: Asked) -> Answered:
        whole = {"/v1/workspaces/ws/spark/livySessions": sessions, "/v1/workspaces/ws/items/item/jobs/instances": jobs}
        if asked.path not in whole:
            return 404, {}, {"errorCode": "ItemNotFound"}
        at = int(asked.query.get("continuationToken", "0"))
        more = str(at + 1) if at + 1 < len(whole[asked.path]) else None
        return 200, {}, {"value": whole[asked.path][at : at + 1], "continuationToken": more}

    span = HistorySpan(1_772_000_000_000_000, 1_773_000_000_000_000)
    with JudgedServer(patient(answer)) as server:
        found = read(f"fabric:{server.url}/ws", span)
        (job,) = read(f"fabric:{server.url}/ws/item", span)
        with pytest.raises(WrongSetting, match="was not found"):
            read(f"fabric:{server.url}/another", span)

    assert [(each.id, each.state) for each in found] == [
        ("application_1_0001", "SUCCEEDED"),
        ("application_1_0002", "FAILED"),
        ("application_1_0003", "RUNNING"),
    ]
    assert (job.name, job.state, job.ids) == ("Nb", "SUCCEEDED", ("job-1", "root-1", "application_1_0001"))


def test_a_token_goes_over_https_or_to_this_machine_alone() -> None:
    with pytest.raises(WrongSetting, match="the token would be readable"):
        HistoryApi("http://history.example.com", TOKEN, "X")
    with pytest.raises(WrongSetting, match="without a password"):
        HistoryApi("https://user:secret@history.example.com", None, "X")


def test_a_wrong_token_an_endless_refusal_and_what_is_no_api_are_one_line_each() -> None:
    answers: dict[str, Answered] = {
        "/401": (401, {}, {}),
        "/503": (503, {"retry-after": "0"}, {}),
        "/html": (200, {}, b"<html>"),
        "/302": (302, {"location": "http://elsewhere.test/"}, {}),
    }
    with (
        JudgedServer(lambda asked: answers[asked.path]) as server,
        HistoryApi(server.url, "user:word", "X_TOKEN") as api,
    ):
        for path, kind, said in (
            ("/401", WrongSetting, "Set X_TOKEN to a token that can read history"),
            ("/503", Retry, "returned 503 5 times"),
            ("/html", WrongSetting, "did not return JSON"),
            ("/302", WrongSetting, "returned 302"),
        ):
            with pytest.raises(kind, match=said):
                api.get_document(path, {})
    assert {asked.headers["authorization"] for asked in server.asked} == {"Basic dXNlcjp3b3Jk"}
    assert len([asked for asked in server.asked if asked.path == "/503"]) == 5
    with pytest.raises(Retry, match="did not answer"), HistoryApi(server.url, None, "X_TOKEN") as gone:
        gone.get_document("/", {})
