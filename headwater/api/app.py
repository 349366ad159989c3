"""The ASGI application of the reading API. Questions run in threads; only one at a time reads the lake."""

import asyncio
import logging
import threading
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.routing import Route as HttpRoute

from headwater.api import routes
from headwater.api.contract_routes import ContractText
from headwater.api.freshness import FreshnessMeter
from headwater.api.live_feed import MAX_CLIENTS, LiveFeed, LiveStream, last_event_id
from headwater.api.openapi import ApiDocs
from headwater.api.responses import (
    Recorder,
    actor_of,
    authorization_error,
    authorize,
    error_response,
    json_response,
    outcome_of,
    run_question,
)
from headwater.api.routes import BASE, IDENTITY_ROUTES, ROUTES, SINK_ROUTES, installed_routes
from headwater.api.shapes import SentAgain
from headwater.auth.access import ANYONE, Caller
from headwater.auth.authentication import Authenticator
from headwater.auth.keys import KeyManager
from headwater.common.errors import LakeUnavailable
from headwater.common.json_headers import ANSWER_HEADERS
from headwater.index.reading.search import Search
from headwater.index.reading.view_opener import ActiveRules, ViewOpener
from headwater.intake.event_log import Readers
from headwater.lake.bronze_tables import Bronze
from headwater.lake.delta_table import LakeTable
from headwater.questions.answer_types.lists import RejectedEvents
from headwater.questions.declaring import Question

if TYPE_CHECKING:
    from headwater.sinks.control.service import SinkService

log = logging.getLogger(__name__)

ResendEvents = Callable[[Sequence[bytes], Mapping[str, str], Caller], Awaitable[Sequence[str | None]]]
"""Accepts event bodies (bodies, headers, authenticated caller). Returns None or the reason of refusal for each body."""


class ApiSources(NamedTuple):
    """The sources of answers, and the caller of a request.

    settings: the settings for display, without secrets. record: adds a row to the admin log. send_again: sends rejected
    events again. live: streams live events. sinks: controls the sinks. The last three are None in a Function App,
    because it has several processes.
    """

    log_readers: Readers
    bronze: Bronze
    access: Authenticator
    open_views: ViewOpener
    search: Search
    freshness: FreshnessMeter
    settings: Sequence[Mapping[str, Any]]
    record: Recorder
    admin_log: LakeTable
    keys: KeyManager | None
    contracts: Path
    send_again: ResendEvents | None = None
    live: LiveFeed | None = None
    sinks: "SinkService | None" = None
    caller: Caller = ANYONE

    def rules(self) -> ActiveRules:
        """Return the user's rules."""
        return self.open_views.active_rules()


