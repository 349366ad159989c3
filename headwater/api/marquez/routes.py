"""The routes of Marquez's API, and the handling of requests and errors in Marquez's form."""

import asyncio
import re
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

from starlette.convertors import Convertor, register_url_convertor
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from headwater.api.freshness import FreshnessMeter
from headwater.api.marquez import datasets, events, jobs, namespaces, runs, search, writes
from headwater.api.marquez.changes import ChangeBackend, ChangeHandler, RequestedChange
from headwater.api.marquez.column_lineage import get_column_lineage
from headwater.api.marquez.requests import (
    MarquezError,
    MarquezNotFound,
    ReopenAsOf,
    RequestContext,
    page_not_found_error,
    parse_as_of,
)
from headwater.api.marquez.table_lineage import get_lineage
from headwater.api.responses import RETRY_SOON, Recorder, json_response, unexpected_error
from headwater.auth.access import Caller, Role
from headwater.auth.authentication import Authenticator
from headwater.common.errors import Behind, GiveUp, NotKnown, Retry, WrongQuestion
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.search import Search
from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.bronze_tables import Bronze

Pieces = tuple[str, ...]
"""A route split at its parameters: literal, parameter name, literal, and so on."""

Handler = Callable[[RequestContext], Any]
_MAX_BODY = 4 << 20
"""Maximum bytes of a change's body: enough for a dataset of 10,000 columns with descriptions."""

_DATASET = "namespaces/{namespace}/datasets/{dataset}"
_JOB = "namespaces/{namespace}/jobs/{job}"
_MARKED: dict[str, Handler] = {
    "start": writes.mark_run_handler("START"), "complete": writes.mark_run_handler("COMPLETE"),
    "fail": writes.mark_run_handler("FAIL"), "abort": writes.mark_run_handler("ABORT"),
}  # fmt: skip
HANDLERS: dict[str, dict[str, Handler]] = {
    "namespaces": {"GET": namespaces.list_namespaces},
    "sources": {"GET": namespaces.list_sources},
    "sources/{source}": {"GET": namespaces.get_source, "PUT": writes.put_source},
    "tags": {"GET": namespaces.list_tags},
    "tags/{tag}": {"PUT": writes.create_tag},
    "jobs": {"GET": jobs.list_jobs},
    "jobs/runs/{run}/facets": {"GET": runs.get_facets},
    **{f"jobs/runs/{{run}}/{way}": {"POST": marked} for way, marked in _MARKED.items()},
    "jobs/runs/{run}": {"GET": runs.get_run},
    "runlineage/upstream": {"GET": runs.get_upstream_runs},
    "lineage": {"GET": get_lineage},
    "column-lineage": {"GET": get_column_lineage},
    "events/lineage": {"GET": events.list_events},
    "events": {"GET": events.list_events},
    "events/{namespace}": {"GET": events.list_namespace_events},
    "stats/lineage-events": {"GET": events.count_events},
    "stats/jobs": {"GET": events.count_jobs},
    "stats/datasets": {"GET": events.count_datasets},
    "stats/sources": {"GET": events.count_sources},
    f"{_DATASET}/fields/{{field}}/tags/{{tag}}": {
        "POST": writes.tag_field_handler(is_set=True), "DELETE": writes.tag_field_handler(is_set=False),
    },
    f"{_DATASET}/tags/{{tag}}": {
        "POST": writes.tag_dataset_handler(is_set=True),
        "DELETE": writes.tag_dataset_handler(is_set=False),
    },
    f"{_DATASET}/versions/{{version}}": {"GET": datasets.get_version},
    f"{_DATASET}/versions": {"GET": datasets.list_versions},
    f"{_JOB}/tags/{{tag}}": {
        "POST": writes.tag_job_handler(is_set=True), "DELETE": writes.tag_job_handler(is_set=False),
    },
    f"{_JOB}/versions/{{version}}": {"GET": jobs.get_version},
    f"{_JOB}/versions": {"GET": jobs.list_versions},
    f"{_JOB}/runs": {"GET": jobs.list_runs, "POST": writes.create_run},
    "namespaces/{namespace}/datasets": {"GET": datasets.list_datasets},
    "namespaces/{namespace}/jobs": {"GET": jobs.list_jobs},
    _DATASET: {"GET": datasets.get_dataset, "PUT": writes.put_dataset, "DELETE": writes.delete_dataset},
    _JOB: {"GET": jobs.get_job, "PUT": writes.put_job, "DELETE": writes.delete_job},
    "namespaces/{namespace}": {
        "GET": namespaces.get_namespace, "PUT": writes.put_namespace, "DELETE": writes.delete_namespace,
    },
}  # fmt: skip
_PRODUCER_CHANGES = {writes.put_dataset, writes.put_job, writes.create_run, *_MARKED.values()}
"""Changes that a key with the roles `write` and `read` may make. Such a key could also send the same events itself."""

