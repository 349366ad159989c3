"""Read an event hub in order, across gaps and faults, without mistaking silence for an empty partition."""

import asyncio
import gc
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from azure.eventhub import EventData
from azure.eventhub.aio import EventHubProducerClient
from msgspec import to_builtins

from headwater.api.audit import audit, log_state
from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log import LoggedRecord, Record, RecordKind, call_all_readers
from headwater.intake.event_log.event_hub_clients import HubAddress
from headwater.intake.event_log.event_hub_reader import HubReader, HubReaders
from headwater.intake.event_log.event_hub_records import properties_of
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.lake.bronze_tables import Bronze
from headwater.operations.local.log_epochs import begin_epoch
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.storage import OWNER, open_bronze
from headwater.operations.settings import Settings, load_settings
from tests.support.data.parsing import event, note
from tests.support.servers.event_hub import SECRET, Fault, HubServer

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]  # when opening a link is interrupted, the SDK leaves its socket to the garbage collector

MANY = {"limit": 1000, "max_bytes": 1 << 20}
WAIT_S = 30.0


@pytest.fixture
def hub() -> Iterator[HubServer]:
    with HubServer() as started:
        yield started
    gc.collect()


@pytest.fixture
def readers(hub: HubServer) -> Iterator[HubReaders]:
    opened = HubReaders(HubAddress("openlineage", connection=hub.connection_string), "headwater")
    yield opened
    hub.switch(None)
    call_all_readers(opened(), lambda reader: reader.close())


def put(hub: HubServer, partition: int, *records: Record) -> None:
    """Send records to a partition as one batch, with one event per record."""

    async def send() -> None:
        client = EventHubProducerClient.from_connection_string(hub.connection_string, eventhub_name=hub.name)
        async with client:
            batch = await client.create_batch(partition_id=str(partition))
            for record in records:
                data = EventData(record.body)
                data.properties = properties_of(record)
                batch.add(data)
            await client.send_batch(batch)

    asyncio.run(send())


def events(*runs: object) -> list[Record]:
    return [Record(RecordKind.EVENT, event(run)) for run in runs]


def read(reader: HubReader, after: int, count: int) -> list[LoggedRecord]:
    """Read until `count` records have arrived. The reader itself never waits."""
    with_deadline = asyncio.new_event_loop()

    async def look() -> list[LoggedRecord]:
        async with asyncio.timeout(WAIT_S):
            while len(found := reader.read(after, **MANY)) < count:
                await asyncio.sleep(0.02)
            return found

    try:
        return with_deadline.run_until_complete(look())
    finally:
        with_deadline.close()


def read_again(reader: HubReader, after: int, count: int) -> list[LoggedRecord]:
    """Read as the parser does: ask a hub that does not answer again."""
    until = time.monotonic() + WAIT_S
    while True:
        try:
            return read(reader, after, count)
        except LogUnavailable:
            if time.monotonic() > until:
                raise


def test_records_come_as_they_were_put_numbered_from_one(hub: HubServer, readers: HubReaders) -> None:
    put(
        hub,
        1,
        Record(RecordKind.EVENT, b"one", '{"key":"spark"}'),
        Record(RecordKind.CLAIM, b"two"),
        Record(RecordKind.REFUSAL, b"3"),
    )
    empty, full = readers()
    assert (empty.head(), empty.tail(), empty.read(0, **MANY)) == (1, 0, [])
    found = read(full, 0, 3)
    assert [(each.sequence, each.kind, each.http, each.body) for each in found] == [
        (1, RecordKind.EVENT, '{"key":"spark"}', b"one"),
        (2, RecordKind.CLAIM, "{}", b"two"),
        (3, RecordKind.REFUSAL, "{}", b"3"),
    ]
    assert full.read(0, limit=1, max_bytes=1) == found[:1]
    assert full.read(0, **MANY) == found, "records must remain until the parser has passed them"
    assert full.read(2, **MANY) == found[2:]
    assert [each.sequence for each in read(full, 1, 2)] == [2, 3], (
        "the reader must return records again if the parser goes back"
    )
    assert (full.head(), full.tail(), full.pending(1), full.lost_up_to(0)) == (1, 3, 2, 0)
    assert full.received_us(3) == found[2].received_us == hub.stored(1)[2].enqueued_ms * 1000
    assert full.received_us(4) is None
    assert [each.source for each in readers()] == [empty.source, full.source]
    assert full.source.app_id == f"parser/openlineage/{full.source.epoch}/1"


def test_a_range_is_read_whole_or_known_to_be_lost(hub: HubServer, readers: HubReaders) -> None:
    put(hub, 0, *events(*range(10)))
    reader = readers()[0]

    def between(after: int, before: int) -> list[int]:
        return [each.sequence for each in reader.read_between(after, before, **MANY)]

    assert between(3, 8) == [4, 5, 6, 7]
    hub.expire(0, before=5)
    assert between(3, 8) == [6, 7]
    assert between(2, 6) == []
    assert reader.head() == 6
    assert reader.received_us(3) == reader.received_us(6) == hub.stored(0)[-5].enqueued_ms * 1000


