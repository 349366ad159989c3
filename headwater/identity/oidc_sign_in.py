"""Signing in at an OIDC issuer by a browser: authorization code with PKCE (RFC 7636), state and nonce checked."""

import base64
import hashlib
import hmac
import secrets
import time
from collections.abc import Mapping
from typing import NamedTuple
from urllib.parse import urlencode

import httpx
import msgspec

from headwater.access import Caller
from headwater.errors import Retry, WrongQuestion
from headwater.identity.oidc_tokens import TokenCheck
from headwater.identity.sessions import LIFETIME_S, SIGNING_IN, TAKES_S, Sessions

_TIMEOUT = httpx.Timeout(10.0)
_AGAIN = "Sign in again."


class Client(NamedTuple):
    """What the issuer knows us as. redirect_url: ours, ending in `/auth/callback`; secret: of a confidential client."""

    client_id: str
    redirect_url: str
    secret: str | None = None


class _Begun(msgspec.Struct, frozen=True, array_like=True):
    """What is between the way to the issuer and the way back, in a sealed cookie."""

    state: str
    nonce: str
    verifier: str
    back: str
    until: float


class SignIn:
    """Two steps of one browser; between them nothing is kept here, so that any process may take the second."""

    def __init__(self, client: Client, tokens: TokenCheck, sessions: Sessions):
        """Ask for nothing yet."""
        self._client = client
        self._tokens = tokens
        self._sessions = sessions
        self.is_secure = client.redirect_url.startswith("https://")

    async def begin(self, back: str) -> tuple[str, str]:
        """Return the address to send a browser to and the value of its cookie SIGNING_IN; raises Retry.

        back: the page to come back to, a path of ours.
        """
        said = await self._tokens.keys.discovered()
        path = back if back.startswith("/") and back[1:2] not in ("/", "\\") and back.isprintable() else "/"
        until = time.time() + TAKES_S
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        begun = _Begun(state, nonce, verifier, path[:1000], until)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(begun.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self._client.client_id, "redirect_uri": self._client.redirect_url,
            "scope": "openid profile email", "state": begun.state, "nonce": begun.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        joined = "&" if "?" in said.authorization_endpoint else "?"
        sealed = self._sessions.seal(SIGNING_IN, msgspec.json.encode(begun))
        return f"{said.authorization_endpoint}{joined}{urlencode(asked)}", sealed

    async def finish(self, sent: Mapping[str, str], sealed: str) -> tuple[Caller, str, str]:
        """Return who has signed in, the value of the session's cookie, and the page to come back to.

        sent: what the issuer sent the browser back with; sealed: the cookie SIGNING_IN.
        Raises WrongQuestion for what is not the answer to our question, Retry where the issuer does not answer.
        """
        body = self._sessions.opened(SIGNING_IN, sealed)
        begun = msgspec.json.decode(body, type=_Begun) if body else None
        if begun is None or time.time() >= begun.until:
            raise WrongQuestion(f"Nobody began to sign in with this browser, or it took too long. {_AGAIN}")
        if not hmac.compare_digest(begun.state.encode(), sent.get("state", "").encode()):
            raise WrongQuestion(f"This is the answer to another sign-in. {_AGAIN}")
        if "code" not in sent:
            raise WrongQuestion(f"The issuer refused: {sent.get('error', 'it sent no code')[:100]}. {_AGAIN}")
        claims = await self._tokens.claims(await self._exchanged(sent["code"], begun), [self._client.client_id])
        if claims is None or not hmac.compare_digest(begun.nonce.encode(), str(claims.get("nonce", "")).encode()):
            raise WrongQuestion(f"The issuer's token is not good. {_AGAIN}")
        caller = self._tokens.allowed(claims)
        if caller is None:
            raise WrongQuestion("You have no role here. Ask who keeps `oidc_roles` and your groups.")
        person = caller._replace(is_person=True)
        return person, self._sessions.begin(person, time.time() + LIFETIME_S), begun.back

    async def _exchanged(self, code: str, begun: _Begun) -> str:
        said = await self._tokens.keys.discovered()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._client.redirect_url,
            "client_id": self._client.client_id, "code_verifier": begun.verifier,
            **({"client_secret": self._client.secret} if self._client.secret else {}),
        }  # fmt: skip
        try:
            answer = await self._tokens.client.post(said.token_endpoint, data=form, timeout=_TIMEOUT)
            token = answer.json().get("id_token") if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise Retry(f"The issuer does not answer: {type(error).__name__}. {_AGAIN}") from error
        if not isinstance(token, str):
            raise WrongQuestion(f"The issuer took the code not: status {answer.status_code}. {_AGAIN}")
        return token
