"""The series of a dataset: what producers report over time, and what is unusual in it."""

import random
from contextlib import closing
from pathlib import Path
from typing import Any

from headwater.operations.runtime.index import open_view_opener
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
