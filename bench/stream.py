"""Measure Kafka to bronze: events per second of a Spark stream on two cores, and of the parser in one process."""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import psutil

from bench.figures import Figure, show
from bench.generate import generate
from bench.parser import BATCH, KILOBYTES
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.kafka_clients import KafkaAddress
from headwater.intake.event_log.kafka_log import KafkaLog
from headwater.intake.event_log.kafka_reader import KafkaReaders
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.spark.log_ingest.topic_stream import TopicStream, run_stream
from headwater.spark.session import local_session
from tests.support.servers.kafka_broker import running_broker

EVENTS = 100_000
QUICK_EVENTS = 20_000
PARTITIONS = 4
CORES = 2
LARGEST = 900 << 10


def run(events: int = EVENTS) -> list[Figure]:
    """Measure both on the same topic of 8 KB events, after a small topic has warmed Spark up."""
    with tempfile.TemporaryDirectory(prefix="headwater-bench-") as name, running_broker(_made(name, "kafka")) as broker:
        folder = Path(name)
        for topic, count in (("warm", 2 * BATCH), ("measured", events)):
            broker.topic(topic, PARTITIONS)
            asyncio.run(_fill(KafkaAddress(broker.servers, topic, "bench"), generate(count, KILOBYTES, jobs=300)))
        address = KafkaAddress(broker.servers, "measured", "bench")
        parser_s, parser_us = timed(events, lambda: _parse(address, folder))
        with local_session(CORES, streams=True) as spark:
            run_stream(spark, TopicStream(KafkaAddress(broker.servers, "warm", "bench"), f"{name}/warm"))
            stream_s, stream_us = timed(events, lambda: run_stream(spark, TopicStream(address, f"{name}/spark")))
    return [
        Figure(f"{events:,} events: parser, one process: events/s", events / parser_s, "1/s", cpu_us=parser_us),
        Figure(f"{events:,} events: Spark, {CORES} cores: events/s", events / stream_s, "1/s", cpu_us=stream_us),
    ]


def _made(parent: str, name: str) -> Path:
    folder = Path(parent) / name
    folder.mkdir()
    return folder


async def _fill(address: KafkaAddress, bodies: Iterator[bytes]) -> None:
    log = KafkaLog(address, queued_bytes=64 << 20, largest_bytes=LARGEST, forget_claims=lambda: None)
    number = 0
    while found := list(islice(bodies, BATCH)):
        records = [Record(RecordKind.EVENT, body, "{}", str(number + place)) for place, body in enumerate(found)]
        await log.append(records, timeout_s=60)
        number += len(found)
    await log.aclose()


def _parse(address: KafkaAddress, folder: Path) -> None:
    bronze = Bronze(f"{folder}/parser/bronze")
    for reader in KafkaReaders(address)():
        parser = PartitionParser(reader, bronze, FolderClaims(folder / "claims"), "bench")
        while parser.commit_next():
            pass
        reader.close()


def timed(events: int, work: Callable[[], None]) -> tuple[float, float]:
    """Return wall time (s) and CPU per event (us), without the CPU time of the broker."""
    began, cpu = time.monotonic(), _cpu_s()
    work()
    return time.monotonic() - began, (_cpu_s() - cpu) * 1e6 / events


def _cpu_s() -> float:
    return sum(_own_cpu_s(process) for process in (psutil.Process(), *psutil.Process().children(recursive=True)))


def _own_cpu_s(process: psutil.Process) -> float:
    try:
        return 0.0 if "kafka.Kafka" in process.cmdline() else sum(process.cpu_times()[:2])
    except psutil.NoSuchProcess:  # a worker has just exited (also raised for zombies)
        return 0.0


def main() -> None:
    """Run the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="20,000 events instead of 100,000")
    show("Stream", run(QUICK_EVENTS if parser.parse_args().quick else EVENTS))


if __name__ == "__main__":
    main()
