"""`/openapi.json`, and the page `/docs`, which shows it without resources of other hosts."""

import base64
import hashlib
from collections.abc import Sequence
from functools import cached_property
from importlib.resources import files

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route as HttpRoute

from headwater.api.error_responses import authorization_error
from headwater.api.openapi import document
from headwater.auth.authentication import Authenticator
from headwater.questions.declaring import Question


class Docs:
    """The OpenAPI document and its page. Both are built once."""

    def __init__(self, access: Authenticator, routes: Sequence[Question]):
        """routes: the questions that this process serves."""
        self._access = access
        self._routes = routes

    def routes(self) -> list[HttpRoute]:
        """Return the routes of both."""
        return [HttpRoute("/openapi.json", self._json), HttpRoute("/docs", self._page)]

    async def _json(self, request: Request) -> Response:
        refusal = await authorization_error(self._access, request, "read")
        return refusal or Response(self._document, media_type="application/json")

    async def _page(self, _: Request) -> Response:
        """Serve the page. It is public, and asks the user for the key to load the document."""
        return Response(self._html, media_type="text/html", headers=self._headers)

    @cached_property
    def _document(self) -> bytes:
        return msgspec.json.format(msgspec.json.encode(document(self._routes)), indent=1)

    @cached_property
    def _html(self) -> str:
        return files("headwater.api").joinpath("docs.html").read_text(encoding="utf-8")

    @cached_property
    def _headers(self) -> dict[str, str]:
        allowed = {name: _digest(self._html, name) for name in ("style", "script")}
        policy = "; ".join([
            "default-src 'none'", "connect-src 'self'", "base-uri 'none'", "form-action 'none'",
            "frame-ancestors 'none'", *(f"{name}-src '{digest}'" for name, digest in allowed.items()),
        ])  # fmt: skip
        return {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "referrer-policy": "no-referrer",
        }


def _digest(page: str, element: str) -> str:
    """Return the hash of the page's style or script for the content security policy, which allows nothing else."""
    text = page.partition(f"<{element}>")[2].partition(f"</{element}>")[0]
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
