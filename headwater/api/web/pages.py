"""Serve the dashboard: one page for all paths outside the API, and its hashed scripts and styles.

The page is public and contains no data. It requests data from the API, with the key or session of the user.
"""

import gzip
import mimetypes
from functools import cached_property
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import NamedTuple

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import Scope

_POLICY = "; ".join([
    "default-src 'self'", "img-src 'self' data: blob:", "object-src 'none'", "base-uri 'none'", "form-action 'none'",
    "frame-ancestors 'none'",
])  # fmt: skip
_HEADERS = {
    "content-security-policy": _POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "vary": "accept-encoding",
}
_NEVER_CHANGES = "public, max-age=31536000, immutable"
_NOT_THE_PAGES = ("/api/", "/auth/", "/health/", "/assets/")
_SMALL = 1_000

_NOT_BUILT = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Headwater</title>
<h1>The dashboard is not built</h1>
<p>Headwater was installed from source without Node. Run <code>make web</code> in its folder (requires Node 20), or
install a wheel, which includes the dashboard. The API works without the dashboard: see <a href="/docs">/docs</a>.</p>
</html>"""


class _File(NamedTuple):
    """A file to serve. packed: its content compressed with gzip, None if that is not smaller."""

    body: bytes
    packed: bytes | None
    media_type: str


class _Page(Route):
    """Matches GET requests outside the API. Other requests fall through, so that the API answers 404 or 405."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        match, child = super().matches(scope)
        taken = match is Match.FULL and not scope["path"].startswith(_NOT_THE_PAGES)
        return (match, child) if taken else (Match.NONE, {})


class Web:
    """The built dashboard, read once and cached in memory (about 1 MB)."""

    def __init__(self, folder: Traversable | None = None):
        """folder: output of `make web`; default is the folder in this package."""
        self._folder = folder or files("headwater.api.web") / "assets"

    def routes(self) -> list[Route]:
        """Return the routes of the dashboard. Add them after all others, because they match every path."""
        return [Route("/assets/{name}", self._asset), _Page("/{rest:path}", self._page)]

    @cached_property
    def _files(self) -> dict[str, _File]:
        folder = self._folder / "assets"
        return {each.name: _read(each) for each in folder.iterdir() if each.is_file()} if folder.is_dir() else {}

    @cached_property
    def _index(self) -> _File:
        index = self._folder / "index.html"
        return _read(index) if index.is_file() else _File(_NOT_BUILT.encode(), None, "text/html")

    async def _asset(self, request: Request) -> Response:
        found = self._files.get(request.path_params["name"])
        if found is None:
            raise HTTPException(404)
        return _answer(request, found, _NEVER_CHANGES)

    async def _page(self, request: Request) -> Response:
        """Serve the page for any path; its router shows the content for the path."""
        path = request.url.path
        if path != "/" and "text/html" not in request.headers.get("accept", ""):
            raise HTTPException(404)
        return _answer(request, self._index, "no-cache")


def _read(file: Traversable) -> _File:
    body = file.read_bytes()
    packed = gzip.compress(body, mtime=0) if len(body) > _SMALL else None
    media_type = mimetypes.guess_type(file.name)[0] or "application/octet-stream"
    return _File(body, packed if packed and len(packed) < len(body) else None, media_type)


def _answer(request: Request, file: _File, cache: str) -> Response:
    headers = {**_HEADERS, "cache-control": cache}
    if file.packed is None or "gzip" not in request.headers.get("accept-encoding", ""):
        return Response(file.body, media_type=file.media_type, headers=headers)
    return Response(file.packed, media_type=file.media_type, headers={**headers, "content-encoding": "gzip"})