_READ_METHODS = ("GET", "HEAD")
_Table = list[tuple[re.Pattern[str], Pieces, dict[str, Handler]]]
_GUID = "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_ID = re.compile(rf"(?<=abfss://){_GUID}(?=@onelake\.)|(?:\A|(?<=:)|(?<=\.com/)){_GUID}(?=/)")
_NAMED = {"namespace", "name", "physicalName", "sourceName", "dataset", "nodeId", "id", "origin", "destination"}
_AS_SENT = {"facets", "runFacets", "events"}


def split_route(route: str) -> Pieces:
    """Split a route such as `namespaces/{namespace}/jobs/{job}` at its parameters."""
    return tuple(re.split(r"\{(\w+)\}", route))


def match_path(path: str, pieces: Pieces) -> dict[str, str] | None:
    """Return the parameters of a path by name; None if the path does not match the route.

    If there are several matches, the first parameters are as long as possible. The function searches each literal only
    once, from the end. A regular expression with four `.+` would take minutes for 60 KB of `/datasets//fields/`.
    """
    first, *middle = pieces
    if not middle:
        return {} if path == first else None
    end = middle.pop()
    if not path.startswith(first) or not path.endswith(end) or len(path) <= len(first) + len(end):
        return None
    rest, found = path[len(first) : len(path) - len(end)], {}
    while len(middle) > 1:
        name, before = middle.pop(), middle.pop()
        at = rest.rfind(before, 1, len(rest) - 1)
        if at < 0:
            return None
        rest, found[name] = rest[:at], rest[at + len(before) :]
    return {middle[0]: rest, **found}


class _AnyPathConvertor(Convertor[str]):
    """Like Starlette's `path`, but also matches newlines, which names may contain."""

    regex = "(?s:.*)"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("anything", _AnyPathConvertor())


class MarquezApi:
    """Answers Marquez's API from one index and one lake."""

    def __init__(
        self,
        open_views: ViewOpener,
        things: Search,
        bronze: Bronze,
        access: Authenticator,
        freshness: FreshnessMeter,
        *,
        record: Recorder,
        writing: ChangeBackend | None,
    ):
        """record: adds a row to the admin log; writing: accepts changes, None in a read-only process."""
        self._open_views = open_views
        self._bronze = bronze
        self._access = access
        self._freshness = freshness
        self._changes = ChangeHandler(record, writing)
        self._lake_lock = threading.Lock()
        self._v1 = _compile_routes({**HANDLERS, "search": {"GET": partial(search.search_all, things)}})
        self._v2 = _compile_routes({
            "jobs": {"GET": partial(search.search_jobs, things)},
            "datasets": {"GET": partial(search.search_datasets, things)},
        })  # fmt: skip

    def routes(self) -> list[Route]:
        """Return the routes of an ASGI application."""
        methods = ["GET", "POST", "PUT", "DELETE", "PATCH"]
        return [
            Route("/api/v1/{rest:anything}", partial(self._handle, self._v1, "/api/v1/"), methods=methods),
            Route(
                "/api/v2beta/search/{rest:anything}",
                partial(self._handle, self._v2, "/api/v2beta/search/"),
                methods=methods,
            ),
        ]

    async def _handle(self, table: "_Table", base: str, request: Request) -> Response:
        try:
            caller = await self._authenticate(request)
            path, methods = _find_route(table, base, request)
            answer = methods.get("GET" if request.method == "HEAD" else request.method)
            if answer is None:
                raise MarquezError(405, {"code": 405, "message": "HTTP 405 Method Not Allowed"})
            if request.method not in _READ_METHODS:
                _require_role(caller, *(("write", "read") if answer in _PRODUCER_CHANGES else ("admin",)))
            body = b"" if request.method == "GET" else await _read_body(request)
            found = await asyncio.to_thread(self._answer, answer, path, request, body)
            if not isinstance(found, RequestedChange):
                return found
            follow_up = partial(self._answer, found.follow_up or answer, path, request, b"")
            is_admin_act = answer not in _PRODUCER_CHANGES
            return await self._changes.handle_change(found, request, caller, follow_up, is_admin_act=is_admin_act)
        except MarquezError as error:
            return json_response(error.status, error.body)

    async def _authenticate(self, request: Request) -> Caller:
        key = await self._access.find_caller(dict(request.headers), request.url.query, request.method)
        if key is None:
            status, _, what, fix = self._access.denial(request.headers, request.url.query)
            raise MarquezError(status, {"code": status, "message": f"{what} {fix}"})
        if request.method in _READ_METHODS:
            _require_role(key, "read")
        return key

    def _answer(
        self, answer: Handler, path: Mapping[str, str], request: Request, body: bytes
    ) -> Response | RequestedChange:
        try:
            found = self._freshness.ask_or_report_delay(
                lambda: self._open_and_answer(answer, path, request, body), MarquezNotFound
            )
            if isinstance(found, RequestedChange):
                return found
            if callable(found):
                with self._lake_lock:
                    found = found(self._bronze)
            return json_response(200, found)
        except (WrongQuestion, NotKnown) as error:
            return json_response(400, {"code": 400, "message": str(error)})
        except MarquezError:
            raise
        except Behind as error:
            return json_response(503, {"code": 503, "message": str(error)}, RETRY_SOON)
        except (GiveUp, Retry) as error:
            status = 503 if isinstance(error, Retry) else 500
            return json_response(status, {"code": status, "message": str(error)})
        except Exception as error:
            status, what, fix = unexpected_error(error)
            return json_response(status, {"code": status, "message": f"{what} {fix}"})

    def _open_and_answer(self, answer: Handler, path: Mapping[str, str], request: Request, body: bytes) -> Any:
        snapshot = parse_as_of(request.query_params)
        try:
            return self._answer_as_of(snapshot.as_of_us, answer, path, request, body)
        except ReopenAsOf as error:
            return self._answer_as_of(error.as_of_us, answer, path, request, body)

    def _answer_as_of(
        self, as_of_us: int | None, answer: Handler, path: Mapping[str, str], request: Request, body: bytes
    ) -> Any:
        snapshot = parse_as_of(request.query_params)._replace(as_of_us=as_of_us)
        with self._open_views.open_view_and_index(snapshot) as (view, live):
            found = answer(RequestContext(path, request.query_params, view, Catalog(live, as_of_us), body))
            return with_display_names(found, view.rules.names.onelake_names)


def _require_role(caller: Caller, *roles: Role) -> None:
    for role in roles:
        if not caller.has_role(role):
            raise MarquezError(403, {"code": 403, "message": f"{caller.title} does not have the role `{role}`."})


def _compile_routes(routes: Mapping[str, dict[str, Handler]]) -> _Table:
    return [
        (
            re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", pattern)),
            split_route(pattern),
            methods,
        )
        for pattern, methods in routes.items()
    ]


def _find_route(table: _Table, base: str, request: Request) -> tuple[dict[str, str], dict[str, Handler]]:
    """Find the route of a path. Names may contain slashes as `%2F`, or plain if a proxy decoded them."""
    raw = request.scope.get("raw_path") or b""
    sent = raw.decode("latin-1")[len(base) :] if raw.startswith(base.encode()) else ""
    for exact, _, methods in table if sent else ():
        match = exact.fullmatch(sent)
        if match:
            return {name: unquote(text, errors="replace") for name, text in match.groupdict().items()}, methods
    plain = request.url.path if not raw else request.scope["path"]
    for _, pieces, methods in table:
        names = match_path(plain[len(base) :], pieces)
        if names is not None:
            return names, methods
    if request.method == "POST":
        raise HTTPException(404)  # probably an event with a wrong path; the receiver's error names the right path
    raise page_not_found_error()


async def _read_body(request: Request) -> bytes:
    parts, size = [], 0
    async for chunk in request.stream():
        size += len(chunk)
        if size > _MAX_BODY:
            message = f"The body is larger than {_MAX_BODY} bytes. Split the change."
            raise MarquezError(413, {"code": 413, "message": message})
        parts.append(chunk)
    return b"".join(parts)


def with_display_names(found: Any, names: Mapping[str, str]) -> Any:
    """Return an answer with display names instead of ids, if they are known. Requests accept both spellings.

    found: an answer, a DeferredAnswer, or a RequestedChange. names: display names by id.
    """
    if not names:
        return found
    if isinstance(found, RequestedChange):
        return found._replace(answer=_replace_ids(found.answer, names))
    if callable(found):
        return lambda bronze: _replace_ids(found(bronze), names)
    return _replace_ids(found, names)


def _replace_ids(value: Any, names: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_replace_ids(each, names) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: each if key in _AS_SENT else _replace_ids_in_member(key, each, names) for key, each in value.items()}


def _replace_ids_in_member(key: str, value: Any, names: Mapping[str, str]) -> Any:
    if not isinstance(value, str):
        return _replace_ids(value, names)
    return _ID.sub(lambda found: names.get(found[0], found[0]), value) if key in _NAMED else value
