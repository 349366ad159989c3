"""Takes a change: appends its events as its caller, writes it down, and answers once questions see it."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response

from headwater.access import Caller
from headwater.api.acts import Recorder, actor_of, outcome_of
from headwater.api.index_news import WITHIN_S, now_us
from headwater.api.marquez.marquez_writing import WAITS, Write, Writing
from headwater.api.marquez.requests import Refused
from headwater.api.refusing import json_response

_ONLY_READS = "This instance only reads. Change it where events are received."


class ChangeTaker:
    """The changes of one process."""

    def __init__(self, record: Recorder, writing: Writing | None):
        """record: writes down who changed what; writing: None where this process only reads."""
        self._record = record
        self._writing = writing
        self._notes = set[asyncio.Task[None]]()

    async def take(
        self,
        found: Write,
        request: Request,
        caller: Caller,
        look: Callable[[], Response | Write],
        *,
        is_admin_act: bool,
    ) -> Response:
        """Append the events of a change; answer once questions see them, or say that they do not yet.

        caller: already authenticated; its events carry its label. is_admin_act: whether the admin log records it.
        look: asks again.
        """
        actor = caller if is_admin_act else None
        if self._writing is None:
            raise Refused(405, {"code": 405, "message": _ONLY_READS})
        carried = {"user-agent": request.headers.get("user-agent", "")}
        for event in found.events:
            status, said = await self._writing.post(msgspec.json.encode(event), carried, caller)
            if status != 200:
                await asyncio.gather(*self._notes_of(request, actor, status))
                return json_response(status, {"code": status, "message": said.decode()})
        noted = self._notes_of(request, actor, found.status)
        is_seen, *_ = await asyncio.gather(self._writing.news.shows(now_us(), self._writing.within_s), *noted)
        shown = await asyncio.to_thread(look) if is_seen and found.again else None
        if isinstance(shown, Response) and shown.status_code == 200:
            shown.status_code = found.status
            return shown
        return json_response(found.status, found.answer, None if is_seen and found.again is None else WAITS)

    def _notes_of(self, request: Request, actor: Caller | None, status: int) -> list[Coroutine[Any, Any, None]]:
        return [self._noted(self._note(request, actor, status))] if actor else []

    async def _note(self, request: Request, caller: Caller, status: int) -> None:
        """Write down that a tag was set, or something deleted: by its address, which says on what."""
        said = actor_of(request, caller), f"marquez {request.method}", request.url.path, outcome_of(status), ""
        await asyncio.to_thread(self._record, *said)

    async def _noted(self, note: Coroutine[Any, Any, None]) -> None:
        """Wait for a note, no longer than for the index: what comes all at once is written down after the answer."""
        task = asyncio.create_task(note)
        self._notes.add(task)
        task.add_done_callback(self._notes.discard)
        await asyncio.wait({task}, timeout=WITHIN_S)
