"""Apply a change that a client requests through Marquez's API.

A change appends events to the log, is recorded in the admin log, and is answered once answers include it.
"""

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headwater.api.freshness import INDEX_WAIT_S, IndexWaiter, now_us
from headwater.api.marquez.requests import Answer, MarquezError, RequestContext
from headwater.api.responses import Recorder, actor_of, json_response, outcome_of
from headwater.auth.access import Caller

Json = dict[str, Any]
Meta = TypeVar("Meta")

Post = Callable[[bytes, Mapping[str, str], Caller], Awaitable[tuple[int, bytes]]]
"""Appends an event on behalf of an authenticated caller. Returns status and body of the receiver's response."""

NOT_INDEXED_YET = {"headwater-index": "waits"}
"""Header of the response to a change that is durable but that answers do not include yet."""

_ONLY_READS = "This instance is read-only. Send the change to an instance that receives events."


class ChangeBackend(NamedTuple):
    """The receiver and the index waiter of a process that accepts changes.

    within_s: maximum seconds to wait until answers include a change.
    """

    post: Post
    index_waiter: IndexWaiter
    within_s: float = INDEX_WAIT_S


class RequestedChange(NamedTuple):
    """The events of a change, in the order in which to append them, and its answer.

    follow_up: computes the answer once answers include the events. answer: the answer without `follow_up`, and after a
    timeout. status: HTTP status of the answer.
    """

    events: Sequence[Json]
    answer: Answer
    follow_up: Callable[[RequestContext], Any] | None = None
    status: int = 200


def parse_body(context: RequestContext, body_type: type[Meta]) -> Meta:
    """Return the parsed body of a change. Raises MarquezError if the body is not valid JSON of `body_type`."""
    try:
        return msgspec.json.decode(context.body or b"{}", type=body_type)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        body = {"code": 400, "message": "Unable to process JSON", "details": str(error)}
        raise MarquezError(400, body) from error


class ChangeHandler:
    """Handles the changes of a process."""

    def __init__(self, record: Recorder, backend: ChangeBackend | None):
        """record: adds a row to the admin log; backend: None in a read-only process."""
        self._record = record
        self._writing = backend
        self._record_tasks = set[asyncio.Task[None]]()

    async def handle_change(
        self,
        change: RequestedChange,
        request: Request,
        caller: Caller,
        answer_again: Callable[[], Response | RequestedChange],
        *,
        is_admin_act: bool,
    ) -> Response:
        """Append the events of a change, wait until answers include them, and return the response.

        On timeout, the response has the header NOT_INDEXED_YET.

        caller: the authenticated caller, named in the events by its label. answer_again: runs `change.follow_up` or the
        handler again. is_admin_act: whether to record the change in the admin log.
        """
        actor = caller if is_admin_act else None
        if self._writing is None:
            raise MarquezError(405, {"code": 405, "message": _ONLY_READS})
        carried = {"user-agent": request.headers.get("user-agent", "")}
        for event in change.events:
            status, answer = await self._writing.post(msgspec.json.encode(event), carried, caller)
            if status != 200:
                await asyncio.gather(*self._record_coroutines(request, actor, status))
                return json_response(status, {"code": status, "message": answer.decode()})
        records = self._record_coroutines(request, actor, change.status)
        is_seen, *_ = await asyncio.gather(
            self._writing.index_waiter.wait_until_visible(now_us(), self._writing.within_s), *records
        )
        shown = await asyncio.to_thread(answer_again) if is_seen and change.follow_up else None
        if isinstance(shown, Response) and shown.status_code == 200:
            shown.status_code = change.status
            return shown
        return json_response(
            change.status, change.answer, None if is_seen and change.follow_up is None else NOT_INDEXED_YET
        )

    def _record_coroutines(
        self, request: Request, actor: Caller | None, status: int
    ) -> list[Coroutine[Any, Any, None]]:
        return [self._wait_for_record(self._record_change(request, actor, status))] if actor else []

    async def _record_change(self, request: Request, caller: Caller, status: int) -> None:
        """Record a change in the admin log. The path of the request identifies its subject."""
        row = actor_of(request, caller), f"marquez {request.method}", request.url.path, outcome_of(status), ""
        await asyncio.to_thread(self._record, *row)

    async def _wait_for_record(self, note: Coroutine[Any, Any, None]) -> None:
        """Wait at most INDEX_WAIT_S until the change is in the admin log. Under load, the answer comes first."""
        task = asyncio.create_task(note)
        self._record_tasks.add(task)
        task.add_done_callback(self._record_tasks.discard)
        await asyncio.wait({task}, timeout=INDEX_WAIT_S)
