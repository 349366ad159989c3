"""Passes a request of the Functions host to the receiver and returns its answer; every failure becomes a 503."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from functools import cached_property
from urllib.parse import unquote, urlsplit

import azure.functions as func
import msgspec

from headwater.auth.access import Caller
from headwater.common.json_headers import ANSWER_HEADERS
from headwater.intake.event_log import Log
from headwater.intake.event_log.folder_claims import ClaimCheck
from headwater.intake.receiver import Answer, Refusal, Request
from headwater.intake.receiver.paths import is_wrong_path, resolve_path
from headwater.intake.receiver.post_handling import Receiver, RequestLimits
from headwater.operations.runtime.auth import open_authenticator
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.event_log import import_log_packages, open_log
from headwater.operations.runtime.storage import claim_limit, open_claims
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)

FLUSH_REFUSALS_S = 0.5

_FAULT = Refusal(
    503, "fault", "The receiver failed and did not acknowledge the request.", "Send the event again in a moment."
)


_OPENED: dict[int, "Intake"] = {}


def process_intake(settings: Settings) -> "Intake":
    """Return the receiver of this worker process. The first call creates it, and raises WrongSetting like `Intake`."""
    if id(settings) not in _OPENED:
        _OPENED[id(settings)] = Intake(settings)
    return _OPENED[id(settings)]


class Intake:
    """The only receiver of a worker process."""

    def __init__(self, settings: Settings):
        """Prepare the receiver without connecting. Raises WrongSetting, with which the host does not start the app."""
        self._settings = settings
        self._folder = prepare_folder(settings)
        self._claims = open_claims(settings)
        self._flush: asyncio.Task[None] | None = None
        import_log_packages(settings)

    async def receive_event(self, req: func.HttpRequest) -> func.HttpResponse:
        """Accept one event."""
        return await self._answer(req, Receiver.receive_event)

    async def receive_batch(self, req: func.HttpRequest) -> func.HttpResponse:
        """Accept a JSON array of events."""
        return await self._answer(req, Receiver.receive_batch)

    async def receive_other_path(self, req: func.HttpRequest) -> func.HttpResponse:
        """Accept or refuse a POST to a path without a route."""
        path = _request_path(req)

        async def take(receiver: Receiver, request: Request) -> Answer:
            found = receiver.handler_of_inexact_path(path, request.headers.get("content-type", ""))
            return await (found(request) if found else receiver.refuse_path(request, path))

        return await self._answer(req, take)

    async def receive_inexact_path(self, req: func.HttpRequest) -> func.HttpResponse | None:
        """Accept or refuse a POST like `receive_other_path`. Returns None if the reading API answers the path."""
        path = _request_path(req)
        is_ours = resolve_path(path) or is_wrong_path(path, req.headers.get("content-type", ""))
        return await self.receive_other_path(req) if is_ours else None

    async def post_event(self, body: bytes, headers: Mapping[str, str], caller: Caller) -> tuple[int, bytes]:
        """Accept the event of a change that the reading API made, in the name of its authenticated caller."""
        try:
            answer = await self._open_receiver.receive_event(Request("POST", headers, "", body), caller)
        except Exception:
            log.exception("A change could not be appended and was not acknowledged. Report this.")
            answer = _FAULT.answer()
        return answer.status, answer.body

    async def live(self) -> func.HttpResponse:
        """Answer 200: this process runs."""
        return _json_response(200, {"live": True})

    async def ready(self) -> func.HttpResponse:
        """Answer 200 if events can be acknowledged, otherwise 503 with the reason. The first call opens the log."""
        trouble = self._open_log.unavailability_reason()
        return _json_response(503 if trouble else 200, {"ready": not trouble, "components": {"log": trouble or "ok"}})

    @cached_property
    def _open_log(self) -> Log:
        """Open the log. The first request calls this, because the log's client belongs to the worker's event loop."""
        return open_log(self._settings, self._folder, self._claims)

    @cached_property
    def _open_receiver(self) -> Receiver:
        checked = ClaimCheck(self._open_log, self._claims, claim_limit(self._settings))
        limits = RequestLimits(max_body_bytes=self._settings.max_body_bytes)
        return Receiver(checked, open_authenticator(self._settings, self._folder), limits)

    async def _answer(
        self, req: func.HttpRequest, take: Callable[[Receiver, Request], Awaitable[Answer]]
    ) -> func.HttpResponse:
        """Let the receiver answer a request. An exception becomes a 503, because Java producers drop events on a 500.

        take: the method of the receiver to call.
        """
        try:
            answer = await take(self._open_receiver, _to_request(req))
        except Exception:
            log.exception("The receiver failed and did not acknowledge a request. Report this.")
            answer = _FAULT.answer()
        if answer.status != 204 and answer.body != b"{}":
            self._schedule_flush()
        return _to_response(answer)

    def _schedule_flush(self) -> None:
        """Schedule appending the notes about refused requests: all together, half a second after the first note."""
        if self._flush is None or self._flush.done():
            self._flush = asyncio.create_task(self._flush_until_empty())

    async def _flush_until_empty(self) -> None:
        """Append notes until none waits. If the event loop ends, also append the notes whose interval is not over."""
        try:
            while self._open_receiver.refusals.has_notes():
                await asyncio.sleep(FLUSH_REFUSALS_S)
                await self._open_receiver.flush_refusals()
        except asyncio.CancelledError:
            await self._open_receiver.flush_refusals(is_last=True)
            raise


def _request_path(req: func.HttpRequest) -> str:
    return unquote(urlsplit(req.url).path)


def _to_request(req: func.HttpRequest) -> Request:
    body = req.get_body()
    dropped = not body and "chunked" in req.headers.get("transfer-encoding", "").lower()
    return Request(req.method, req.headers, urlsplit(req.url).query, _aborted_body() if dropped else body)


async def _aborted_body() -> AsyncIterator[bytes]:
    """Yield nothing and raise the refusal of a request without Content-Length, because the host drops its body."""
    what = "Azure Functions does not pass on a body without Content-Length (chunked)."
    fix = "Turn compression off in the OpenLineage client: it then sends the length."
    raise Refusal(411, "no_length", what, fix)
    yield b""


def _to_response(answer: Answer) -> func.HttpResponse:
    headers = {**ANSWER_HEADERS, **answer.headers}
    return func.HttpResponse(answer.body, status_code=answer.status, headers=headers, mimetype="application/json")


def _json_response(status: int, value: object) -> func.HttpResponse:
    return _to_response(Answer(status, msgspec.json.encode(value)))
