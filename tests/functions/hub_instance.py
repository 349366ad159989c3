"""An instance of a Function App on the hub, in a separate process that does the work of the Functions host.

Microsoft's event processor (azure-eventhub) assigns the partitions, as between real instances. Its leases and
checkpoints are blobs (BlobCheckpointStore). This module imitates the host: it gathers events as configured in the
package's host.json, repeats failed deliveries with growing pauses, and writes a checkpoint after a success. When
standard input ends, the process accepts no new events, finishes deliveries in progress and releases its partitions. It
reports on standard output, one JSON object per line.
"""

import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any

from azure.core.credentials import AzureNamedKeyCredential
from azure.eventhub import EventData
from azure.eventhub.aio import EventHubConsumerClient, PartitionContext
from azure.eventhub.extensions.checkpointstoreblobaio import BlobCheckpointStore

from tests.functions.host import App, running
from tests.support.servers.azurite import ACCOUNT, KEY
from tests.support.servers.event_hub import Stored

_LONGEST_S = 60.0
"""The longest pause before a repeated delivery: `maximum_interval` of the parser's trigger."""
_LOOK_S = 0.2


@dataclass(frozen=True, slots=True)
class Gathering:
    """When the host delivers gathered events of a partition: at a number of events, or some time after the first."""

    least: int
    most: int
    wait_s: float

    @classmethod
    def of(cls, package: Path) -> "Gathering":
        """Read the values from host.json."""
        hubs = json.loads((package / "host.json").read_text())["extensions"]["eventHubs"]
        hours, minutes, seconds = map(int, hubs["maxWaitTime"].split(":"))
        wait = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return cls(hubs["minEventBatchSize"], hubs["maxEventBatchSize"], wait.total_seconds())


@dataclass(slots=True)
class _Gathered:
    """Events of one partition that wait for delivery."""

    events: list[EventData] = field(default_factory=list)
    since: float = 0.0


class Instance:
    """The host of one worker."""

    def __init__(self, app: App, gathering: Gathering) -> None:
        self._app = app
        self._gathering = gathering
        self._gathered: dict[str, _Gathered] = {}
        self._one_call = threading.Lock()
        self._under_way: set[asyncio.Task[None]] = set()
        self._drains = False

    async def owns(self, context: PartitionContext) -> None:
        """Start a partition from the checkpoint, without the events gathered before the lease was lost."""
        self._gathered[context.partition_id] = _Gathered()
        _say(owns=context.partition_id)

    async def take(self, context: PartitionContext, events: list[EventData]) -> None:
        """Gather events and deliver them when it is time."""
        gathered = self._gathered[context.partition_id]
        if not gathered.events:
            gathered.since = time.monotonic()
        gathered.events += events
        waited = time.monotonic() - gathered.since >= self._gathering.wait_s
        if gathered.events and (waited or len(gathered.events) >= self._gathering.least) and not self._drains:
            batch, gathered.events = (
                gathered.events[: self._gathering.most],
                gathered.events[self._gathering.most :],
            )
            task = asyncio.create_task(self._deliver(context, batch))
            self._under_way.add(task)
            task.add_done_callback(self._under_way.discard)
            await task  # losing the partition's lease cancels the await, but the worker continues, as in Azure

    async def drain(self) -> None:
        """Accept no new events and wait for deliveries in progress."""
        self._drains = True
        await asyncio.gather(*self._under_way, return_exceptions=True)

    async def _deliver(self, context: PartitionContext, events: list[EventData]) -> None:
        stored, pause_s = [_stored(event) for event in events], 1.0
        while failure := await asyncio.to_thread(self._call, context.partition_id, stored):
            _say(failure=failure, partition=context.partition_id)
            await asyncio.sleep(pause_s)
            pause_s = min(_LONGEST_S, 2 * pause_s)
        await context.update_checkpoint(events[-1])
        _say(delivered=len(events), partition=context.partition_id, last=stored[-1].sequence)

    def _call(self, partition: str, events: list[Stored]) -> str | None:
        with self._one_call:
            try:
                return self._app.deliver(events, partition=partition)
            except (AssertionError, OSError):
                os._exit(1)  # the worker was killed; the platform would replace the instance


def _stored(event: EventData) -> Stored:
    assert event.sequence_number is not None
    assert event.enqueued_time
    properties = dict(event.properties or {})
    body = b"".join(bytes(part) for part in event.body)  # type: ignore[union-attr,arg-type] # of ours it is bytes
    return Stored(event.sequence_number, round(event.enqueued_time.timestamp() * 1000), None, body, properties)


def _say(**what: Any) -> None:
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


async def _run(app: App, asked: Mapping[str, Any]) -> None:
    gathering = Gathering.of(Path(asked["package"]))
    instance = Instance(app, gathering)
    store = BlobCheckpointStore(
        asked["leases_url"], asked["leases_container"], credential=AzureNamedKeyCredential(ACCOUNT, KEY)
    )
    client = EventHubConsumerClient.from_connection_string(
        asked["hub"], asked["group"], eventhub_name=asked["hub_name"], checkpoint_store=store,
        load_balancing_interval=asked["renew_s"], partition_ownership_expiration_interval=asked["expire_s"],
    )  # fmt: skip
    receiving = asyncio.create_task(
        client.receive_batch(
            instance.take, max_batch_size=gathering.most, max_wait_time=_LOOK_S, starting_position="-1",
            on_partition_initialize=instance.owns,
        )
    )  # fmt: skip
    _say(ready=os.getpid())
    await asyncio.to_thread(sys.stdin.read)
    await instance.drain()
    await client.close()
    receiving.cancel()
    await asyncio.gather(receiving, return_exceptions=True)
    await store.close()
    _say(drained=True)


def main() -> None:
    """Run one instance. The only argument contains its configuration as JSON."""
    asked = json.loads(sys.argv[1])
    with running(Path(asked["package"]), Path(asked["log"]), **asked["settings"]) as app:
        asyncio.run(_run(app, asked))


if __name__ == "__main__":
    main()
