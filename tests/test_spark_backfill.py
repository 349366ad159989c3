"""Files into bronze beside the log: each record once, whatever is run again, and the audit goes on balancing."""

import gzip
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import SparkSession

from headwater.errors import WrongSetting
from headwater.eventlog import RecordKind
from headwater.spark.bronze.backfill import BATCH_RECORDS, Files, backfill
from tests.lake_check import rows
from tests.parsing import World, event
from tests.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    *SPARK_NOISE,
]

_VALUES = ["long", "double", "string", "bytes", "null"]
_CAPTURE = fastavro.parse_schema(
    {
        "type": "record",
        "name": "EventData",
        "namespace": "Microsoft.ServiceBus.Messaging",
        "fields": [
            {"name": "SequenceNumber", "type": "long"},
            {"name": "Offset", "type": "string"},
            {"name": "EnqueuedTimeUtc", "type": "string"},
            {"name": "SystemProperties", "type": {"type": "map", "values": _VALUES[:4]}},
            {"name": "Properties", "type": {"type": "map", "values": _VALUES}},
            {"name": "Body", "type": ["null", "bytes"]},
        ],
    }
)
"""As the service documents the files of Event Hubs Capture."""


def capture(path: Path, *records: tuple[bytes | None, dict[str, Any]], at: str = "3/1/2026 1:02:03 PM") -> None:
    """Write one file of Capture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        fastavro.writer(
            file,
            _CAPTURE,
            [
                {
                    "SequenceNumber": number,
                    "Offset": str(number),
                    "EnqueuedTimeUtc": at,
                    "SystemProperties": {"x-opt-enqueued-time": 1},
                    "Properties": properties,
                    "Body": body,
                }
                for number, (body, properties) in enumerate(records)
            ],
        )


def test_capture_and_lines_are_taken_once_and_the_audit_balances(spark: SparkSession, tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(event("in the log"), event("in both"))
    with pytest.raises(WrongSetting, match="Start `headwater up`"):
        backfill(spark, str(world.folder / "lake"), Files("ndjson", str(tmp_path), "x"))
    parser = world.parser()
    parser.step()
    hub, lines = tmp_path / "hub", tmp_path / "lines"
    sent = {"k": int(RecordKind.EVENT), "h": '{"key": "spark"}'}
    capture(hub / "ns" / "hub" / "0" / "01.avro", (event("captured"), sent), (event("in both"), sent), (None, {}))
    lines.mkdir()
    (lines / "b.ndjson").write_bytes(event("b") + b"\n\n" + event("captured") + b"\nno json\n")
    (lines / "a.ndjson.gz").write_bytes(gzip.compress(event("a1") + b"\n" + event("a2") + b"\n"))
    lake = str(world.folder / "lake")

    assert backfill(spark, lake, Files("capture", str(hub), "old-hub")) == 3
    assert backfill(spark, lake, Files("ndjson", str(lines), "lines")) == 5
    capture(other := hub / "ns" / "hub" / "1" / "02.avro", (event("later"), sent | {"k": 1 << 40}), at="just now")
    assert backfill(spark, lake, Files("capture", str(hub), "old-hub")) == 4

    stored = {(row["log"], row["run_id"]): row for row in rows(world.folder, "events")}
    assert {log: {run for of, run in stored if of == log} for log, _ in stored} == {
        "local": {"in the log", "in both"},
        "old-hub": {"captured", "later"},
        "lines": {"a1", "a2", "b"},
    }
    first, later = stored["old-hub", "captured"], stored["old-hub", "later"]
    assert (first["sequence"], later["sequence"]) == (1, BATCH_RECORDS + 1)
    assert (first["http"], first["received_at"].isoformat()) == ('{"key": "spark"}', "2026-03-01T13:02:03+00:00")
    assert later["received_at"].timestamp() == pytest.approx(other.stat().st_mtime, abs=0.001)
    assert [stored["lines", run]["sequence"] for run in ("a1", "a2", "b")] == [1, 2, 3]
    assert {row["sequence"] for row in rows(world.folder, "duplicates")} == {2, 4}
    assert {(row["log"], row["sequence"]) for row in rows(world.folder, "rejected")} == {("old-hub", 3), ("lines", 5)}
    world.append(event("after"))
    parser.step()
    counted = world.audit()
    assert counted["balanced"]
    assert counted["received"] == 3 + 4 + 5
