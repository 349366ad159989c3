"""Checks posted requests in the documented order, appends their events to the log, and acknowledges them.

A 2xx answer means that the events are durable (promise P1). If the log is overloaded or fails, the answer is 503
without Retry-After: Java producers retry only 503 and 429, and only once, and Python producers never retry 429
(measured; docs/reference/api.md).
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import TypeVar
from urllib.parse import unquote

import msgspec
from prometheus_client import Counter, Histogram

from headwater.auth.access import Caller
from headwater.auth.authentication import Authenticator
from headwater.common.errors import InvalidEvent, LogUnavailable
from headwater.events.envelope import Envelope, check_marquez_members, read_envelope, split_batch
from headwater.events.key_scope import KeyScope
from headwater.events.redaction_rules import redact_text
from headwater.intake.event_log import LogWriter, Record, RecordKind
from headwater.intake.receiver import Answer, Refusal, Request
from headwater.intake.receiver.body import check_headers, read_body
from headwater.intake.receiver.paths import BATCH, is_wrong_path, resolve_path, wrong_path_refusal
from headwater.intake.receiver.refusals import CORRECTED, Refusals

MAX_BATCH = 10_000
NOTES_DEADLINE_S = 60.0
"""Timeout for appending notes (seconds).

It is long because no caller waits for notes, and because a note that is appended twice is counted twice.
"""
LARGE = 1 << 20  # larger bodies are checked in a thread, so that they do not block small ones

RECEIVED = Counter("headwater_events_acknowledged", "Events acknowledged with 2xx.")
APPEND = Histogram(
    "headwater_append_seconds",
    "Time until a record is durable.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.5, 2.5),
)

ORIGIN = "headwater-origin"
"""Header of a request that sends a line of a file: `FILE:LINE`, percent-encoded. Rejected events keep it."""

T = TypeVar("T")

_TAKEN = Answer(200, b"{}")
_CREATED = Answer(201)
_TAKEN_ALL = Answer(204)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Limits for a request.

    max_body_bytes: maximum bytes of the inflated body. deadline_s: seconds until the answer, after the body has
    arrived.
    """

    max_body_bytes: int = 32 << 20
    deadline_s: float = 2.4


class Receiver:
    """Handles requests that send events to one event log."""

    def __init__(
        self,
        log: LogWriter,
        access: Authenticator,
        limits: RequestLimits = RequestLimits(),
        *,
        marquez_strict: bool = False,
    ):
        """Create the receiver for all requests of a process.

        marquez_strict: answer single events with the statuses of Marquez, and refuse events that Marquez refuses.
        """
        self._strict = marquez_strict
        self._log = log
        self._access = access
        self._limits = limits
        self.refusals = Refusals()
        self._flushing = asyncio.Lock()

    async def receive_event(self, request: Request, caller: Caller | None = None) -> Answer:
        """Accept one event: answer 200 `{}`, or an error status of docs/reference/api.md.

        With the header ORIGIN it also accepts a body that is not an event; the parser rejects it.
        caller: the authenticated caller, if the API creates this event from its own request.
        """
        strict = self._strict and caller is None and ORIGIN not in request.headers
        key = caller
        try:
            key = await self._authorize(request, caller)
            body = await read_body(request.headers, request.body, self._limits.max_body_bytes)
            large = len(body) > LARGE
            is_line = ORIGIN in request.headers
            about = (
                await asyncio.to_thread(_partition_key_of_event, key, body, is_line)
                if large
                else _partition_key_of_event(key, body, is_line)
            )
            if strict:
                await _in_thread_if_large(body, _check_marquez_members, body)
            await self._append_to_log([Record(RecordKind.EVENT, body, _request_metadata(request, key), about)])
        except Refusal as refusal:
            if strict and refusal.reason == "shape":
                refusal.status = 422
            return self._refusal_answer(refusal, request, "lineage", key)
        return _CREATED if strict else _TAKEN

    async def receive_batch(self, request: Request) -> Answer:
        """Accept a JSON array: answer 204 if all items are accepted, else 200 with the refused items by index."""
        key = None
        try:
            key = await self._authorize(request)
            body = await read_body(request.headers, request.body, self._limits.max_body_bytes)
            items = await _in_thread_if_large(body, _split_items, body)
            good, bad = await _in_thread_if_large(body, _check_items, key, items)
            if good:
                metadata = _request_metadata(request, key)
                await self._append_to_log([Record(RecordKind.EVENT, item, metadata, about) for item, about in good])
        except Refusal as refusal:
            return self._refusal_answer(refusal, request, "batch", key)
        for item_refusal in bad.values():
            self.refusals.add(item_refusal, "batch", key.label, request.headers.get("user-agent"))
        return _batch_answer(len(items), bad) if bad else _TAKEN_ALL

    def handler_of_inexact_path(self, path: str, content_type: str) -> Callable[[Request], Awaitable[Answer]] | None:
        """Return the handler for a POST to an inexact path; None if the path may belong to another API.

        The handler accepts the event if the path can mean only one address, and refuses other paths with JSON.
        """
        if address := resolve_path(path):
            CORRECTED.inc()
            return self.receive_batch if address == BATCH else self.receive_event
        return partial(self.refuse_path, path=path) if is_wrong_path(path, content_type) else None

    async def refuse_path(self, request: Request, path: str) -> Answer:
        """Answer 404 to a POST on a path that receives no events, and name the right one."""
        refusal = wrong_path_refusal()
        self.refusals.add_wrong_path(refusal, path, request.headers.get("user-agent"))
        return refusal.answer()

    async def flush_refusals(self, *, is_last: bool = False) -> None:
        """Append the collected notes to the log. If the log is unavailable, the notes are appended by the next flush.

        is_last: whether the process is stopping.
        """
        async with self._flushing:
            notes = self.refusals.take_notes(is_last=is_last)
            if notes:
                try:
                    await self._log.append(notes, timeout_s=NOTES_DEADLINE_S)
                except LogUnavailable:
                    self.refusals.put_back_notes(notes)

    async def _authorize(self, request: Request, caller: Caller | None = None) -> Caller:
        if request.method != "POST":
            raise Refusal(405, "method", f"The method {request.method} is not allowed here.", "Use POST.")
        check_headers(request.headers)
        key = caller or await self._access.find_caller(request.headers, request.query, request.method)
        if key is None:
            raise Refusal(*self._access.denial(request.headers, request.query))
        if not key.has_role("write"):
            raise Refusal(403, "role", f"{key.title} may not write.", "Use a key with the role `write`.")
        return key

    async def _append_to_log(self, records: Sequence[Record]) -> None:
        try:
            began = time.perf_counter()
            await self._log.append(records, timeout_s=self._limits.deadline_s)
            APPEND.observe(time.perf_counter() - began)
        except LogUnavailable as error:
            what, _, fix = str(error).partition(". ")
            raise Refusal(503, "log_unavailable", f"{what}.", fix) from error
        RECEIVED.inc(len(records))

    def _refusal_answer(self, refusal: Refusal, request: Request, route: str, key: Caller | None) -> Answer:
        self.refusals.add(refusal, route, key.label if key else None, request.headers.get("user-agent"))
        return refusal.answer()


