"""Sessions of the dashboard, stored in sealed cookies."""

import base64
import hmac
import time
from http.cookies import CookieError, SimpleCookie

import msgspec

from headwater.auth.access import Caller, Identity, Role

SESSION_COOKIE = "headwater_session"
SESSION_LIFETIME_S = 8 * 3600

SIGN_IN_COOKIE = "headwater_signing_in"
"""Cookie with the state of a sign-in, from the redirect to the issuer until the callback."""

SIGN_IN_TIMEOUT_S = 600
"""Maximum duration of a sign-in at the issuer, in seconds."""


class _Session(msgspec.Struct, frozen=True, array_like=True):
    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str]
    until: float
    issuer: str = ""
    subject: str = ""
    object_id: str = ""


class Sessions:
    """Seals and unseals the content of cookies. A new secret ends all sessions."""

    def __init__(self, secret: bytes):
        """secret: at least 32 random bytes, the same for all processes behind one URL."""
        self._secret = secret

    def seal(self, purpose: str, body: bytes) -> str:
        """Return the encoded body with an HMAC. Only `unseal` with the same purpose accepts the HMAC."""
        text = base64.urlsafe_b64encode(body).rstrip(b"=").decode()
        return f"{text}.{self._hmac(purpose, text)}"

    def unseal(self, purpose: str, sealed: str) -> bytes | None:
        """Return the body of a sealed text, None if its HMAC is wrong or belongs to another purpose."""
        text, _, mark = sealed.rpartition(".")
        if not text or not hmac.compare_digest(self._hmac(purpose, text).encode(), mark.encode()):
            return None
        return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))

    def session_cookie(self, caller: Caller, end_s: float) -> str:
        """Return the value of a session cookie. end_s: end of the session (s since 1970)."""
        person = caller.identity
        assert person is not None  # noqa: S101 - only a checked token begins a session
        session = _Session(
            caller.name, caller.roles, caller.namespaces, end_s, person.issuer, person.subject, person.object_id
        )
        return self.seal(SESSION_COOKIE, msgspec.json.encode(session))

    def caller_from_cookies(self, cookies: str) -> Caller | None:
        """Return the person whose session is in a Cookie header, None without a session or after its end.

        Sessions of older versions have no subject and are invalid.
        """
        body = self.unseal(SESSION_COOKIE, cookie_value(cookies, SESSION_COOKIE))
        session = msgspec.json.decode(body, type=_Session) if body else None
        if session is None or time.time() >= session.until or not session.subject:
            return None
        person = Identity(
            issuer=session.issuer, subject=session.subject, object_id=session.object_id, name=session.name
        )
        return Caller(session.name, session.roles, session.namespaces, None, "token", person, is_person=True)

    def _hmac(self, purpose: str, text: str) -> str:
        mark = hmac.digest(self._secret, f"{purpose}\n{text}".encode(), "sha256")
        return base64.urlsafe_b64encode(mark).rstrip(b"=").decode()


def cookie_value(cookies: str, name: str) -> str:
    """Return the value of a cookie in a Cookie header, empty if it is missing."""
    if name not in cookies:
        return ""
    try:
        found = SimpleCookie(cookies).get(name)
    except CookieError:
        return ""
    return found.value if found else ""
