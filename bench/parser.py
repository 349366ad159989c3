"""Measure the parser, from log to Delta on one core: CPU per event and stage. The floor only decodes and writes."""

import argparse
import asyncio
import os
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from bench.figures import QUICK_ROUNDS, ROUNDS, Figure, middle, show
from bench.generate import generate
from headwater.common.errors import InvalidEvent
from headwater.events.event import Event
from headwater.events.event_reader import EventReader
from headwater.events.redaction import may_need_redaction
from headwater.intake.event_log import LoggedRecord, Record, RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.sqlite_log import SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.bronze_batch import ParserContext, build_batch
from headwater.intake.parser.dedupe_window import DedupeWindow
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze

BATCH = 1000
BATCHES = 4
JOBS = 300
KILOBYTES = 8


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Measure recurring jobs and lineage that is always new, each in rounds of 4 batches of 1,000 events."""
    cores = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(cores)})
    try:
        return [
            *_measure("300 recurring jobs", rounds, goal=10_000, new_lineage=False),
            *_measure("lineage always new", rounds, goal=4_000, new_lineage=True),
        ]
    finally:
        os.sched_setaffinity(0, cores)


def _measure(name: str, rounds: int, *, goal: float, new_lineage: bool) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as folder:
        count = (rounds * BATCHES + 1) * BATCH  # the first batch is not measured: it fills the caches
        log = fill_log(Path(folder) / "log", generate(count, KILOBYTES, jobs=JOBS, new_lineage=new_lineage))
        bronze = Bronze(f"{folder}/bronze")
        parser = PartitionParser(log, bronze, FolderClaims(Path(folder) / "claims"), "bench")
        parser.commit_delivery(log.read(0, limit=BATCH, max_bytes=1 << 30))
        pairs = []
        for number in range(rounds):
            first = BATCH + number * BATCHES * BATCH
            pairs.append((_parse(parser, log, first), _floor(log, first, f"{folder}/floor")))
        stages = _Stages(log, Bronze(f"{folder}/stages"))
        for number in range(rounds * BATCHES + 1):
            stages.take(log.read(number * BATCH, limit=BATCH, max_bytes=1 << 30), keep=number > 0)
        log.close()
    ours, floor = middle([pair[0] for pair in pairs]), middle([pair[1] for pair in pairs])
    ratio = middle([pair[0] / pair[1] for pair in pairs])
    rate = Figure(f"{name}: events/s on one core", 1e6 / ours, "1/s", goal, ">=", 1e6 / floor, ratio, ours)
    return [rate, *(Figure(f"  {stage}", cpu_us, "us", cpu_us=cpu_us) for stage, cpu_us in stages.figures())]


def fill_log(folder: Path, bodies: Iterator[bytes]) -> SqliteLogReader:
    """Write event bodies to a log and return its reader."""

    async def fill() -> None:
        log = SqliteLog(folder)
        while records := [Record(RecordKind.EVENT, body) for _, body in zip(range(BATCH), bodies, strict=False)]:
            await log.append(records, timeout_s=60)
        await asyncio.to_thread(log.close)

    asyncio.run(fill())
    return SqliteLogReader(folder)


def _parse(parser: PartitionParser, log: SqliteLogReader, after: int) -> float:
    """Parse 4 batches; returns CPU per event (us), including reading the log."""
    began = time.process_time()
    for first in range(after, after + BATCHES * BATCH, BATCH):
        parser.commit_delivery(log.read(first, limit=BATCH, max_bytes=1 << 30))
    return (time.process_time() - began) * 1e6 / (BATCHES * BATCH)


def _floor(log: SqliteLogReader, after: int, uri: str) -> float:
    """Decode and write (sequence, body) of the same batches; returns CPU per event (us)."""
    began = time.process_time()
    for first in range(after, after + BATCHES * BATCH, BATCH):
        records = log.read(first, limit=BATCH, max_bytes=1 << 30)
        for record in records:
            msgspec.json.decode(record.body)
        sequences = pa.array([record.sequence for record in records], pa.int64())
        bodies = pa.array([record.body.decode() for record in records], pa.string())
        write_deltalake(uri, pa.table({"sequence": sequences, "body": bodies}), mode="append")
    return (time.process_time() - began) * 1e6 / (BATCHES * BATCH)


class _Stages:
    """Runs the stages of the parser separately and measures the CPU time of each."""

    def __init__(self, log: SqliteLogReader, bronze: Bronze):
        self._log = log
        self._bronze = bronze
        self._reader = EventReader()
        self._hashes: set[bytes] = set()
        self._window = DedupeWindow()
        self._spent: dict[str, list[float]] = defaultdict(list)
        self._keep = False
        bronze.create("bench", log.source.epoch)

    def take(self, records: Sequence[LoggedRecord], *, keep: bool) -> None:
        """Run a batch through all stages; `keep` records the times."""
        self._keep = keep
        last = records[-1].sequence
        with self._stage("read the log"):
            self._log.read(records[0].sequence - 1, limit=len(records), max_bytes=1 << 30)
        bodies = [record.body for record in records]
        with self._stage("scan for secrets"):
            may_need_redaction(bodies)
        with self._stage("decode and digest, scan included"):
            events = self._reader.read(bodies)
        before = ParserContext(records[0].sequence - 1, self._window, self._hashes, ())
        with self._stage("rows"):
            claims = FolderClaims(Path(self._bronze.events.uri).parent / "claims")
            batch = build_batch(self._log.source, records, before, _ReadAlready(events), claims)
        self._hashes |= batch.hashes
        for name, table in self._bronze.tables.items():
            rows = batch.rows.get(name, [])
            if not rows and table is not self._bronze.events:
                continue
            with self._stage(f"arrow: {name}"):
                ready = table.prepare(rows)
            with self._stage(f"commit: {name}"):
                table.append_once(self._log.source.app_id, ready, last)

    def figures(self) -> list[tuple[str, float]]:
        """Return each stage and its CPU per event (us), the median of all batches."""
        return [(stage, middle(spent)) for stage, spent in self._spent.items()]

    @contextmanager
    def _stage(self, name: str) -> Iterator[None]:
        began = time.process_time()
        yield
        if self._keep:
            self._spent[name].append((time.process_time() - began) * 1e6 / BATCH)


class _ReadAlready(EventReader):
    """Returns events that were decoded before, so that only building rows is measured."""

    def __init__(self, events: list[Event | InvalidEvent]):
        super().__init__()
        self._events = events

    def read(self, bodies: Sequence[bytes]) -> list[Event | InvalidEvent]:  # noqa: ARG002 - the reader's interface
        return self._events


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    show("Parser", run(QUICK_ROUNDS if parser.parse_args().quick else ROUNDS))


if __name__ == "__main__":
    main()