async def _in_thread_if_large(body: bytes, work: Callable[..., T], *arguments: object) -> T:
    return work(*arguments) if len(body) < LARGE else await asyncio.to_thread(work, *arguments)


def _read_permitted_envelope(key: Caller, body: bytes) -> Envelope:
    try:
        envelope = read_envelope(body)
    except InvalidEvent as error:
        raise Refusal(400, error.reason, error.what, error.fix, error.field) from error
    if not key.may_write(envelope.namespace):
        raise Refusal(
            403,
            "namespace",
            f"{key.title} may not write this namespace.",  # not quoted: it may contain a secret
            "Use a key for this namespace, or add the namespace to this key.",
            "job.namespace" if envelope.kind != "DATASET" else "dataset.namespace",
        )
    return envelope


def _check_marquez_members(body: bytes) -> None:
    try:
        check_marquez_members(body)
    except InvalidEvent as error:
        raise Refusal(422, error.reason, error.what, error.fix, error.field) from error


def _partition_key_of_event(key: Caller, body: bytes, is_line: bool) -> str:
    """Check an event and return its log partition key.

    is_line: the body is a line of a file. The sender cannot correct it, so an invalid event is accepted and the parser
    rejects it. Keys with namespaces cannot send such lines, because an invalid event has no namespace.
    """
    try:
        return _read_permitted_envelope(key, body).key
    except Refusal as refusal:
        if is_line and refusal.status == 400 and not key.namespaces:
            return ""
        raise


def _split_items(body: bytes) -> list[bytes]:
    try:
        items = split_batch(body)
    except InvalidEvent as error:
        raise Refusal(400, error.reason, error.what, error.fix, error.field) from error
    if len(items) > MAX_BATCH:
        raise Refusal(
            400, "batch_size", f"The batch has {len(items)} events.", f"Send at most {MAX_BATCH} per request."
        )
    return items


def _check_items(key: Caller, items: Sequence[bytes]) -> tuple[list[tuple[bytes, str]], dict[int, Refusal]]:
    """Return ([(valid item, log partition key)], {index of an invalid item: its refusal})."""
    good, bad = [], {}
    for index, item in enumerate(items):
        try:
            good.append((item, _read_permitted_envelope(key, item).key))
        except Refusal as refusal:
            bad[index] = refusal
    return good, bad


def _batch_answer(received: int, refused: dict[int, Refusal]) -> Answer:
    """Build the answer of the batch operation (OpenLineage.openapi.yml, `postEventBatch`)."""
    failed = [{"index": index, "reason": str(refusal), "retriable": False} for index, refusal in refused.items()]
    summary = {
        "received": received,
        "successful": received - len(refused),
        "failed": len(refused),
        "retriable": 0,
        "non_retriable": len(refused),
    }
    return Answer(200, msgspec.json.encode({"status": "partial_success", "summary": summary, "failed_events": failed}))


def _request_metadata(request: Request, key: Caller) -> str:
    sent = request.headers
    return _encoded_metadata(
        key.label,
        KeyScope(key.namespaces, key.datasets) if key.namespaces else None,
        sent.get("user-agent", "")[:1000],
        sent.get("content-encoding", "")[:20],
        unquote(sent.get(ORIGIN, ""))[:2000],
    )


@lru_cache(maxsize=1024)
def _encoded_metadata(key: str, scope: KeyScope | None, user_agent: str, encoding: str, origin: str) -> str:
    """Encode the metadata that is stored with the events of a request, as JSON without credentials.

    key: label of the caller. scope: the caller's scope, or None. origin: `FILE:LINE` of a line of a file, or empty.
    """
    client = redact_text(user_agent)[:200]
    kept: dict[str, object] = {"key": key, "user_agent": client, "encoding": encoding}
    kept |= {"origin": origin} if origin else {}
    kept |= {"scope": scope} if scope else {}
    return msgspec.json.encode(kept, order="deterministic").decode()
