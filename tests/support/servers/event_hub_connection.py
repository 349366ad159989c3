"""One AMQP connection of the test event hub.

It uses the codec of the Azure SDK, so it tests our requests, not the wire format. Frames arrive as lists of fields in
the order of the AMQP specification. Both directions use the client's handles.
"""

import asyncio
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

from azure.eventhub._pyamqp import outcomes
from azure.eventhub._pyamqp._decode import decode_frame, decode_payload
from azure.eventhub._pyamqp._encode import encode_frame, encode_payload
from azure.eventhub._pyamqp.endpoints import Source, Target
from azure.eventhub._pyamqp.error import AMQPError
from azure.eventhub._pyamqp.message import Message, Properties
from azure.eventhub._pyamqp.performatives import (
    AttachFrame,
    BeginFrame,
    CloseFrame,
    DetachFrame,
    DispositionFrame,
    EndFrame,
    FlowFrame,
    OpenFrame,
    SASLMechanism,
    SASLOutcome,
    TransferFrame,
)

if TYPE_CHECKING:
    from tests.support.servers.event_hub import HubServer

MAX_FRAME = 65536
_WINDOW = (1 << 31) - 1
_PARTITION = re.compile(rb"/ConsumerGroups/([^/]+)/Partitions/(\d+)$")
_SENT_TO = re.compile(rb"/Partitions/(\d+)$")
_POSITION = re.compile(rb"x-opt-(sequence-number|offset) (>=?) '(-?\d+)'")


class Dropped(Exception):
    """Close the connection because of the current fault."""


@dataclass(slots=True)
class _Link:
    """A link of a session on which the client receives or sends."""

    handle: int
    address: bytes
    is_receiver: bool
    parts: bytearray = field(default_factory=bytearray)
    credit: int = 0
    position: int = 0
    more_credit: asyncio.Event = field(default_factory=asyncio.Event)
    task: asyncio.Task[None] | None = None


