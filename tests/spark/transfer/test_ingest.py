"""What landed in storage, into bronze: each record once, whatever grows, is cut off or is run again."""

import gzip
import json
import os
import signal
import time
from base64 import b64encode
from collections import Counter
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import DataFrame, SparkSession

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.events.transport_losses import FACET
from headwater.intake.event_log import RecordKind
from headwater.spark.file_ingest.append_only_sources import BATCH_RECORDS
from headwater.spark.file_ingest.file_plans import PART_BYTES
from headwater.spark.file_ingest.hadoop_files import HadoopFiles
from headwater.spark.file_ingest.ingest_job import ingest
from headwater.spark.file_ingest.source_kinds import StorageSource, ingest_source
from headwater.spark.one_pass import hold_lake_lock
from tests.support.data.capture_files import captured
from tests.support.data.parsing import World, event
from tests.support.lake_check import rows
from tests.support.spark.spark_driver import DELETE, driver, killed, standing
from tests.support.spark.spark_noise import SPARK_NOISE

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
        self.world.parser().commit_next()
        self.uri = str(self.world.folder / "lake")

    def take(self, place: object = None, name: str = "lines", **more: Any) -> dict[str, Any]:
        return ingest_source(self.spark, self.uri, StorageSource(str(place or self.files), name, **more))

    def killed(self, failpoint: str) -> None:
        """Take them by a process that is killed at a fail point."""
        killed(self.spark, self.uri, failpoint, str(self.files))

    def write(self, name: str, *lines: bytes, end: bytes = b"\n") -> Path:
        path = self.files / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"\n".join(lines) + end)
        return path

    def add(self, name: str, text: bytes) -> None:
        with (self.files / name).open("ab") as file:
            file.write(text)

    def age(self, name: str, modified_s: float = 1.0) -> None:
        """Let a file be one that nobody has written to since."""
        os.utime(self.files / name, (modified_s, modified_s))

    def rows(self, table: str, log: str = "lines", *, below: str = "") -> list[dict[str, Any]]:
        """Return the rows of a log; below: of files below this folder alone."""
        found = [row for row in rows(self.world.folder, table) if row["log"] == log]
        found = [row for row in found if not below or self._origin(row).startswith(below)]
        return sorted(found, key=lambda row: row["sequence"])

    def runs(self, log: str = "lines", *, below: str = "") -> Counter[str]:
        return Counter(row["run_id"] for row in self.rows("events", log, below=below) if row["run_id"])

    def origins(self, table: str, *, below: str) -> list[str]:
        """Return where rows stood, below a folder."""
        return sorted(self._origin(row).removeprefix(below) for row in self.rows(table, below=below))

    def balances(self) -> bool:
        return bool(self.world.audit()["balanced"])

    def _origin(self, row: dict[str, Any]) -> str:
        origin: str = json.loads(row["http"])["origin"]
        return origin.removeprefix(f"file:{self.files}/")


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    return Lake(spark, tmp_path)


LOSSES = {
    "transport": "onelake", "applicationName": "nightly", "dropped": 12, "queueFull": 12, "unserialisable": 0,
    "since": "2026-03-01T23:59:59.500Z", "until": "2026-03-02T00:00:01.500Z",
}  # fmt: skip


class TakenFolder(NamedTuple):
    """A lake into which files of one folder were taken as they came, and what each run said that was not killed.

    begun: the runs of the files that grow, as the first of them found them; repeated: how many records of all files it
    found in the lake already; told: how far it said it was.
    """

    lake: Lake
    first: dict[str, Any]
    told: list[str]
    begun: Counter[str]
    repeated: int
    third: dict[str, Any]
    fourth: dict[str, Any]
    last: dict[str, Any]


FILES, LARGE_FILES = 200, 1_000
KILLED = ("stream.after_duplicates:1", "stream.after_events:1")


