"""The routes for reading, `/api/headwater/v1/…`; every lake read happens on a thread, one at a time."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.access import Access
from headwater.api.facets import facets
from headwater.api.lineage import QUESTIONS, ask, check_names, diff, edge, surface
from headwater.api.names import explain_name, rules_json
from headwater.api.questions import audit, freshness, list_events, list_rejected
from headwater.api.search import search
from headwater.errors import GiveUp, NotKnown, Retry, WrongQuestion
from headwater.eventlog import Readers
from headwater.index.lens import Lenses
from headwater.index.search import Search
from headwater.lake.bronze import Bronze

Answer = Callable[[Request], Any]
Endpoint = Callable[[Request], Coroutine[Any, Any, Response]]


class ReadApi:
    """Answers from one log and one lake."""

    def __init__(self, readers: Readers, bronze: Bronze, access: Access, lenses: Lenses, search: Search):
        """Open nothing: log, lake and index may not be there yet."""
        self._lenses = lenses
        self._search = search
        self._readers = readers
        self._bronze = bronze
        self._access = access
        self._one_at_a_time = threading.Lock()

    def app(self) -> Starlette:
        """Build the ASGI application."""
        base = "/api/headwater/v1"
        return Starlette(
            routes=[
                Route(f"{base}/audit", self._endpoint(lambda _: audit(self._readers(), self._bronze))),
                Route(f"{base}/freshness", self._endpoint(lambda _: freshness(self._readers(), self._bronze))),
                Route(f"{base}/events", self._endpoint(self._events)),
                Route(f"{base}/rejected", self._endpoint(self._rejected)),
                Route(f"{base}/facets", self._endpoint(self._facets)),
                Route(f"{base}/edge", self._endpoint(lambda r: edge(self._lenses, self._bronze, r.query_params))),
                *(
                    Route(f"{base}/{name}", self._endpoint(answer, nullcontext()))
                    for name, answer in self._questions().items()
                ),
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

    def _facets(self, request: Request) -> Any:
        query = request.query_params
        check_names("facets", query, ("entity", "name", "limit"))
        return facets(self._bronze, entity=query.get("entity"), name=query.get("name"), limit=_limit(request))

    def _run(self, request: Request) -> Any:
        check_names("lineage of a run", request.query_params, ())
        return self._lenses.run(request.path_params["run"])

    def _names(self, request: Request) -> Any:
        query = request.query_params
        check_names("names", query, ("namespace", "name", "at"))
        if not query.get("name"):
            raise WrongQuestion("name= is missing. Write namespace= and name= as a producer does.")
        return explain_name(
            self._lenses.rules().rules.names,
            query.get("namespace", ""),
            query["name"],
            at=query.get("at"),
            bind=self._lenses.bindings,
        )

    def _questions(self) -> dict[str, Answer]:
        """Return the questions about lineage that the index alone answers."""
        asked: dict[str, Answer] = {name: partial(_ask, self._lenses, name) for name in QUESTIONS if name != "edge"}
        return {
            **asked,
            "surface": lambda request: surface(self._lenses, request.query_params),
            "diff": lambda request: diff(self._lenses, request.query_params),
            "runs/{run:path}/lineage": self._run,
            "names": self._names,
            "search": lambda request: search(self._search, request.query_params),
            "rules": lambda _: rules_json(self._lenses.rules()),
        }

    def _endpoint(self, answer: Answer, turn: AbstractContextManager[Any] | None = None) -> Endpoint:
        """turn: held while answering; the lake is read by one request at a time, lineage sees to itself."""

        async def endpoint(request: Request) -> Response:
            key = self._access.find(dict(request.headers), request.url.query)
            if key is None:
                return _error(401, "The key is missing or wrong.", "Send `Authorization: Bearer KEY`.")
            if not key.may("read"):
                return _error(403, f"Key {key.name!r} may not read.", "Use a key with the role `read`.")
            return await asyncio.to_thread(_answer, answer, request, turn or self._one_at_a_time)

        return endpoint


def _answer(answer: Answer, request: Request, turn: AbstractContextManager[Any]) -> Response:
    try:
        with turn:
            return json_response(200, answer(request))
    except WrongQuestion as error:
        return _error(400, str(error), "Correct the parameter.")
    except NotKnown as error:
        return json_response(404, {"error": str(error), "field": None, "fix": _KNOWN, "nearest": error.nearest})
    except (GiveUp, Retry) as error:
        return _error(503, str(error), "Ask again in a moment.")


_KNOWN = "Use a name that is known; `nearest` has some."


def _ask(lenses: Lenses, question: str, request: Request) -> Any:
    return ask(lenses, question, request.query_params)


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
