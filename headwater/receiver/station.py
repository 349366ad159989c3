"""The receiver: check a posted request in the documented order, put its events on the log, acknowledge.

A 2xx answer means durable (promise P1). Overload and a failing log answer 503 without Retry-After, because Java
producers retry only 503 and 429, once, and Python producers never 429 (measured; docs/api.md).
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

from headwater.access import Caller
from headwater.errors import InvalidEvent, LogUnavailable
from headwater.eventlog import LogWriter, Record, RecordKind
from headwater.events.envelope import Envelope, check_members, read_envelope, split_batch
from headwater.events.key_scope import KeyScope
from headwater.events.redaction_rules import redact_text
from headwater.identity.callers import Access
from headwater.receiver import Answer, Refusal, Request
from headwater.receiver.body import check_headers, read_body
from headwater.receiver.paths import BATCH, is_wrong, meant, wrong_path
from headwater.receiver.refusals import CORRECTED, Refusals

MAX_BATCH = 10_000
NOTES_DEADLINE_S = 60.0
"""No caller waits for notes, and notes have no id by which a second copy, sent too early, would be known."""
LARGE = 1 << 20  # bodies above it are checked on a thread, so that small ones do not wait

RECEIVED = Counter("headwater_events_acknowledged", "Events that were answered with 2xx.")
APPEND = Histogram(
    "headwater_append_seconds", "Time to a durable record.", buckets=(0.001, 0.002, 0.005, 0.01, 0.03, 0.1, 0.5, 2.5)
)

ORIGIN = "headwater-origin"
"""Header of a request that brings a line of a file: `FILE:LINE`, percent-encoded; kept beside what is rejected."""

T = TypeVar("T")

_TAKEN = Answer(200, b"{}")
_CREATED = Answer(201)
_TAKEN_ALL = Answer(204)


@dataclass(frozen=True, slots=True)
class RequestLimits:
    """Bytes of an inflated body; seconds until an answer after the body has arrived."""

    max_body_bytes: int = 32 << 20
    deadline_s: float = 2.4


class Receiver:
    """Takes requests for one event log."""

    def __init__(
        self,
        log: LogWriter,
        access: Access,
        limits: RequestLimits = RequestLimits(),
        *,
        marquez_strict: bool = False,
    ):
        """Share one receiver between all requests of a process.

        marquez_strict: answer single events with the statuses of Marquez, and refuse those that it refuses.
        """
        self._strict = marquez_strict
        self._log = log
        self._access = access
        self._limits = limits
        self.refusals = Refusals()
        self._flushing = asyncio.Lock()

    async def one(self, request: Request, caller: Caller | None = None) -> Answer:
        """Accept one event: 200 `{}`, or the status that docs/api.md lists; with ORIGIN also what is not an event.

        caller: set if the API already authenticated the request from which it makes this event.
        """
        strict = self._strict and caller is None and ORIGIN not in request.headers
        key = caller
        try:
            key = await self._admit(request, caller)
            body = await read_body(request.headers, request.body, self._limits.max_body_bytes)
            large = len(body) > LARGE
            is_line = ORIGIN in request.headers
            about = await asyncio.to_thread(_about, key, body, is_line) if large else _about(key, body, is_line)
            if strict:
                await _in_thread_if_large(body, _check_members, body)
            await self._append([Record(RecordKind.EVENT, body, _metadata(request, key), about)])
        except Refusal as refusal:
            if strict and refusal.reason == "shape":
                refusal.status = 422
            return self._refused(refusal, request, "lineage", key)
        return _CREATED if strict else _TAKEN

    async def batch(self, request: Request) -> Answer:
        """Take a JSON array: 204 if all is well, else 200 naming the items that were not taken, each by index."""
        key = None
        try:
            key = await self._admit(request)
            body = await read_body(request.headers, request.body, self._limits.max_body_bytes)
            items = await _in_thread_if_large(body, _items, body)
            good, bad = await _in_thread_if_large(body, _sort_out, key, items)
            if good:
                metadata = _metadata(request, key)
                await self._append([Record(RecordKind.EVENT, item, metadata, about) for item, about in good])
        except Refusal as refusal:
            return self._refused(refusal, request, "batch", key)
        for item_refusal in bad.values():
            self.refusals.add(item_refusal, "batch", key.label, request.headers.get("user-agent"))
        return _batch_answer(len(items), bad) if bad else _TAKEN_ALL

    def find_inexact(self, path: str, content_type: str) -> Callable[[Request], Awaitable[Answer]] | None:
        """Return what answers a POST to a path that is not exact; None if the path may belong to another API.

        A path that can mean only one address takes the event; any other path with JSON is refused.
        """
        if address := meant(path):
            CORRECTED.inc()
            return self.batch if address == BATCH else self.one
        return partial(self.refuse_path, path=path) if is_wrong(path, content_type) else None

    async def refuse_path(self, request: Request, path: str) -> Answer:
        """Answer 404 to a POST on a path that takes no events, and name the right one."""
        refusal = wrong_path()
        self.refusals.add_wrong_path(refusal, path, request.headers.get("user-agent"))
        return refusal.answer()

    async def flush_refusals(self, *, is_last: bool = False) -> None:
        """Send the collected notes of refusals to the log; a log that does not take them gets them next time."""
        async with self._flushing:
            notes = self.refusals.take(is_last=is_last)
            if notes:
                try:
                    await self._log.append(notes, timeout_s=NOTES_DEADLINE_S)
                except LogUnavailable:
                    self.refusals.give_back(notes)

    async def _admit(self, request: Request, caller: Caller | None = None) -> Caller:
        if request.method != "POST":
            raise Refusal(405, "method", f"{request.method} is not taken here.", "Use POST.")
        check_headers(request.headers)
        key = caller or await self._access.find(request.headers, request.query, request.method)
        if key is None:
            raise Refusal(*self._access.denial(request.headers, request.query))
        if not key.may("write"):
            raise Refusal(403, "role", f"{key.title} may not write.", "Use a key with the role `write`.")
        return key

    async def _append(self, records: Sequence[Record]) -> None:
        try:
            began = time.perf_counter()
            await self._log.append(records, timeout_s=self._limits.deadline_s)
            APPEND.observe(time.perf_counter() - began)
        except LogUnavailable as error:
            what, _, fix = str(error).partition(". ")
            raise Refusal(503, "log_unavailable", f"{what}.", fix) from error
        RECEIVED.inc(len(records))

    def _refused(self, refusal: Refusal, request: Request, route: str, key: Caller | None) -> Answer:
        self.refusals.add(refusal, route, key.label if key else None, request.headers.get("user-agent"))
        return refusal.answer()


async def _in_thread_if_large(body: bytes, work: Callable[..., T], *arguments: object) -> T:
    return work(*arguments) if len(body) < LARGE else await asyncio.to_thread(work, *arguments)


def _checked_envelope(key: Caller, body: bytes) -> Envelope:
    try:
        envelope = read_envelope(body)
    except InvalidEvent as error:
        raise Refusal(400, error.reason, error.what, error.fix, error.field) from error
    if not key.may_write(envelope.namespace):
        raise Refusal(
            403,
            "namespace",
            f"{key.title} may not write this namespace.",  # not quoted: it may hold a secret
            "Use a key for it, or add the namespace to this key.",
            "job.namespace" if envelope.kind != "DATASET" else "dataset.namespace",
        )
    return envelope


def _check_members(body: bytes) -> None:
    try:
        check_members(body)
    except InvalidEvent as error:
        raise Refusal(422, error.reason, error.what, error.fix, error.field) from error


def _about(key: Caller, body: bytes, is_line: bool) -> str:
    """Return the key of an event's log partition.

    is_line: it stands in a file of events, where nobody could be told that it is none: the parser quarantines it. A
    key of some namespaces may not do that: nothing says which namespace it is of.
    """
    try:
        return _checked_envelope(key, body).key
    except Refusal as refusal:
        if is_line and refusal.status == 400 and not key.namespaces:
            return ""
        raise


def _items(body: bytes) -> list[bytes]:
    try:
        items = split_batch(body)
    except InvalidEvent as error:
        raise Refusal(400, error.reason, error.what, error.fix, error.field) from error
    if len(items) > MAX_BATCH:
        raise Refusal(400, "batch_size", f"{len(items)} events in one batch.", f"Send at most {MAX_BATCH} at once.")
    return items


def _sort_out(key: Caller, items: Sequence[bytes]) -> tuple[list[tuple[bytes, str]], dict[int, Refusal]]:
    """Return what is well, each with the key of its log partition, and what is refused by index."""
    good, bad = [], {}
    for index, item in enumerate(items):
        try:
            good.append((item, _checked_envelope(key, item).key))
        except Refusal as refusal:
            bad[index] = refusal
    return good, bad


def _batch_answer(received: int, bad: dict[int, Refusal]) -> Answer:
    """Build the body of the spec's batch operation (OpenLineage.openapi.yml, `postEventBatch`)."""
    failed = [{"index": index, "reason": str(refusal), "retriable": False} for index, refusal in bad.items()]
    summary = {
        "received": received,
        "successful": received - len(bad),
        "failed": len(bad),
        "retriable": 0,
        "non_retriable": len(bad),
    }
    return Answer(200, msgspec.json.encode({"status": "partial_success", "summary": summary, "failed_events": failed}))


def _metadata(request: Request, key: Caller) -> str:
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
    """Encode what is stored of a request: the caller's label and scope, the client, the encoding; no credential."""
    client = redact_text(user_agent)[:200]
    kept: dict[str, object] = {"key": key, "user_agent": client, "encoding": encoding}
    kept |= {"origin": origin} if origin else {}
    kept |= {"scope": scope} if scope else {}
    return msgspec.json.encode(kept, order="deterministic").decode()
