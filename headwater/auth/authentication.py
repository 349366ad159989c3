"""Authenticate requests by key, OIDC token or session."""

import asyncio
import hmac
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

from headwater.auth.access import ANYONE, Caller, Key, digest_of

if TYPE_CHECKING:  # a process without an issuer does not load a cryptography library
    from headwater.auth.keys import KeyFile
    from headwater.auth.oidc import TokenVerifier
    from headwater.auth.sessions import Sessions

CSRF_HEADER = "x-headwater-session"
"""Header that a request with a session needs to change something. Browsers send it to other sites only after a CORS
preflight request, which Headwater does not answer."""


class Denial(NamedTuple):
    """The response to a request without a valid credential. reason: the label in metrics."""

    status: int
    reason: str
    what: str
    fix: str


_NO_CREDENTIALS = Denial(
    401, "credentials", "The key is missing or wrong.", "Send `Authorization: Bearer KEY` or `x-functions-key`."
)
_NO_SESSION_HEADER = Denial(
    403,
    "session_header",
    f"The request has a session but no header {CSRF_HEADER}, so a page of another site may have sent it.",
    f"Send the header {CSRF_HEADER}.",
)


class Authenticator:
    """Finds the caller of a request. Without keys, a key file and an issuer, every caller is `anyone`."""

    def __init__(
        self,
        keys: Sequence[Key],
        key_file: "KeyFile | None" = None,
        tokens: "TokenVerifier | None" = None,
        sessions: "Sessions | None" = None,
    ):
        """Create an authenticator, and read the key file. The settings allow access without keys on loopback only."""
        self._fixed = {key.digest: key for key in keys}
        self.file = key_file
        self.tokens = tokens
        self.sessions = sessions
        if key_file is not None:
            key_file.reload()

    @property
    def is_open(self) -> bool:
        """Whether requests need no credential. An existing key file ends open access, even if it is empty."""
        return not self._fixed and self.tokens is None and (self.file is None or not self.file.exists)

    async def find_caller(self, headers: Mapping[str, str], query: str, method: str = "GET") -> Caller | None:
        """Return the caller of a request; None if its credential is missing, wrong or expired.

        Checks `Authorization: Bearer`, `x-functions-key`, `?code=` and the session cookie, in this order. A session
        needs CSRF_HEADER for methods other than GET and HEAD. headers: names in lower case.
        """
        if self.file is not None and self.file.should_reload_now():
            self.file.reload()  # reload is usually one stat call; a thread would cost a hundred times as much
        if self.is_open:
            return ANYONE
        presented = _presented_secret(headers, query)
        if not presented:
            return self._session_caller(headers, method)
        key = self._key_by_digest(digest_of(presented))
        if key is not None:
            return key.caller if key.expires is None or key.is_valid(datetime.now(UTC)) else None
        return await self.tokens.caller_from_token(presented) if self.tokens and presented.count(".") == 2 else None

    def denial(self, headers: Mapping[str, str], query: str) -> Denial:
        """Return the response to a request for which `find_caller` returned None."""
        is_session = not _presented_secret(headers, query) and self._session_caller(headers, "GET") is not None
        return _NO_SESSION_HEADER if is_session else _NO_CREDENTIALS

    async def save_key_uses(self) -> None:
        """Save the time of the last use of each key in the key file."""
        if self.file is not None and self.file.unsaved_uses():
            await asyncio.to_thread(self.file.save_uses)

    def _key_by_digest(self, digest: bytes) -> Key | None:
        """Find a key by the digest of its secret. The time of the lookup reveals only digests, not secrets."""
        found = self._fixed.get(digest)
        if found is None and self.file is not None:
            found = self.file.keys.get(digest)
            if found is not None:
                self.file.used[found.id] = time.time()
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None

    def _session_caller(self, headers: Mapping[str, str], method: str) -> Caller | None:
        if self.sessions is None or (method not in ("GET", "HEAD") and CSRF_HEADER not in headers):
            return None
        return self.sessions.caller_from_cookies(headers.get("cookie", ""))


def _presented_secret(headers: Mapping[str, str], query: str) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return headers.get("x-functions-key") or (next(iter(parse_qs(query).get("code", [])), "") if query else "")