FAULTS = {
    Fault.TOKEN_REFUSED: "rejects the token",
    Fault.NOT_ALLOWED: "does not allow this identity to receive",
    None: "cannot be reached",
}
"""Each fault, and the words that report it. None: the hub does not listen."""


def test_a_fault_is_said_and_afterwards_reading_goes_on(hub: HubServer, readers: HubReaders) -> None:
    put(hub, 0, *events(*range(10)))
    reader = readers()[0]
    for number, (fault, words) in enumerate(FAULTS.items()):
        assert len(read_again(reader, number, 10 - number)) == 10 - number
        hub.switch(fault)
        (hub.down if fault is None else hub.hang_up)()
        # the reader still returns records that have arrived, but reports the fault for later ones
        with pytest.raises(LogUnavailable) as caught:
            read(reader, 10, 1)
        assert words in str(caught.value) or "closed the connection" in str(caught.value)
        with pytest.raises(LogUnavailable, match=r"policy allows to receive|cannot be reached") as caught:
            reader.tail()
        assert SECRET not in str(caught.value)
        if fault is None:
            hub.up()
        hub.switch(None)
        reader.close()
    assert len(read_again(reader, 9, 1)) == 1


class Lake:
    """A lake with the events of a hub."""

    def __init__(self, folder: Path, hub: HubServer, readers: HubReaders) -> None:
        given = {"HEADWATER_LOG": "event_hub", "HEADWATER_HUB_CONNECTION": hub.connection_string}
        self.settings: Settings = load_settings({"data": folder}, folder=folder, environment=given)[0]
        self.folder = prepare_folder(self.settings)
        self.bronze: Bronze = open_bronze(self.settings)
        self.readers = readers

    def parser(self, partition: int = 0) -> PartitionParser:
        return PartitionParser(self.readers()[partition], self.bronze, FolderClaims(self.folder / "claims"), OWNER)

    def parse(self, partition: int, until: int) -> None:
        parser = self.parser(partition)
        read(self.readers()[partition], parser.watermark(), 1)
        while parser.watermark() < until:
            parser.commit_next()

    def audit(self) -> dict[str, int]:
        found: dict[str, int] = to_builtins(audit(self.readers(), self.bronze))
        return found

    def check(self, **counts: int) -> None:
        found = self.audit()
        assert found | {"balanced": True} | counts == found


def test_partitions_are_parsed_each_by_itself_and_the_audit_counts_them_all(
    hub: HubServer, readers: HubReaders, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, hub, readers)
    put(hub, 0, *events(1, 2, 1), Record(RecordKind.EVENT, b"{}"))
    put(hub, 1, *events(3), Record(RecordKind.REFUSAL, note()))
    lake.parse(0, until=4)
    lake.check(stored=2, duplicates=1, rejected=1, pending=2)
    lake.parse(1, until=2)
    lake.check(received=5, stored=3, refused=1, pending=0)
    state = log_state(readers(), lake.bronze)
    assert [(item["head"], item["tail"], item["passed"]) for item in state["items"]] == [(1, 4, 4), (1, 2, 2)]


def test_what_a_delivery_leaves_out_is_read_from_the_hub_and_what_it_has_lost_is_a_gap(
    hub: HubServer, readers: HubReaders, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, hub, readers)
    put(hub, 0, *events(*range(10)))
    delivered = read(readers()[0], 0, 10)
    parser = lake.parser()
    assert parser.commit_delivery(delivered[4:6]) == 2
    assert parser.watermark() == 6
    lake.check(stored=6, rejected=0)
    hub.expire(0, before=8)
    assert parser.commit_delivery(delivered[9:]) == 1
    lake.check(stored=8, rejected=0, lost=2, pending=0, balanced=False)
    assert parser.commit_delivery([replace(each, body=b"") for each in delivered]) == 0, (
        "a repeated delivery is already stored"
    )


def test_a_hub_that_was_created_anew_is_refused_until_the_lake_is_told(
    hub: HubServer, readers: HubReaders, tmp_path: Path
) -> None:
    lake = Lake(tmp_path, hub, readers)
    put(hub, 0, *events(1, 2, 3))
    lake.parse(0, until=3)
    old = readers()[0]
    hub.recreate()
    put(hub, 0, *events(3, 4))
    with pytest.raises(WrongSetting, match="headwater log new-epoch"):
        lake.parser()
    assert readers()[0] is not old
    begin_epoch(lake.settings)
    lake.check(received=5, stored=3, pending=2)
    lake.parse(0, until=2)
    lake.check(received=5, stored=4, duplicates=1)
    begin_epoch(lake.settings)  # for the same hub, no new epoch starts
    lake.check(received=5, stored=4, duplicates=1)