class HubConnection:
    """Serve one client until it disconnects or a fault ends the connection."""

    def __init__(self, hub: "HubServer", reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._hub = hub
        self._reader = reader
        self._writer = writer
        self._links: dict[tuple[int, int], _Link] = {}
        self._deliveries = count()
        self._later: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        try:
            await self._greet()
            while (frame := await self._read()) is not None:
                await self._take(*frame)
        except (Dropped, ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            for task in (*self._later, *(link.task for link in self._links.values() if link.task)):
                task.cancel()
            self._writer.close()

    def detach_all(self, condition: bytes) -> None:
        """Detach every link except those of the service itself, as a hub does with idle links."""
        for (channel, handle), link in list(self._links.items()):
            if not link.address.startswith(b"$"):
                self._detach(channel, handle, condition, b"The link was idle for too long.")

    def hang_up(self) -> None:
        self._writer.close()

    async def _greet(self) -> None:
        await self._reader.readexactly(8)
        self._writer.write(b"AMQP\x03\x01\x00\x00")
        self._send(0, SASLMechanism(sasl_server_mechanisms=[b"ANONYMOUS", b"MSSBCBS"]), b"\x01")
        assert await self._read(), "the client names its mechanism"
        self._send(0, SASLOutcome(code=0, additional_data=None), b"\x01")

    async def _read(self) -> tuple[int, int, list[Any]] | None:
        while True:
            head = await self._reader.readexactly(8)
            if head.startswith(b"AMQP"):
                self._writer.write(head)
                continue
            size, offset, _, channel = struct.unpack(">IBBH", head)
            data = await self._reader.readexactly(size - 8)
            if data:
                kind, fields = decode_frame(memoryview(data)[offset * 4 - 8 :])
                return channel, kind, fields

    def _send(self, channel: int, frame: Any, kind: bytes = b"\x00") -> None:
        head, data = encode_frame(frame, frame_type=kind)
        self._writer.write(head + struct.pack(">H", channel) + bytes(data or b""))

    async def _take(self, channel: int, kind: int, fields: list[Any]) -> None:
        match kind:
            case 0x10:
                opened = OpenFrame(
                    b"hub", None, MAX_FRAME, 1000, 240_000, None, None, None, None, {b"product": b"test"}
                )
                self._send(0, opened)
            case 0x11:
                self._send(channel, BeginFrame(channel, 0, _WINDOW, _WINDOW, 1000, None, None, {b"product": b"test"}))
            case 0x12:
                await self._attach(channel, fields)
            case 0x13:
                self._flow(channel, fields)
            case 0x14:
                await self._transfer(channel, fields)
            case 0x16:
                link = self._links.pop((channel, fields[0]), None)
                if link and link.task:
                    link.task.cancel()
                if link:
                    self._send(channel, DetachFrame(handle=fields[0], closed=True, error=None))
            case 0x17:
                self._send(channel, EndFrame(error=None))
            case 0x18:
                self._send(0, CloseFrame(error=None))
        await self._writer.drain()

    async def _attach(self, channel: int, fields: list[Any]) -> None:
        name, handle, is_receiver = bytes(fields[0]).decode(), fields[1], fields[2]
        end = fields[5] if is_receiver else fields[6]
        address = bytes(end[0])
        if not address.startswith(b"$"):
            address = b"/" + address.split(b"://")[1].partition(b"/")[2]
        refusal = self._hub.refuses_link(address)
        shown = bytes(end[0])
        answer = AttachFrame(
            name=name, handle=handle, role=not is_receiver, send_settle_mode=fields[3], rcv_settle_mode=fields[4],
            source=None if refusal else Source(shown, *[None] * 10),
            target=None if refusal else Target(shown, *[None] * 6),
            unsettled=None, incomplete_unsettled=False, initial_delivery_count=0,
            max_message_size=self._hub.max_message_bytes, offered_capabilities=None, desired_capabilities=None,
            properties=None,
        )  # fmt: skip
        self._send(channel, answer)
        if refusal:
            self._detach(channel, handle, *refusal)
            return
        link = self._links[channel, handle] = _Link(handle, address, is_receiver)
        if not is_receiver:
            flow = FlowFrame(0, _WINDOW, 0, _WINDOW, handle, 0, 100_000, None, False, False, None)
            self._send(channel, flow)
        elif found := _PARTITION.search(address):
            link.position = _first(_selector(end[7]), self._hub, int(found[2]))
            link.task = asyncio.create_task(self._deliver(channel, link, int(found[2])))

    def _detach(self, channel: int, handle: int, condition: bytes, description: bytes) -> None:
        self._links.pop((channel, handle), None)
        error = AMQPError(condition=condition, description=description, info=None)
        self._send(channel, DetachFrame(handle=handle, closed=True, error=error))

    def _flow(self, channel: int, fields: list[Any]) -> None:
        link = self._links.get((channel, fields[4]))
        if link and link.is_receiver:
            link.credit = fields[6] or 0
            link.more_credit.set()

    async def _deliver(self, channel: int, link: _Link, partition: int) -> None:
        """Send the messages from the link's position on while the client has granted credit."""
        while True:
            await self._hub.wait_for(partition, link.position)
            if link.credit <= 0:
                link.more_credit.clear()
                await link.more_credit.wait()
                continue
            message = self._hub.message(partition, link.position)
            if message is None:  # the message has expired
                link.position += 1
                continue
            link.position += 1
            link.credit -= 1
            self._send_message(channel, link, message)
            await self._writer.drain()

    def _send_message(self, channel: int, link: _Link, message: Message) -> None:
        payload = bytearray()
        encode_payload(payload, message)
        number, room = next(self._deliveries), MAX_FRAME - 512
        pieces = [bytes(payload[start : start + room]) for start in range(0, len(payload), room)]
        for index, piece in enumerate(pieces):
            frame = TransferFrame(
                link.handle, number, struct.pack(">I", number), 0, True, index < len(pieces) - 1,
                None, None, None, None, None, piece,
            )  # fmt: skip
            self._send(channel, frame)

    async def _transfer(self, channel: int, fields: list[Any]) -> None:
        link = self._links.get((channel, fields[0]))
        if link is None:
            return  # the link was detached in the meantime
        link.parts += fields[-1]
        if fields[5]:  # the frame is not the last of its message
            return
        message, link.parts = decode_payload(memoryview(bytes(link.parts))), bytearray()
        if link.address in (b"$cbs", b"$management"):
            self._settle(channel, fields[1], outcomes.Accepted())
            self._answer(channel, link.address, message)
        else:
            await self._store(channel, link, fields[1], message)

    async def _store(self, channel: int, link: _Link, delivery: int, message: Message) -> None:
        partition = _SENT_TO.search(link.address)
        outcome = self._hub.send(message, int(partition[1]) if partition else None)
        if outcome.detach:
            self._detach(channel, link.handle, *outcome.detach)
        elif outcome.reject:
            condition, description = outcome.reject
            error = AMQPError(condition=condition, description=description, info=None)
            self._settle(channel, delivery, outcomes.Rejected(error=error))
        elif outcome.drop:
            raise Dropped
        elif outcome.wait:
            task = asyncio.create_task(self._accept_later(channel, delivery, outcome.wait))
            self._later.add(task)
            task.add_done_callback(self._later.discard)
        else:
            self._settle(channel, delivery, outcomes.Accepted())

    async def _accept_later(self, channel: int, delivery: int, event: asyncio.Event) -> None:
        await event.wait()
        self._settle(channel, delivery, outcomes.Accepted())

    def _settle(self, channel: int, delivery: int, state: Any) -> None:
        frame = DispositionFrame(
            role=True, first=delivery, last=delivery, settled=True, state=state, batchable=False
        )  # fmt: skip
        self._send(channel, frame)

    def _answer(self, channel: int, address: bytes, request: Message) -> None:
        """Answer a management or token request on the link on which the client receives."""
        asked = {_text(key): value for key, value in (request.application_properties or {}).items()}
        status, description, value = (
            self._hub.put_token(asked, request.value) if address == b"$cbs" else self._hub.management(_decoded(asked))
        )
        reply_to = next(
            link for (at, _), link in self._links.items()
            if at == channel and link.address == address and link.is_receiver
        )  # fmt: skip
        assert request.properties, "a request has an id, which the answer refers to"
        response = Message(
            value=value or None,
            properties=Properties(correlation_id=request.properties.message_id),  # type: ignore[arg-type] # any kind of id
            application_properties={"status-code": status, "status-description": description},
        )
        self._send_message(channel, reply_to, response)


def _selector(filters: Any) -> tuple[str, bool, int]:
    """Return a receiver's start position: `sequence-number` or `offset`, whether it is inclusive, and its value."""
    for value in (filters or {}).values():
        text = value if isinstance(value, bytes) else next(iter(value.values())) if isinstance(value, dict) else b""
        if found := _POSITION.search(bytes(text)):
            return found[1].decode(), found[2] == b">=", int(found[3])
    return "offset", False, -1


def _first(selector: tuple[str, bool, int], hub: "HubServer", partition: int) -> int:
    kind, is_inclusive, value = selector
    number = value if kind == "sequence-number" else hub.sequence_of(partition, value)
    return max(hub.begin(partition), number if is_inclusive else number + 1)


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _decoded(asked: Mapping[str, Any]) -> dict[str, str]:
    return {key: _text(value) for key, value in asked.items()}
