"""Sessions of the dashboard: who signed in, in a cookie that only we can have written."""

import base64
import hmac
import time
from http.cookies import CookieError, SimpleCookie

import msgspec

from headwater.access import Caller, Identity, Role

SESSION = "headwater_session"
LIFETIME_S = 8 * 3600

SIGNING_IN = "headwater_signing_in"
"""The cookie between the way to the issuer and the way back."""

TAKES_S = 600
"""Seconds in which somebody must have signed in at the issuer."""


class _Session(msgspec.Struct, frozen=True, array_like=True):
    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str]
    until: float
    issuer: str = ""
    subject: str = ""
    object_id: str = ""


class Sessions:
    """Seals and opens what cookies hold. A session ends by itself; a new secret ends all of them."""

    def __init__(self, secret: bytes):
        """secret: at least 32 random bytes, the same for all processes that answer for one address."""
        self._secret = secret

    def seal(self, purpose: str, body: bytes) -> str:
        """Return text with a seal on it, which is good for one purpose."""
        text = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
        return f"{text}.{self._mark(purpose, text)}"

    def opened(self, purpose: str, sealed: str) -> bytes | None:
        """Return what was sealed; None where the seal is not ours, or of another purpose."""
        text, _, mark = sealed.rpartition(".")
        if not text or not hmac.compare_digest(self._mark(purpose, text).encode(), mark.encode()):
            return None
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def begin(self, caller: Caller, until: float) -> str:
        """Return the value of a person's session cookie; until: when the session ends (s since 1970)."""
        person = caller.identity
        assert person is not None  # noqa: S101 - only a checked token begins a session
        session = _Session(
            caller.name, caller.roles, caller.namespaces, until, person.issuer, person.subject, person.object_id
        )
        return self.seal(SESSION, msgspec.json.encode(session))

    def caller(self, cookies: str) -> Caller | None:
        """Return the person whose session the cookies hold; None if there is none, or it has ended.

        Older versions did not store the subject in a session: its person must sign in again.
        """
        body = self.opened(SESSION, cookie(cookies, SESSION))
        session = msgspec.json.decode(body, type=_Session) if body else None
        if session is None or time.time() >= session.until or not session.subject:
            return None
        person = Identity(
            issuer=session.issuer, subject=session.subject, object_id=session.object_id, name=session.name
        )
        return Caller(session.name, session.roles, session.namespaces, None, "token", person, is_person=True)

    def _mark(self, purpose: str, text: str) -> str:
        mark = hmac.digest(self._secret, f"{purpose}\n{text}".encode(), "sha256")
        return base64.urlsafe_b64encode(mark).rstrip(b"=").decode()


def cookie(cookies: str, name: str) -> str:
    """Return the value of a cookie, empty without it."""
    if name not in cookies:
        return ""
    try:
        found = SimpleCookie(cookies).get(name)
    except CookieError:
        return ""
    return found.value if found else ""
