"""What landed in storage, into bronze: each record once, whatever grows, is cut off or is run again."""

import gzip
import json
import os
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from delta.tables import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from headwater.errors import LakeUnavailable, WrongSetting
from headwater.eventlog import RecordKind
from headwater.events.transport_losses import FACET
from headwater.spark.landing.file_plans import PART_BYTES
from headwater.spark.landing.landed_streams import BATCH_RECORDS
from headwater.spark.landing.landing_job import ingest
from headwater.spark.landing.landing_kinds import Landing, take_in
from headwater.spark.one_pass import alone
from tests.captured import captured
from tests.lake_check import rows
from tests.parsing import World, event
from tests.spark_driver import killed
from tests.spark_noise import SPARK_NOISE

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    *SPARK_NOISE,
]


def capture(path: Path, *records: tuple[bytes | None, dict[str, Any]], **how: str) -> None:
    """Write one file of Capture."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(captured(*records, codec="null", **how))


class Lake:
    """A lake that a parser has begun, and files beside it."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark, self.files = spark, folder / "files"
        self.files.mkdir()
        self.world = World(folder / "data")
        self.world.append(event("in the log"), event("in both"))
        self.world.parser().step()

    def take(self, place: object = None, name: str = "lines", **more: Any) -> dict[str, Any]:
        lake = str(self.world.folder / "lake")
        return take_in(self.spark, lake, Landing(str(place or self.files), name, **more))

    def write(self, name: str, *lines: bytes, end: bytes = b"\n") -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(lines) + end)
        return path

    def add(self, name: str, text: bytes) -> None:
        with (self.files / name).open("ab") as file:
            file.write(text)

    def rows(self, table: str, log: str = "lines") -> list[dict[str, Any]]:
        found = [row for row in rows(self.world.folder, table) if row["log"] == log]
        return sorted(found, key=lambda row: row["sequence"])

    def runs(self, log: str = "lines") -> Counter[str]:
        return Counter(row["run_id"] for row in self.rows("events", log) if row["run_id"])

    def origins(self, table: str) -> list[str]:
        origins = [json.loads(row["http"])["origin"] for row in self.rows(table)]
        return sorted(each.removeprefix(f"file:{self.files}/") for each in origins)

    def balances(self) -> bool:
        return bool(self.world.audit()["balanced"])


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


LOSSES = {
    "transport": "onelake", "applicationName": "nightly", "dropped": 12, "queueFull": 12, "unserialisable": 0,
    "since": "2026-03-01T23:59:59.500Z", "until": "2026-03-02T00:00:01.500Z",
}  # fmt: skip


def test_files_of_any_form_are_taken_once_with_where_each_line_stood(lake: Lake) -> None:
    day = "dt=2026-03-01"
    lake.write(f"{day}/1-a-2events.ndjson", event("a1"), event("a2"), json.dumps({"headwater": LOSSES}).encode())
    lake.write(f"{day}/.2-b-1events.ndjson.tmp", event("not whole"))
    lake.write(f"{day}/3.ndjson.tmp", event("not renamed"))
    lake.write(f"{day}/_hidden/4.ndjson", event("hidden"))
    lake.write("single {1}[*] 50%20.json", event("one"), end=b"")
    lake.write("list.json", b"[", event("l1") + b",", event("l2"), b"]")
    lake.write("pretty.json", json.dumps(json.loads(event("pretty")), indent=2).encode())
    lake.write("bad.ndjson", event("in both"), b"", b"no json", b'{"eventTime": 1}', event("a1"))
    lake.write("picture.png", b"\x89PNG\0\0")
    lake.write("empty.ndjson", end=b"")
    (lake.files / "more.gz").write_bytes(gzip.compress(event("z1") + b"\n" + event("z2")))

    found = lake.take()
    assert (found["files"], found["waiting"], found["passed_over"], found["records_in_lake"]) == (7, 0, 1, 13)
    assert lake.runs() == Counter(["a1", "a2", "one", "l1", "l2", "pretty", "z1", "z2"])
    assert lake.origins("rejected") == ["bad.ndjson:3", "bad.ndjson:4"]
    assert len(lake.rows("duplicates")) == 2
    assert [o for o in lake.origins("events") if "dt=" in o] == [f"{day}/1-a-2events.ndjson:{n}" for n in (1, 2, 3)]
    (loss,) = (row for row in lake.rows("events") if row["job_name"] == "nightly")
    assert json.loads(loss["body"])["job"]["facets"][FACET]["dropped"] == 12
    assert lake.balances()
    again = lake.take()
    assert (again["files"], again["records_in_lake"]) == (0, 13)


