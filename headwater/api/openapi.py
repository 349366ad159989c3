"""Generate the OpenAPI document, and serve it with the page `/docs`, which uses no resources of other hosts."""

import asyncio
import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.resources import files
from typing import Any

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from headwater.api.contract_routes import ContractText
from headwater.api.live_feed import LIVE_EVENTS
from headwater.api.marquez.shapes import READ_BY_PAGE
from headwater.api.responses import authorization_error
from headwater.api.routes import BASE, topic_of
from headwater.auth.authentication import Authenticator
from headwater.questions.answer_types.common import Error
from headwater.questions.declaring import Parameter, Question

_JSON = "application/json"
_SCHEMAS = "#/components/schemas/"
_REFUSALS = {
    "400": "A parameter is missing, unknown or invalid",
    "401": "The key is missing or wrong",
    "403": "The key lacks a permission",
    "404": "The name is unknown; `nearest` lists similar names",
    "503": "Log, lake or index is not available, or waiting events may contain the name (`behind`); ask again",
}
_EVENT = {
    "type": "object",
    "description": "An OpenLineage event, https://openlineage.io/spec/2-0-2/OpenLineage.json",
}
_STREAM = {
    "type": "string",
    "description": "Server-sent events with JSON in `data`: "
    + ", ".join(f"{shape.__name__} for `{name}`" for name, shape in LIVE_EVENTS.items()),
}
_ANSWER = {"content": {_JSON: {"schema": {"type": "object"}}}}


def openapi_document(routes: Sequence[Question]) -> dict[str, Any]:
    """Return the OpenAPI 3.1 document of the routes, the receiver and the health checks."""
    answers = [route.answer for route in routes if route.answer and route.answer is not ContractText]
    shapes = [*answers, *LIVE_EVENTS.values(), *READ_BY_PAGE.values(), Error]
    _, schemas = msgspec.json.schema_components(shapes, ref_template=f"{_SCHEMAS}{{name}}")
    paths: dict[str, dict[str, Any]] = {}
    for route in routes:
        paths.setdefault(f"{BASE}/{route.path}", {})[route.method.lower()] = _operation_json(route)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Headwater",
            "version": version("headwater"),
            "description": "Ingests OpenLineage events and answers column-level questions about lineage. If no keys "
            "are configured, requests from this machine need none.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "paths": {**paths, **_intake_paths(), **_health_paths()},
        "components": {
            "schemas": schemas,
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "functions": {"type": "apiKey", "in": "header", "name": "x-functions-key"},
                "code": {"type": "apiKey", "in": "query", "name": "code"},
            },
        },
        "security": [{}, {"bearer": []}, {"functions": []}, {"code": []}],
    }


def _operation_json(route: Question) -> dict[str, Any]:
    if route.answer is None:
        answer: dict[str, Any] = {"content": {"text/event-stream": {"schema": _STREAM}}}
    elif route.answer is ContractText:
        answer = {"content": {"application/yaml": {"schema": {"type": "string"}}}}
    else:
        answer = {"content": {_JSON: {"schema": {"$ref": f"{_SCHEMAS}{route.answer.__name__}"}}}}
    return {
        "operationId": route.name,
        "summary": route.summary,
        "tags": [topic_of(route)],
        "description": f"Requires the role `{route.role}`.",
        "parameters": [_parameter_json(each) for each in route.parameters],
        "responses": {"200": {"description": "The answer", **answer}, **_refusal_responses(*_REFUSALS)},
    }


def _parameter_json(each: Parameter) -> dict[str, Any]:
    return {
        "name": each.name, "in": each.place, "required": each.required, "schema": each.schema,
        "description": each.meaning,
    }  # fmt: skip


def _refusal_responses(*statuses: str) -> dict[str, Any]:
    refused = {"content": {_JSON: {"schema": {"$ref": f"{_SCHEMAS}Error"}}}}
    return {status: {"description": _REFUSALS.get(status, "Refused"), **refused} for status in statuses}


def _intake_paths() -> Mapping[str, Any]:
    refusals = _refusal_responses("400", "401", "403", "408", "413", "415", "431", "503")
    one = {"operationId": "lineage", "summary": "Send one OpenLineage event; 200 means that it is on disk"}
    many = {"operationId": "batch", "summary": "Send an array of events; the answer lists refused items"}
    array = {"type": "array", "items": _EVENT, "maxItems": 10_000}
    return {
        "/api/v1/lineage": {
            "post": _post_operation(one, _EVENT, {"200": {"description": "Accepted", **_ANSWER}, **refusals})
        },
        "/api/v1/lineage/batch": {
            "post": _post_operation(many, array, {
                "200": {"description": "Some events were refused: see `failed_events`", **_ANSWER},
                "204": {"description": "All events were accepted"}, **refusals,
            })
        },
    }  # fmt: skip


def _post_operation(what: Mapping[str, Any], schema: Mapping[str, Any], responses: Mapping[str, Any]) -> dict[str, Any]:
    body = {"required": True, "content": {_JSON: {"schema": schema}}}
    return {**what, "tags": ["intake"], "requestBody": body, "responses": responses}


def _health_paths() -> Mapping[str, Any]:
    return {
        path: {
            "get": {
                "operationId": path.strip("/").replace("/", "-"), "summary": summary, "tags": ["health"],
                "security": [{}],
                "responses": {status: {"description": meaning, **_ANSWER} for status, meaning in statuses.items()},
            }
        }
        for path, summary, statuses in (
            ("/health/live", "Check whether the process answers", {"200": "It answers"}),
            ("/health/ready", "Check whether events can be accepted", {"200": "Ready", "503": "Not ready"}),
        )
    }  # fmt: skip


class ApiDocs:
    """Serves the OpenAPI document and its page `/docs`. Both are built once."""

    def __init__(self, access: Authenticator, routes: Callable[[], Sequence[Question]]):
        """routes: returns the questions that this process serves. Called by the first request for the document."""
        self._access = access
        self._routes = routes

    def routes(self) -> list[HttpRoute]:
        """Return the routes of the document and of its page."""
        return [HttpRoute("/openapi.json", self._serve_document), HttpRoute("/docs", self._serve_page)]

    async def _serve_document(self, request: Request) -> Response:
        refusal = await authorization_error(self._access, request, "read")
        if refusal:
            return refusal
        return Response(await asyncio.to_thread(lambda: self._encoded_document), media_type="application/json")

    async def _serve_page(self, _: Request) -> Response:
        """Serve the page. The page is public, and asks the user for a key with which it loads the document."""
        return Response(self._page_html, media_type="text/html", headers=self._page_headers)

    @cached_property
    def _encoded_document(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(openapi_document(self._routes())), indent=1)

    @cached_property
    def _page_html(self) -> str:
        return files("headwater.api").joinpath("docs.html").read_text(encoding="utf-8")

    @cached_property
    def _page_headers(self) -> dict[str, str]:
        allowed = {name: _csp_hash(self._page_html, name) for name in ("style", "script")}
        policy = "; ".join([
            "default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'", *(f"{name}-src '{digest}'" for name, digest in allowed.items()),
        ])  # fmt: skip
        return {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }


def _csp_hash(page: str, element: str) -> str:
    """Return the hash of the page's style or script for the content security policy, which allows nothing else."""
    text = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
