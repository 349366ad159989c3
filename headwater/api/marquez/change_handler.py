"""Handle a change: append its events on behalf of the caller, record it, and answer once it is visible."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headwater.api.admin_actions import Recorder, actor_of, outcome_of
from headwater.api.error_responses import json_response
from headwater.api.index_waiter import INDEX_WAIT_S, now_us
from headwater.api.marquez.changes import NOT_INDEXED_YET, Change, ChangeBackend
from headwater.api.marquez.requests import MarquezError
from headwater.auth.access import Caller

_ONLY_READS = "This instance is read-only. Send the change to an instance that receives events."


class ChangeHandler:
    """Handles the changes of a process."""

    def __init__(self, record: Recorder, writing: ChangeBackend | None):
        """record: adds a row to the admin log; writing: None in a read-only process."""
        self._record = record
        self._writing = writing
        self._record_tasks = set[asyncio.Task[None]]()

    async def handle(
        self,
        found: Change,
        request: Request,
        caller: Caller,
        look: Callable[[], Response | Change],
        *,
        is_admin_act: bool,
    ) -> Response:
        """Append the events of a change, wait until answers include them, and return the response.

        On timeout, the response has the header NOT_INDEXED_YET.

        caller: authenticated; its label is in the events. look: runs `found.follow_up` or the handler again.
        is_admin_act: whether to record the change in the admin log.
        """
        actor = caller if is_admin_act else None
        if self._writing is None:
            raise MarquezError(405, {"code": 405, "message": _ONLY_READS})
        carried = {"user-agent": request.headers.get("user-agent", "")}
        for event in found.events:
            status, answer = await self._writing.post(msgspec.json.encode(event), carried, caller)
            if status != 200:
                await asyncio.gather(*self._record_coroutines(request, actor, status))
                return json_response(status, {"code": status, "message": answer.decode()})
        records = self._record_coroutines(request, actor, found.status)
        is_seen, *_ = await asyncio.gather(
            self._writing.index_waiter.wait_until_visible(now_us(), self._writing.within_s), *records
        )
        shown = await asyncio.to_thread(look) if is_seen and found.follow_up else None
        if isinstance(shown, Response) and shown.status_code == 200:
            shown.status_code = found.status
            return shown
        return json_response(
            found.status, found.answer, None if is_seen and found.follow_up is None else NOT_INDEXED_YET
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
        """Wait until the change is recorded, at most INDEX_WAIT_S. Under load, it is recorded after the answer."""
        task = asyncio.create_task(note)
        self._record_tasks.add(task)
        task.add_done_callback(self._record_tasks.discard)
        await asyncio.wait({task}, timeout=INDEX_WAIT_S)