def test_files_that_grow_are_read_on_and_what_vanishes_or_turns_over_costs_nothing(lake: Lake) -> None:
    first, second = event("g1"), event("g2")
    lake.write("grows.ndjson", first, second[:40], end=b"")
    lake.write("turns.log", event("t1"))
    lake.write("gone.ndjson", event("v1"))
    (lake.files / "grows.gz").write_bytes(gzip.compress(event("z1"))[:-9])
    assert lake.take()["waiting"] == 2
    assert lake.runs() == Counter(["g1", "t1", "v1"])
    lake.add("grows.ndjson", second[40:] + b"\n" + event("g3") + b"\n")
    (lake.files / "turns.log").rename(lake.files / "turns.log.1")
    lake.add("turns.log.1", event("t2") + b"\n")
    lake.write("turns.log", event("t3"), event("t4"))
    (lake.files / "gone.ndjson").unlink()
    (lake.files / "grows.gz").write_bytes(gzip.compress(event("z1")))
    assert lake.take()["waiting"] == 0
    assert lake.runs() == Counter(["g1", "g2", "g3", "t1", "t2", "t3", "t4", "v1", "z1"])
    assert len(lake.rows("duplicates")) == 1, "t1 under its file's other name"
    lake.add("grows.ndjson", event("g4")[:-9])
    os.utime(lake.files / "grows.ndjson", (1, 1))  # nobody writes there any more
    lake.take()
    assert [row["reason"] for row in lake.rows("rejected")] == ["not_json"]
    assert lake.origins("rejected") == ["grows.ndjson:4"]
    assert lake.balances()