class ReadApi:
    """The reading API over one log, one lake and one index."""

    def __init__(self, sources: ApiSources):
        """Prepare the API. Log, lake and index may be created later."""
        self._sources = sources
        self._lake_lock = threading.Lock()

    def build_app(self) -> Starlette:
        """Build the ASGI application."""
        served = [*map(self._http_route, self.routes())]
        served += ApiDocs(self._sources.access, lambda: [*self.routes(), *installed_routes().parts.values()]).routes()
        return Starlette(routes=served, exception_handlers={404: self._answer_package_route, 405: _method_not_allowed})

    def routes(self) -> list[Question]:
        """Return the built-in routes that this process serves."""
        served: dict[str, object] = {"rejected-retry": self._sources.send_again, "live": self._sources.live}
        served |= {route.name: self._sources.sinks for route in SINK_ROUTES}
        served |= {route.name: self._sources.keys for route in IDENTITY_ROUTES if route.name != "admin-log"}
        return [route for route in ROUTES if served.get(route.name, True)]

    def _http_route(self, route: Question) -> HttpRoute:
        return HttpRoute(
            f"{BASE}/{route.path.replace('{run}', '{run:path}')}",
            self._live_stream if route.name == "live" else partial(self._handle, route),
            methods=[route.method],
        )

    @cached_property
    def _routes_of_packages(self) -> list[HttpRoute]:
        """Return the routes that installed packages add."""
        found = installed_routes()
        for problem in found.problems:
            log.warning("%s", problem)
        return [*map(self._http_route, found.parts.values())]

    async def _answer_package_route(self, request: Request, error: Exception) -> Response:
        """Answer a path that no built-in route matches: with a route of an installed package, or with 404."""
        if request.url.path.startswith(f"{BASE}/"):
            for route in await asyncio.to_thread(lambda: self._routes_of_packages):
                match, scope = route.matches(request.scope)
                if match is Match.FULL:
                    answer: Response = await route.endpoint(Request({**request.scope, **scope}, request.receive))
                    return answer
                if match is Match.PARTIAL:
                    return await _method_not_allowed(
                        request, HTTPException(405, headers={"Allow": ", ".join(route.methods or ())})
                    )
        return await _not_found(request, error)

    async def _handle(self, route: Question, request: Request) -> Response:
        caller = await authorize(self._sources.access, request, route.role)
        if isinstance(caller, Response):
            if route.method != "GET":
                await self._record_admin_act(route, request, None, caller)
            return caller
        lock: AbstractContextManager[Any] = self._lake_lock if route.reads_lake else nullcontext()
        found = await asyncio.to_thread(run_question, partial(self._ask_question, route, request, caller), lock)
        if route.name == "rejected-retry" and self._sources.send_again and not isinstance(found, Response):
            found = await _resend_rejected(self._sources.send_again, found, request, caller)
        answer = found if isinstance(found, Response) else _to_response(found)
        if route.method != "GET":
            await self._record_admin_act(route, request, caller, answer)
        return answer

    async def _record_admin_act(
        self, route: Question, request: Request, caller: Caller | None, answer: Response
    ) -> None:
        """Record an action in the admin log, with its path and parameters, which contain no secrets."""
        outcome = outcome_of(answer.status_code)
        ordered = {
            **request.path_params,
            **{name: value for name, value in request.query_params.items() if name != "code"},
        }
        detail = " ".join(f"{name}={value}" for name, value in ordered.items())
        subject = next(iter(ordered.values()), "")
        actor = actor_of(request, caller)
        await asyncio.to_thread(self._sources.record, actor, route.name.replace("-", " "), subject, outcome, detail)

    def _ask_question(self, route: Question, request: Request, caller: Caller) -> Any:
        sources = self._sources._replace(caller=caller)
        asked = {name: request.query_params.getlist(name) for name in request.query_params}
        return self._sources.freshness.ask_or_report_delay(lambda: route.ask(sources, asked, **request.path_params))

    async def _live_stream(self, request: Request) -> Response | LiveStream:
        live = self._sources.live
        refusal = await authorization_error(self._sources.access, request, routes.live.role)
        if refusal is not None or live is None:
            return refusal or await _not_found(request, LookupError())
        found = run_question(partial(routes.live.ask, self._sources, request.query_params), nullcontext())
        if isinstance(found, Response):
            return found
        if live.client_count >= MAX_CLIENTS:
            return error_response(503, f"There are already {MAX_CLIENTS} listeners.", "Try again later.")
        try:
            return await live.add_client(last_event_id(request))
        except LakeUnavailable as error:
            return error_response(503, str(error), "Ask again in a moment.")


async def _resend_rejected(send: ResendEvents, found: RejectedEvents, request: Request, caller: Caller) -> SentAgain:
    bodies = [item.body.encode() for item in found.items if item.body]
    reasons = [reason for reason in await send(bodies, dict(request.headers), caller) if reason]
    sent, refused = len(bodies), len(reasons)
    return SentAgain(sent, sent - refused, refused, sorted(set(reasons))[:20], found.truncated)


def _to_response(found: Any) -> Response:
    """Return an answer as JSON, a contract as a YAML file."""
    if isinstance(found, ContractText):
        named = {**ANSWER_HEADERS, "content-disposition": f'attachment; filename="{found.file}"'}
        return Response(found.text, 200, named, media_type="application/yaml")
    return json_response(200, found)


async def _not_found(request: Request, _: Exception) -> Response:
    return error_response(404, f"The path {request.url.path[:200]!r} does not exist.", "See /docs for all paths.")


async def _method_not_allowed(request: Request, error: Exception) -> Response:
    allowed = getattr(error, "headers", None) or {}
    answer = error_response(
        405, f"{request.method} is not allowed for this path.", f"Use {allowed.get('Allow', 'GET')}."
    )
    answer.headers.update(allowed)
    return answer
