"""Serves the routes of the reading API; each answer is made on a thread, lake reads one at a time."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

from starlette.applications import Starlette
from starlette.datastructures import QueryParams
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from headwater.access import Access
from headwater.api.docs import Docs
from headwater.api.facets import facets
from headwater.api.freshness import Freshness
from headwater.api.lineage import QUESTIONS, ask, diff, edge, surface
from headwater.api.live import MAX_CLIENTS, Live, Stream, last_id
from headwater.api.names import explain_name, rules_json
from headwater.api.overview import overview
from headwater.api.pictures import around, changes_of, graph
from headwater.api.query import number
from headwater.api.questions import audit, list_events, list_refused, list_rejected
from headwater.api.refusing import Answer, answered, error_response, json_response, refuse
from headwater.api.routes import BASE, ROUTES, Route
from headwater.api.search import search
from headwater.errors import LakeUnavailable, WrongQuestion
from headwater.eventlog import Readers
from headwater.index.lens import Lenses
from headwater.index.search import Search
from headwater.lake.bronze import Bronze
from headwater.questions.run_lineage import run_lineage

SendAgain = Callable[[Sequence[bytes], Mapping[str, str], str], Awaitable[Sequence[str | None]]]
"""Takes bodies, headers and query of a request, and gives for each body None, or why it was refused."""


class ReadFrom(NamedTuple):
    """What the API answers from; settings are shown as they are; send_again and live only where one process serves."""

    readers: Readers
    bronze: Bronze
    access: Access
    lenses: Lenses
    search: Search
    freshness: Freshness
    settings: Sequence[Mapping[str, Any]]
    send_again: SendAgain | None = None
    live: Live | None = None


class ReadApi:
    """Answers from one log, one lake and one index."""

    def __init__(self, reading: ReadFrom):
        """Open nothing: log, lake and index may not be there yet."""
        self._from = reading
        self._one_at_a_time = threading.Lock()

    def app(self) -> Starlette:
        """Build the ASGI application."""
        answers = self._answers()
        routes = [
            HttpRoute(
                f"{BASE}/{route.path.replace('{run}', '{run:path}')}",
                self._listen if route.name == "live" else partial(self._endpoint, route, answers[route.name]),
                methods=[route.method],
            )
            for route in self.routes()
        ]
        routes += Docs(self._from.access, self.routes()).routes()
        return Starlette(routes=routes, exception_handlers={404: _not_found, 405: _wrong_method})

    def routes(self) -> list[Route]:
        """Return the routes that this process serves."""
        served = {"rejected-retry": self._from.send_again, "live": self._from.live}
        return [route for route in ROUTES if served.get(route.name, True)]

    def _answers(self) -> Mapping[str, Answer]:
        readers, bronze, _, lenses, things, freshness, settings, *_ = self._from
        questions = (name for name in QUESTIONS if name != "edge")
        by_query: dict[str, Callable[[QueryParams], Any]] = {
            **{name: partial(ask, lenses, name) for name in questions},
            "edge": partial(edge, lenses, bronze),
            "surface": partial(surface, lenses),
            "diff": partial(diff, lenses),
            "facets": lambda q: facets(
                bronze, lenses.rules().rules.names, entity=q.get("entity"), name=q.get("name"), limit=_limit(q)
            ),
            "names": self._names,
            "rules": lambda _: rules_json(lenses.rules()),
            "search": partial(search, things),
            "graph": lambda q: graph(lenses, q, q.getlist("expand")),
            "lineage": partial(around, lenses),
            "timeline": partial(changes_of, lenses),
            "overview": lambda q: overview(readers(), bronze, lenses, freshness, q),
            "audit": lambda _: audit(readers(), bronze),
            "freshness": lambda _: freshness.answer(),
            "events": lambda q: list_events(
                bronze, run=q.get("run"), job=q.get("job"), since=q.get("since"), limit=_limit(q)
            ),
            "rejected": lambda q: list_rejected(bronze, since=q.get("since"), limit=_limit(q)),
            "rejected-retry": lambda q: list_rejected(bronze, since=q.get("since"), limit=_limit(q)),
            "refused": lambda q: list_refused(bronze, since=q.get("since"), limit=_limit(q)),
            "settings": lambda _: {"items": settings},
        }
        return {
            **{name: _of_query(answer) for name, answer in by_query.items()},
            "runs-lineage": lambda request: lenses.now(lambda live, _: run_lineage(live, request.path_params["run"])),
        }

    def _names(self, query: QueryParams) -> Any:
        if not query.get("name"):
            raise WrongQuestion("name= is missing. Write namespace= and name= as a producer does.")
        return explain_name(
            self._from.lenses.rules().rules.names,
            query.get("namespace", ""),
            query["name"],
            at=query.get("at"),
            bind=self._from.lenses.bindings,
        )

    async def _endpoint(self, route: Route, answer: Answer, request: Request) -> Response:
        refusal = refuse(self._from.access, request, route.role)
        if refusal is not None:
            return refusal
        turn: AbstractContextManager[Any] = self._one_at_a_time if route.reads_lake else nullcontext()
        found = await asyncio.to_thread(answered, route, self._certainly(answer), request, turn)
        if isinstance(found, Response):
            return found
        if route.name == "rejected-retry" and self._from.send_again:
            found = await _sent_again(self._from.send_again, found, request)
        return json_response(200, found)

    def _certainly(self, answer: Answer) -> Answer:
        return lambda request: self._from.freshness.certain(lambda: answer(request))

    async def _listen(self, request: Request) -> Response | Stream:
        route, live = next(route for route in ROUTES if route.name == "live"), self._from.live
        refusal = refuse(self._from.access, request, route.role)
        if refusal is not None or live is None:
            return refusal or await _not_found(request, LookupError())
        found = await asyncio.to_thread(answered, route, lambda _: None, request, nullcontext())
        if isinstance(found, Response):
            return found
        if live.listening >= MAX_CLIENTS:
            return error_response(503, f"{MAX_CLIENTS} listen already.", "Come again later.")
        try:
            return await live.open(last_id(request))
        except LakeUnavailable as error:
            return error_response(503, str(error), "Ask again in a moment.")


async def _sent_again(send: SendAgain, found: dict[str, Any], request: Request) -> dict[str, Any]:
    bodies = [item["body"].encode() for item in found["items"] if item["body"]]
    reasons = [reason for reason in await send(bodies, dict(request.headers), request.url.query) if reason]
    return {
        "sent": len(bodies),
        "accepted": len(bodies) - len(reasons),
        "refused": len(reasons),
        "reasons": sorted(set(reasons))[:20],
        "truncated": found["truncated"],
    }


def _of_query(answer: Callable[[QueryParams], Any]) -> Answer:
    return lambda request: answer(request.query_params)


def _limit(query: QueryParams) -> int:
    limit = number(query, "limit")
    return 100 if limit is None else limit


async def _not_found(request: Request, _: Exception) -> Response:
    return error_response(404, f"There is nothing at {request.url.path[:200]!r}.", "See /docs for what there is.")


async def _wrong_method(request: Request, error: Exception) -> Response:
    allowed = getattr(error, "headers", None) or {}
    answer = error_response(405, f"{request.method} is not taken here.", f"Use {allowed.get('Allow', 'GET')}.")
    answer.headers.update(allowed)
    return answer
