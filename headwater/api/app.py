"""The routes for reading, `/api/headwater/v1/…`; every lake read happens on a thread, one at a time."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.access import Access
from headwater.api.questions import audit, freshness, list_events, list_rejected
from headwater.errors import GiveUp, Retry, WrongQuestion
from headwater.eventlog.sqlite_reader import SqliteLogReader
from headwater.lake.bronze import Bronze

Answer = Callable[[], Any]
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadApi:
    """Answers from one log and one lake."""

    def __init__(self, reader: SqliteLogReader, bronze: Bronze, access: Access):
        """Open nothing: log and lake may not be there yet."""
        self._reader = reader
        self._bronze = bronze
        self._access = access
        self._one_at_a_time = threading.Lock()

    def app(self) -> Starlette:
        """Build the ASGI application."""
        base = "/api/headwater/v1"
        return Starlette(
            routes=[
                Route(f"{base}/audit", self._endpoint(lambda _: audit(self._reader, self._bronze))),
                Route(f"{base}/freshness", self._endpoint(lambda _: freshness(self._reader, self._bronze))),
                Route(f"{base}/events", self._endpoint(self._events)),
                Route(f"{base}/rejected", self._endpoint(self._rejected)),
            ],
            exception_handlers={404: _not_found, 405: _wrong_method},
        )

    def _events(self, request: Request) -> Any:
        query = request.query_params
        return list_events(
            self._bronze, run=query.get("run"), job=query.get("job"), since=query.get("since"), limit=_limit(request)
        )

    def _rejected(self, request: Request) -> Any:
        return list_rejected(self._bronze, since=request.query_params.get("since"), limit=_limit(request))

    def _endpoint(self, answer: Callable[[Request], Any]) -> Endpoint:
        async def endpoint(request: Request) -> Response:
            key = self._access.find(dict(request.headers), request.url.query)
            if key is None:
                return _error(401, "The key is missing or wrong.", "Send `Authorization: Bearer KEY`.")
            if not key.may("read"):
                return _error(403, f"Key {key.name!r} may not read.", "Use a key with the role `read`.")
            return await asyncio.to_thread(self._answer, answer, request)

        return endpoint

    def _answer(self, answer: Callable[[Request], Any], request: Request) -> Response:
        try:
            with self._one_at_a_time:
                return json_response(200, answer(request))
        except WrongQuestion as error:
            return _error(400, str(error), "Correct the parameter.")
        except (GiveUp, Retry) as error:
            return _error(503, str(error), "Ask again in a moment.")


def _limit(request: Request) -> int:
    text = request.query_params.get("limit", "100")
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise WrongQuestion(f"limit={text[:40]!r} is no number. Write it like 100.")
    return int(text)


async def _not_found(request: Request, _: Exception) -> Response:
    return _error(404, f"There is nothing at {request.url.path[:200]!r}.", "See docs/api.md for what there is.")


async def _wrong_method(request: Request, _: Exception) -> Response:
    return _error(405, f"{request.method} is not taken here.", "Use GET.")


def _error(status: int, what: str, fix: str) -> Response:
    return json_response(status, {"error": what, "field": None, "fix": fix})


def json_response(status: int, value: Any) -> Response:
    """Return a value as JSON."""
    return Response(msgspec.json.encode(value), status, media_type="application/json")
