"""The series of a dataset: what producers report over time, and what is unusual in it."""

import random
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.operations.runtime.index import open_view_opener
from headwater.questions.volume import judge_series
from headwater.questions.volume_histories import MIN_LIFE_US, history_starts, split_histories
from tests.reference.world_events import at, dataset, facet, run_event, uuid
from tests.support.data.parsing import World
from tests.support.data.samples import body
from tests.support.questions import ask

DAY, DAYS = 86_400, 50
ORDERS = ("s3://lake", "orders")
COMMIT = {"commitMetrics": {"addedRecords": 1, "totalRecords": 20, "totalDataFiles": 2}}


def test_a_dataset_has_series_of_what_runs_report_with_unusual_values(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(*(event for day in range(DAYS) for event in _night(day)))
    while world.parser().commit_next():
        pass
    with closing(open_view_opener(world.settings, world.folder)) as views:
        answer = ask(views, "volume", {"dataset": "orders", "limit": "45"})
        of_column = ask(views, "volume", {"dataset": "orders", "column": "ID"})
        tests = ask(views, "volume", {"dataset": "orders", "measure": "test"})
        none = ask(views, "volume", {"dataset": "raw"})
    series = {each["measure"]: each for each in answer["series"]}
    assert list(series) == ["rows", "bytes", "total_rows", "total_files", "rows_read", "test", "interval", "duration"]
    assert (answer["columns"], answer["truncated"]) == (["id"], True)
    rows = series["rows"]
    assert len(rows["points"]) == 45
    assert (rows["points"][-2]["value"], rows["points"][-2]["run"]) == (3_000, uuid(DAYS - 1))
    assert [(point["state"], point["verdict"]) for point in rows["points"][-4:]] == [
        ("COMPLETE", "usual"),
        ("FAIL", "not judged"),
        ("COMPLETE", "unusual"),
        ("FAIL", "not judged"),
    ]
    assert rows["judgement"]["low"] > 6_000
    assert {point["value"] for point in series["total_rows"]["points"]} == {20}
    assert series["total_files"]["judgement"]["reason"] == "this measure is not judged"
    assert {point["value"] for point in series["interval"]["points"]} == {DAY}
    assert {point["value"] for point in series["duration"]["points"]} == {60}
    assert [(each["measure"], each["column"], each["points"][-1]["value"]) for each in of_column["series"]] == [
        ("nulls", "id", 900),
        ("distinct", "id", 5),
        ("minimum", "id", 0.5),
        ("maximum", "id", 7),
        ("test", "id", 0),
    ]
    assert of_column["series"][0]["judgement"]["verdict"] == "unusual", "900 nulls instead of 100"
    assert [(each["test"], each["judgement"]["verdict"]) for each in tests["series"]] == [("unique", "unusual")]
    assert none["series"] == []


def test_each_of_many_tests_has_its_newest_results(tmp_path: Path) -> None:
    tests, runs = [f"t{number:03}" for number in range(130)], 101
    world = World(tmp_path / "data")
    world.append(*(_checked(run, tests, is_last=run == runs - 1) for run in range(runs)))
    while world.parser().commit_next():
        pass
    with closing(open_view_opener(world.settings, world.folder)) as views:
        answer = ask(views, "volume", {"dataset": "orders", "measure": "test", "limit": "100"})
        of_column = ask(views, "volume", {"dataset": "orders", "column": "B", "limit": "1"})
    assert [each["test"] for each in answer["series"]] == tests
    assert {each["judgement"]["verdict"] for each in answer["series"]} == {"unusual"}
    assert {each["points"][-1]["run"] for each in answer["series"]} == {uuid(runs - 1)}
    assert [each["test"] for each in of_column["series"]] == ["t129"]


def test_histories_are_those_of_jobs_that_write_by_turns() -> None:
    def split(jobs: str, *starts: int) -> list[str]:
        writes = [(time_us, ord(job)) for time_us, job in enumerate(jobs)]
        return ["".join(jobs[at] for at in places) for places in split_histories(writes, starts)]

    assert split("ababab") == ["aaa", "bbb"]
    assert split("aaabbb") == ["aaabbb"], "a renamed job"
    assert split("abcdef") == ["abcdef"], "a name for each run"
    assert split("aaxaabb") == ["aaaabb", "x"]
    assert split("aaaaaa", 2) == ["aa", "aaaa"]


def test_a_regular_drop_starts_no_new_history() -> None:
    life_us = MIN_LIFE_US
    assert history_starts([]) == []
    assert history_starts([5, 5 + life_us]) == [5, 5 + life_us]
    assert history_starts([5, 6, 7, life_us]) == [5]


def test_an_old_write_does_not_make_a_history_long() -> None:
    writes = [((200 + day) * DAY * 1_000_000, 1_000 + day % 7) for day in range(31)]
    usual, with_old = judge_series([*writes, (231 * DAY * 1_000_000, 500)]), judge_series([(0, 1_000), *writes])
    assert usual[-1].verdict == "unusual"
    assert {each.verdict for each in with_old[:24]} == {"not judged"}
    assert [each.verdict for each in usual[:28]] == ["not judged"] * 28


def _checked(run: int, tests: Sequence[str], *, is_last: bool) -> bytes:
    results = [
        {"assertion": test, "column": "b" if test == tests[-1] else "a", "success": not is_last} for test in tests
    ]
    checked = dataset(ORDERS) | {"inputFacets": {"dataQualityAssertions": facet(assertions=results)}}
    return body(run_event("COMPLETE", at(run * 60), uuid(run), ("jobs", "check"), inputs=[checked], outputs=[]))


def _night(day: int) -> list[bytes]:
    """Return the events of a run that writes orders, of a failed one, and of one that measures them."""
    chance, is_last = random.Random(day), day == DAYS - 1
    rows = 3_000 if is_last else round(10_000 * chance.lognormvariate(0, 0.03))
    written = dataset(ORDERS) | {
        "outputFacets": {"outputStatistics": facet(rowCount=rows, size=rows), "icebergCommitReport": facet(**COMMIT)}
    }
    nulls = 900 if is_last else round(100 * chance.lognormvariate(0, 0.03))
    columns = {"id": {"nullCount": nulls, "distinctCount": 5, "min": 0.5, "max": 7}}
    assertion = {"assertion": "unique", "column": "id", "success": not is_last}
    measured = dataset(ORDERS) | {
        "inputFacets": {
            "inputStatistics": facet(rowCount=9),
            "dataQualityMetrics": facet(columnMetrics=columns),
            "dataQualityAssertions": facet(assertions=[assertion]),
        }
    }
    sides: dict[str, Any] = {"inputs": [dataset(("s3://lake", "raw"))], "outputs": [written]}
    start = day * DAY
    events = [
        run_event("START", at(start), uuid(day), ("jobs", "load"), **sides),
        run_event("COMPLETE", at(start + 60), uuid(day), ("jobs", "load"), **sides),
        run_event("FAIL", at(start + 90), uuid(5_000 + day), ("jobs", "load"), **sides),
        run_event("COMPLETE", at(start + 120), uuid(1_000 + day), ("jobs", "check"), inputs=[measured], outputs=[]),
    ]
    return [body(event) for event in events]
