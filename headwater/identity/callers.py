"""Finds who a request is of: by a key, by an OIDC token, by the session of who signed in."""

import asyncio
import hmac
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qs

from headwater.access import ANYONE, Caller, Key, digest_of

if TYPE_CHECKING:  # who has no issuer loads no cryptography
    from headwater.identity.key_file import KeyFile
    from headwater.identity.oidc_tokens import TokenCheck
    from headwater.identity.sessions import Sessions

CSRF_HEADER = "x-headwater-session"
"""Without it a session changes nothing: a page of another site must ask before it sends one, and nobody answers."""


class Denial(NamedTuple):
    """The answer to a request whose caller is unknown. reason: for counting."""

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
    "A session changes something only with its header, because a page of another site may have sent this.",
    f"Send the header {CSRF_HEADER}.",
)


class Access:
    """What a process knows of callers; without keys, file of keys and issuer everybody is `anyone`."""

    def __init__(
        self,
        keys: Sequence[Key],
        key_file: "KeyFile | None" = None,
        tokens: "TokenCheck | None" = None,
        sessions: "Sessions | None" = None,
    ):
        """Look at the file once. Settings allow that there is nothing of all this on loopback only."""
        self._fixed = {key.digest: key for key in keys}
        self.file = key_file
        self.tokens = tokens
        self.sessions = sessions
        if key_file is not None:
            key_file.look()

    @property
    def is_open(self) -> bool:
        """Tell whether nobody needs a key; once a file of keys is there, an empty one lets nobody in."""
        return not self._fixed and self.tokens is None and (self.file is None or not self.file.is_there)

    async def find(self, headers: Mapping[str, str], query: str, method: str = "GET") -> Caller | None:
        """Return who a request is of; None if what it shows is missing, wrong or expired.

        headers: lower-case names. Looks at `Authorization: Bearer`, `x-functions-key`, `?code=`, the session's cookie,
        in this order. A session may change something (other methods than GET and HEAD) with CSRF_HEADER only.
        """
        if self.file is not None and self.file.is_due():
            self.file.look()  # a stat: a thread for it would cost a hundred times as much
        if self.is_open:
            return ANYONE
        presented = _presented(headers, query)
        if not presented:
            return self._signed_in(headers, method)
        key = self._key(digest_of(presented))
        if key is not None:
            return key.caller if key.expires is None or key.is_valid(datetime.now(UTC)) else None
        return await self.tokens.caller(presented) if self.tokens and presented.count(".") == 2 else None

    def denial(self, headers: Mapping[str, str], query: str) -> Denial:
        """Return how to answer a request for which `find` returned None."""
        is_session = not _presented(headers, query) and self._signed_in(headers, "GET") is not None
        return _NO_SESSION_HEADER if is_session else _NO_CREDENTIALS

    async def tell_uses(self) -> None:
        """Write down which keys of the file were used, if that is not known yet."""
        if self.file is not None and self.file.unknown_uses():
            await asyncio.to_thread(self.file.tell_uses)

    def _key(self, digest: bytes) -> Key | None:
        """Find a key by a hash, which only who has the secret can aim: how long a look-up takes tells nothing."""
        found = self._fixed.get(digest)
        if found is None and self.file is not None:
            found = self.file.keys.get(digest)
            if found is not None:
                self.file.used[found.id] = time.time()
        return found if found is not None and hmac.compare_digest(found.digest, digest) else None

    def _signed_in(self, headers: Mapping[str, str], method: str) -> Caller | None:
        if self.sessions is None or (method not in ("GET", "HEAD") and CSRF_HEADER not in headers):
            return None
        return self.sessions.caller(headers.get("cookie", ""))


def _presented(headers: Mapping[str, str], query: str) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return headers.get("x-functions-key") or (next(iter(parse_qs(query).get("code", [])), "") if query else "")