@pytest.fixture(scope="module")
def taken(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> TakenFolder:
    """Take files of any form, that grow, and many: twice killed once they have grown, and until nothing is new."""
    lake, told = Lake(spark, tmp_path_factory.mktemp("landed")), list[str]()
    write_forms(lake)
    begin_to_grow(lake)
    write_many(lake, FILES)
    first = ingest_source(spark, lake.uri, StorageSource(str(lake.files), "lines"), told.append)
    begun, repeated = lake.runs(below="grows/"), len(lake.rows("duplicates"))
    grow(lake)
    for number, where in enumerate(KILLED):
        write_beside_a_kill(lake, number)
        lake.killed(where)
    third = lake.take()
    lake.add("grows/grows.ndjson", event("g4")[:-9])
    lake.age("grows/grows.ndjson")  # nobody writes there any more
    grow_old(lake)
    fourth = lake.take(keep_s=3600.0)
    return TakenFolder(lake, first, told, begun, repeated, third, fourth, lake.take())


def write_forms(lake: Lake) -> None:
    lake.write(f"forms/{DAY}/1-a-2events.ndjson", event("a1"), event("a2"), json.dumps({"headwater": LOSSES}).encode())
    lake.write(f"forms/{DAY}/.2-b-1events.ndjson.tmp", event("not whole"))
    lake.write(f"forms/{DAY}/3.ndjson.tmp", event("not renamed"))
    lake.write(f"forms/{DAY}/_hidden/4.ndjson", event("hidden"))
    lake.write("forms/single {1}[*] 50%20.json", event("one"), end=b"")
    lake.write("forms/list.json", b"[", event("l1") + b",", event("l2"), b"]")
    lake.write("forms/pretty.json", json.dumps(json.loads(event("pretty")), indent=2).encode())
    lake.write("forms/bad.ndjson", event("in both"), b"", b"no json", b'{"eventTime": 1}', event("a1"))
    lake.write("forms/picture.png", b"\x89PNG\0\0")
    lake.write("forms/empty.ndjson", end=b"")
    lake.write("forms/more.gz", gzip.compress(event("f1") + b"\n" + event("f2")), end=b"")


DAY = "dt=2026-03-01"
GROWN = event("g2")


def begin_to_grow(lake: Lake) -> None:
    lake.write("grows/grows.ndjson", event("g1"), GROWN[:40], end=b"")
    lake.write("grows/turns.log", event("t1"))
    lake.write("grows/gone.ndjson", event("v1"))
    lake.write("grows/grows.gz", gzip.compress(event("z1"))[:-9], end=b"")


def grow(lake: Lake) -> None:
    lake.add("grows/grows.ndjson", GROWN[40:] + b"\n" + event("g3") + b"\n")
    (lake.files / "grows/turns.log").rename(lake.files / "grows/turns.log.1")
    lake.add("grows/turns.log.1", event("t2") + b"\n")
    lake.write("grows/turns.log", event("t3"), event("t4"))
    (lake.files / "grows/gone.ndjson").unlink()
    lake.write("grows/grows.gz", gzip.compress(event("z1")), end=b"")


def write_many(lake: Lake, count: int) -> None:
    """Write so many files, and one with an event that is larger than what is read of a file at once."""
    for number in range(count):
        lake.write(f"many/dt=2026-03-{number % 28 + 1:02d}/{number}.ndjson", event(f"s{number}"))
    large = event("large", ["x" * (PART_BYTES // 3), "y"])
    assert len(large) > PART_BYTES
    lake.write("many/large.ndjson", event("before"), large, event("after"))


def grow_old(lake: Lake) -> None:
    """Let two files that were taken be old, and two that hold nothing whole."""
    for taken in ("large.ndjson", f"{DAY}/0.ndjson"):
        lake.age(f"many/{taken}")
    lake.write("many/torn.ndjson", b"{", end=b"")
    lake.write("many/picture.png", b"\0")
    for kept in ("torn.ndjson", "picture.png"):
        lake.age(f"many/{kept}", time.time() - 7200)


def write_beside_a_kill(lake: Lake, number: int) -> None:
    """Write a file of which one record is no event and one is in the lake, and a line more of a file that grows."""
    events = event(f"{number}-a"), b"no json", event(f"{number}-b"), event("in both")
    lake.write(f"kills/{number}.ndjson", *events)
    lake.add("kills/grows.ndjson", event(f"{number}-a") + b"\n")


def test_files_of_any_form_are_taken_once_with_where_each_line_stood(taken: TakenFolder) -> None:
    lake, found, forms = taken.lake, taken.first, "forms/"
    growing, many = (4, 2, 0, 3), (FILES + 1, 0, 0, FILES + 3)
    counted = (found["files"], found["waiting"], found["passed_over"], found["records_in_lake"])
    assert counted == tuple(map(sum, zip((7, 0, 1, 13), growing, many, strict=True)))
    assert lake.runs(below=forms) == Counter(["a1", "a2", "one", "l1", "l2", "pretty", "f1", "f2"])
    assert lake.origins("rejected", below=forms) == ["bad.ndjson:3", "bad.ndjson:4"]
    assert taken.repeated == 2
    stood = lake.origins("events", below=f"{forms}{DAY}/")
    assert stood == [f"1-a-2events.ndjson:{line}" for line in (1, 2, 3)]
    (loss,) = (row for row in lake.rows("events") if row["job_name"] == "nightly")
    assert json.loads(loss["body"])["job"]["facets"][FACET]["dropped"] == 12


def test_files_that_grow_are_read_on_and_what_vanishes_or_turns_over_costs_nothing(taken: TakenFolder) -> None:
    lake, grows = taken.lake, "grows/"
    assert taken.begun == Counter(["g1", "t1", "v1"])
    assert taken.third["waiting"] == 0
    assert lake.runs(below=grows) == Counter(["g1", "g2", "g3", "t1", "t2", "t3", "t4", "v1", "z1"])
    assert [row["reason"] for row in lake.rows("rejected", below=grows)] == ["not_json"]
    assert lake.origins("rejected", below=grows) == ["grows.ndjson:4"]


def test_many_files_and_an_event_larger_than_a_part_are_taken_and_deleted_once_they_are_old(taken: TakenFolder) -> None:
    lake, many = taken.lake, "many/"
    every = taken.first["files"]
    assert taken.told[-1].startswith(f"{every} of {every} files")
    assert lake.runs(below=many) == Counter(["before", "large", "after", *(f"s{number}" for number in range(FILES))])
    assert not lake.rows("rejected", below=many)
    assert (taken.fourth["deleted"], taken.fourth["waiting"]) == (3, 1), "two of these, and what grew before"
    assert not (lake.files / "many/large.ndjson").exists()
    assert (lake.files / "many/torn.ndjson").exists()
    assert sum(1 for _ in (lake.files / "many").rglob("*.ndjson")) == FILES


@pytest.mark.parametrize(
    ("where", "written", "left"),
    [
        ("looked", "ab", {"a.ndjson": b"onetwo"}),
        ("looked", "wb", {"a.ndjson": b"two"}),
        ("renamed", "ab", {"a.ndjson": b"two"}),
    ],
)
def test_what_is_written_while_a_file_is_deleted_is_kept(
    spark: SparkSession, tmp_path: Path, where: str, written: str, left: dict[str, bytes]
) -> None:
    path = tmp_path / "a.ndjson"
    path.write_bytes(b"one")
    os.utime(path, (1_000_000, 1_000_000))
    process = driver(spark, DELETE, f"deletion.{where}:halt", str(path), "3", str(1_000_000 * 1_000_000))
    with standing(process):
        with path.open(written) as file:
            file.write(b"two")
        process.send_signal(signal.SIGCONT)
        assert process.communicate(timeout=300)[1] == ""
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == left
    assert not HadoopFiles(spark).delete(str(tmp_path / "gone"), 3, 0)


def test_killed_at_any_step_each_record_has_one_place(taken: TakenFolder) -> None:
    once_more = 1  # under its file's other name
    is_taken_once(taken.lake, len(KILLED), repeated=taken.repeated + once_more)
    assert (taken.last["files"], taken.last["records_in_lake"]) == (0, len(everywhere(taken.lake)))


def is_taken_once(lake: Lake, kills: int, *, repeated: int = 0) -> None:
    """Hold what was written beside kills against the lake; repeated: so many records of other files were known."""
    expected = {f"{number}-{which}" for number in range(kills) for which in "ab"}
    assert lake.runs(below="kills/") == Counter(expected)
    assert len(lake.rows("rejected", below="kills/")) == kills
    assert len(lake.rows("duplicates")) == repeated + 2 * kills
    sequences = everywhere(lake)
    assert len(set(sequences)) == len(sequences)
    assert lake.balances()


def everywhere(lake: Lake) -> list[int]:
    """Return the sequences of all records, wherever each is."""
    return [row["sequence"] for table in ("events", "rejected", "duplicates") for row in lake.rows(table)]


@pytest.mark.long  # the first files of `taken` are killed at two of them
def test_killed_at_each_step_each_record_has_one_place(lake: Lake) -> None:
    steps = ("spark.after_landed_files:1", *KILLED, "spark.after_landed_files:2") * 2
    for number, where in enumerate(steps):
        write_beside_a_kill(lake, number)
        lake.killed(where)
    lake.take()
    is_taken_once(lake, len(steps))


@pytest.mark.long  # `taken` has fewer
def test_a_thousand_files_are_taken_once(lake: Lake) -> None:
    write_many(lake, LARGE_FILES)
    assert lake.take()["files"] == LARGE_FILES + 1
    assert lake.runs() == Counter(["before", "large", "after", *(f"s{number}" for number in range(LARGE_FILES))])
    assert lake.take()["files"] == 0


def plugin_rows(*posted: tuple[str, str, str, bytes]) -> list[tuple[Any, ...]]:
    """Return rows of the plugin's table (docs/how-to/data-engineer/offline-ingestion.md): each an id, a method, a
    path and a body.
    """
    now = datetime(2026, 3, 1, tzinfo=UTC)
    return [
        (id_, "app-1", "nightly", "driver", method, path, [("user-agent", "test")], now, body, now.date())
        for id_, method, path, body in posted
    ]


PLUGIN = pa.schema({
    "id": pa.string(), "application_id": pa.string(), "application_name": pa.string(), "executor_id": pa.string(),
    "method": pa.string(), "path": pa.string(), "headers": pa.map_(pa.string(), pa.string()),
    "received_at": pa.timestamp("us", "UTC"), "body": pa.binary(), "dt": pa.date32(),
})  # fmt: skip
TEXTS = pa.schema({"n": pa.int32(), "message": pa.string()})
TWO = pa.schema({"a": pa.string(), "b": pa.string()})


def add(table: str, rows: list[tuple[Any, ...]], schema: pa.Schema) -> None:
    """Append rows to a Delta table, as its owner does."""
    columns = [pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)]
    write_deltalake(table, pa.table(columns, schema=schema), mode="append")


def leave(table: str, id_: str, body: bytes) -> None:
    """Leave a body and a torn line beside the plugin's table, as a session does that ends without a flush."""
    line = {
        "id": id_, "application_id": "app-2", "application_name": "nightly", "executor_id": "driver", "method": "POST",
        "path": "/api/v1/lineage", "headers": {"a": "b"}, "received_at": "2026-03-01T23:59:59.500Z",
        "body": b64encode(body).decode(),
    }  # fmt: skip
    file = Path(table, "_headwater", f"batch-{id_}.ndjson")
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps(line, separators=(",", ":")) + '\n{"id":"9"')


def test_tables_are_taken_as_they_grow_whatever_their_owner_does_with_them(lake: Lake, tmp_path: Path) -> None:
    posted, texts = str(tmp_path / "posted"), str(tmp_path / "texts")

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
    add(texts, [(1, event("j1").decode()), (2, event("in both").decode()), (3, None)], TEXTS)
    lake.take(posted, "plugin")
    lake.take(texts, "texts")
    assert lake.runs("plugin") == Counter(["p1", "p2", "p3"])
    assert (len(lake.rows("events", "plugin")), len(lake.rows("rejected", "plugin"))) == (4, 2)
    assert json.loads(lake.rows("events", "plugin")[0]["http"])["id"] == "1"
    assert lake.rows("events", "plugin")[0]["received_at"] == datetime(2026, 3, 1, tzinfo=UTC)
    assert (lake.runs("texts"), len(lake.rows("duplicates", "texts"))) == (Counter(["j1"]), 1)

    add(posted, plugin_rows(("7", "POST", path, event("p5"))), PLUGIN)
    table = DeltaTable(posted)
    table.optimize.compact()
    table.delete("id = '1'")
    lake.take(posted, "plugin")
    assert lake.runs("plugin") == Counter(["p1", "p2", "p3", "p5"])
    assert len(lake.rows("duplicates", "plugin")) == 0

    leave(posted, "8", event("p6"))
    assert lake.take(posted, "plugin")["left"] == 0
    assert lake.runs("plugin") == Counter(["p1", "p2", "p3", "p5", "p6"]), "what a session left beside its table"
    [row] = DeltaTable(posted).to_pyarrow_table(filters=[("id", "=", "8")]).to_pylist()
    assert (row["received_at"], row["dt"]) == (datetime(2026, 3, 1, 23, 59, 59, 500_000, UTC), date(2026, 3, 1))
    assert (row["executor_id"], dict(row["headers"]), row["application_name"]) == ("driver", {"a": "b"}, "nightly")
    leave(posted, "8", event("p6"))
    lake.take(posted, "plugin")
    assert (len(lake.rows("duplicates", "plugin")), list(Path(posted, "_headwater").iterdir())) == (0, []), "once"
    assert lake.balances()

    add(two := str(tmp_path / "two"), [("a", event("k1").decode())], TWO)
    with pytest.raises(WrongSetting, match="Columns of text or bytes: a, b"):
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
    wrong: list[tuple[StorageSource, str]] = [
        (StorageSource(str(lake.files), "a/b"), "not a valid name of a log"),
        (StorageSource(str(tmp_path / "nowhere"), "x"), "Use an existing folder"),
        (StorageSource(str(lake.files), "x", kind="xml"), "Formats: ndjson, capture, plugin, table"),
        (StorageSource(str(lake.files), "x", kind="plugin"), "No Delta table in"),
        (StorageSource(str(lake.files), "x", column="body"), "--column is for a table"),
        (StorageSource(f"{data}/bronze/rejected", "x", keep_s=1.0), "--since and --keep are for files"),
    ]
    for landing, words in wrong:
        with pytest.raises(WrongSetting, match=words):
            ingest_source(lake.spark, data, landing)
    with pytest.raises(WrongSetting, match="Start `headwater up`"):
        ingest_source(lake.spark, str(tmp_path), StorageSource(str(lake.files), "x"))
    with hold_lake_lock(lake.spark, data, "ingest/_lock"), pytest.raises(LakeUnavailable, match="Another"):
        lake.take()
    assert ingest([data, str(lake.files), "--name", "lines", "--since", "2100-01-01"])["files"] == 0
    assert ingest([data, str(lake.files), "--name", "lines", "--since", "2026-01-01"])["files"] == 1