def test_a_thousand_files_and_an_event_larger_than_a_part_are_taken_and_deleted_once_they_are_old(lake: Lake) -> None:
    for number in range(1_000):
        lake.write(f"dt=2026-03-{number % 28 + 1:02d}/{number}.ndjson", event(f"s{number}"))
    large = event("large", ["x" * (PART_BYTES // 3), "y"])
    assert len(large) > PART_BYTES
    lake.write("large.ndjson", event("before"), large, event("after"))
    told: list[str] = []
    landing = Landing(str(lake.files), "lines")
    assert take_in(lake.spark, str(lake.world.folder / "lake"), landing, told.append)["files"] == 1_001
    assert told[-1].startswith("1,001 of 1,001 files")
    assert lake.runs() == Counter(["before", "large", "after", *(f"s{number}" for number in range(1_000))])
    assert not lake.rows("rejected")
    for old in ("large.ndjson", "dt=2026-03-01/0.ndjson"):
        os.utime(lake.files / old, (1, 1))
    lake.write("torn.ndjson", b"{", end=b"")
    lake.write("picture.png", b"\0")
    for kept in ("torn.ndjson", "picture.png"):
        os.utime(lake.files / kept, (time.time() - 7200,) * 2)
    assert lake.take(keep_s=3600.0)["deleted"] == 2
    assert not (lake.files / "large.ndjson").exists()
    assert (lake.files / "torn.ndjson").exists()
    assert sum(1 for _ in lake.files.rglob("*.ndjson")) == 1_000


KILLS = [
    "spark.after_landed_files:1",
    "stream.after_duplicates:1",
    "stream.after_events:1",
    "spark.after_landed_files:2",
]


@pytest.mark.parametrize(
    "places",
    [pytest.param(KILLS[1:3], id="twice"), pytest.param(KILLS * 2, id="at-each-step", marks=pytest.mark.long)],
)
def test_killed_at_any_step_each_record_has_one_place(lake: Lake, places: list[str]) -> None:
    expected: set[str] = set()
    for number, place in enumerate(places):
        expected |= {f"{number}-a", f"{number}-b"}
        lake.write(f"{number}.ndjson", event(f"{number}-a"), b"no json", event(f"{number}-b"), event("in both"))
        lake.add("grows.ndjson", event(f"{number}-a") + b"\n")
        killed(lake.spark, str(lake.world.folder / "lake"), place, str(lake.files))
    lake.take()
    assert lake.runs() == Counter(expected)
    assert len(lake.rows("rejected")) == len(places)
    assert len(lake.rows("duplicates")) == 2 * len(places)
    everywhere = [row["sequence"] for table in ("events", "rejected", "duplicates") for row in lake.rows(table)]
    assert len(everywhere) == len(set(everywhere)) == 5 * len(places)
    assert lake.balances()


def plugin_rows(*posted: tuple[str, str, str, bytes]) -> list[tuple[Any, ...]]:
    """Return rows of the plugin's table (docs/doors.md): each an id, a method, a path and a body."""
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        (id_, "app-1", "nightly", "driver", method, path, {"user-agent": "test"}, now, bytearray(body), now.date())
        for id_, method, path, body in posted
    ]


PLUGIN = (
    "id string, application_id string, application_name string, executor_id string, method string, path string, "
    "headers map<string,string>, received_at timestamp, body binary, dt date"
)


def test_tables_are_taken_as_they_grow_whatever_their_owner_does_with_them(lake: Lake, tmp_path: Path) -> None:
    posted, texts = str(tmp_path / "posted"), str(tmp_path / "texts")

    def add(table: str, rows: list[tuple[Any, ...]], schema: str) -> None:
        lake.spark.createDataFrame(rows, schema).write.format("delta").mode("append").save(table)

    several = b"[%s, %s, 1]" % (event("p2"), event("p3"))
    path, losses = "/api/v1/lineage", json.dumps({"headwater": LOSSES}).encode()
    add(
        posted,
        plugin_rows(
            ("1", "POST", path, event("p1")), ("2", "POST", f"{path}/batch?x=1", gzip.compress(several)),
            ("3", "GET", "/health", b""), ("4", "POST", "/flush", b"{}"), ("5", "LOSSES", "", losses),
            ("6", "POST", path, gzip.compress(event("p4"))[:20]),
        ),
        PLUGIN,
    )  # fmt: skip
    add(texts, [(1, event("j1").decode()), (2, event("in both").decode()), (3, None)], "n int, message string")
    lake.take(posted, "plugin")
    lake.take(texts, "texts")
    assert lake.runs("plugin") == Counter(["p1", "p2", "p3"])
    assert (len(lake.rows("events", "plugin")), len(lake.rows("rejected", "plugin"))) == (4, 2)
    assert json.loads(lake.rows("events", "plugin")[0]["http"])["id"] == "1"
    assert lake.rows("events", "plugin")[0]["received_at"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert (lake.runs("texts"), len(lake.rows("duplicates", "texts"))) == (Counter(["j1"]), 1)

    add(posted, plugin_rows(("7", "POST", path, event("p5"))), PLUGIN)
    table = DeltaTable.forPath(lake.spark, posted)
    table.optimize().executeCompaction()
    table.delete("id = '1'")
    lake.take(posted, "plugin")
    assert lake.runs("plugin") == Counter(["p1", "p2", "p3", "p5"])
    assert len(lake.rows("duplicates", "plugin")) == 0
    assert lake.balances()

    add(two := str(tmp_path / "two"), [("a", event("k1").decode())], "a string, b string")
    with pytest.raises(WrongSetting, match="It has a, b"):
        lake.take(two, "two")
    lake.take(two, "two", column="b")
    assert lake.runs("two") == Counter(["k1"])


def test_captured_records_are_taken_once(lake: Lake) -> None:
    hub = lake.files / "ns" / "hub"
    sent = {"k": int(RecordKind.EVENT), "h": '{"key": "spark"}'}
    capture(hub / "0" / "01.avro", (event("captured"), sent), (event("in both"), sent), (None, {}))
    lake.take(hub, "old-hub", kind="capture")
    capture(other := hub / "1" / "02.avro", (event("later"), sent | {"k": 1 << 40}), at="just now")
    assert lake.take(hub, "old-hub", kind="capture")["records_in_lake"] == 4
    stored = {row["run_id"]: row for row in lake.rows("events", "old-hub")}
    first, later = stored["captured"], stored["later"]
    assert (first["sequence"], later["sequence"]) == (1, BATCH_RECORDS + 1)
    assert (first["http"], first["received_at"].isoformat()) == ('{"key": "spark"}', "2026-03-01T13:02:03+00:00")
    assert later["received_at"].timestamp() == pytest.approx(other.stat().st_mtime, abs=0.001)
    assert [row["sequence"] for row in lake.rows("duplicates", "old-hub")] == [2]
    assert [row["sequence"] for row in lake.rows("rejected", "old-hub")] == [3]
    assert lake.balances()


def test_what_an_earlier_release_has_backfilled_is_not_taken_again(lake: Lake) -> None:
    """Its checkpoint is one of Spark's file source: made here by that source."""
    lake.write("old 1.ndjson", event("o1"))
    changed = lake.write("old2.ndjson", event("o2"))
    found = lake.spark.readStream.option("recursiveFileLookup", "true").format("text").load(str(lake.files))

    def take(batch: DataFrame, _: int) -> None:
        batch.count()

    checkpoint = f"{lake.world.folder}/lake/backfill/lines"
    writer = found.writeStream.option("checkpointLocation", checkpoint).trigger(availableNow=True)
    writer.foreachBatch(take).start().awaitTermination()
    lake.write("new.ndjson", event("n1"))
    changed.write_bytes(event("o2") + b"\n" + event("o3") + b"\n")
    os.utime(changed, (2e9, 2e9))
    assert lake.take()["files"] == 2
    assert lake.runs() == Counter(["n1", "o2", "o3"])


def test_wrong_settings_are_named_and_two_at_once_are_one(lake: Lake, tmp_path: Path) -> None:
    lake.write("a.ndjson", event("a"))
    data = str(lake.world.folder / "lake")
    wrong: list[tuple[Landing, str]] = [
        (Landing(str(lake.files), "a/b"), "no name of a log"),
        (Landing(str(tmp_path / "nowhere"), "x"), "Name a folder that is there"),
        (Landing(str(lake.files), "x", kind="xml"), "Formats: ndjson, capture, plugin, table"),
        (Landing(str(lake.files), "x", kind="plugin"), "No Delta table in"),
        (Landing(str(lake.files), "x", column="body"), "--column is for a table"),
        (Landing(f"{data}/bronze/rejected", "x", keep_s=1.0), "--since and --keep are for files"),
    ]
    for landing, words in wrong:
        with pytest.raises(WrongSetting, match=words):
            take_in(lake.spark, data, landing)
    with pytest.raises(WrongSetting, match="Start `headwater up`"):
        take_in(lake.spark, str(tmp_path), Landing(str(lake.files), "x"))
    with alone(lake.spark, data, "ingest/_lock"), pytest.raises(LakeUnavailable, match="Another"):
        lake.take()
    assert ingest([data, str(lake.files), "--name", "lines", "--since", "2100-01-01"])["files"] == 0
    assert ingest([data, str(lake.files), "--name", "lines", "--since", "2026-01-01"])["files"] == 1
