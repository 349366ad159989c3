"""Sessions of the dashboard: who signed in, in a cookie that only we can have written."""

import base64
import hmac
import time
from http.cookies import CookieError, SimpleCookie

import msgspec

from headwater.access import Caller, Role

SESSION = "headwater_session"
LIFETIME_S = 8 * 3600


class _Session(msgspec.Struct, frozen=True, array_like=True):
    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str]
    until: float


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
        """Return the value of the cookie of who has signed in; until: when the session ends (s since 1970)."""
        return self.seal(SESSION, msgspec.json.encode(_Session(caller.name, caller.roles, caller.namespaces, until)))

    def caller(self, cookies: str) -> Caller | None:
        """Return who a request's cookies show; None where no session is in them that still lasts."""
        body = self.opened(SESSION, cookie(cookies, SESSION))
        said = msgspec.json.decode(body, type=_Session) if body else None
        if said is None or time.time() >= said.until:
            return None
        return Caller(said.name, said.roles, said.namespaces, is_person=True)

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
