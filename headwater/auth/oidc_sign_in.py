"""Sign-in at an OIDC issuer: authorization code flow with PKCE (RFC 7636), state and nonce."""

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

from headwater.auth.access import Caller
from headwater.auth.oidc_tokens import TokenVerifier
from headwater.auth.sessions import SESSION_LIFETIME_S, SIGN_IN_COOKIE, SIGN_IN_TIMEOUT_S, Sessions
from headwater.common.errors import Retry, WrongQuestion

_TIMEOUT = httpx.Timeout(10.0)
_SIGN_IN_AGAIN = "Sign in again."


class OidcClient(NamedTuple):
    """Our registration at the issuer.

    redirect_url: our URL, ending in `/auth/callback`; secret: for a confidential client.
    """

    client_id: str
    redirect_url: str
    secret: str | None = None


class _PendingSignIn(msgspec.Struct, frozen=True, array_like=True):
    """The state of a sign-in that has started, stored in a sealed cookie. back: path to return to; until: expiry."""

    state: str
    nonce: str
    verifier: str
    back: str
    until: float


class SignIn:
    """The two steps of a sign-in. The state between them is in a cookie, so any process can handle the second step."""

    def __init__(self, client: OidcClient, tokens: TokenVerifier, sessions: Sessions):
        self._client = client
        self._tokens = tokens
        self._sessions = sessions
        self.is_secure = client.redirect_url.startswith("https://")

    async def begin(self, back: str) -> tuple[str, str]:
        """Return the URL to redirect the browser to, and the value of SIGN_IN_COOKIE.

        back: path of the page to return to. Raises Retry if the issuer does not answer.
        """
        metadata = await self._tokens.keys.metadata()
        path = back if back.startswith("/") and back[1:2] not in ("/", "\\") and back.isprintable() else "/"
        until = time.time() + SIGN_IN_TIMEOUT_S
        state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
        pending = _PendingSignIn(state, nonce, verifier, path[:1000], until)
        challenge = base64.urlsafe_b64encode(hashlib.sha256(pending.verifier.encode()).digest()).rstrip(b"=").decode()
        asked = {
            "response_type": "code", "client_id": self._client.client_id, "redirect_uri": self._client.redirect_url,
            "scope": "openid profile email", "state": pending.state, "nonce": pending.nonce,
            "code_challenge": challenge, "code_challenge_method": "S256",
        }  # fmt: skip
        joined = "&" if "?" in metadata.authorization_endpoint else "?"
        sealed = self._sessions.seal(SIGN_IN_COOKIE, msgspec.json.encode(pending))
        return f"{metadata.authorization_endpoint}{joined}{urlencode(asked)}", sealed

    async def finish(self, sent: Mapping[str, str], sealed: str) -> tuple[Caller, str, str]:
        """Return the person, the value of the session cookie, and the path of the page to return to.

        sent: query parameters of the callback; sealed: value of SIGN_IN_COOKIE.
        Raises WrongQuestion if the callback does not belong to this sign-in or the person has no role, Retry if the
        issuer does not answer.
        """
        body = self._sessions.unseal(SIGN_IN_COOKIE, sealed)
        pending = msgspec.json.decode(body, type=_PendingSignIn) if body else None
        if pending is None or time.time() >= pending.until:
            raise WrongQuestion(f"This browser did not start a sign-in, or it took too long. {_SIGN_IN_AGAIN}")
        if not hmac.compare_digest(pending.state.encode(), sent.get("state", "").encode()):
            raise WrongQuestion(f"The callback belongs to another sign-in. {_SIGN_IN_AGAIN}")
        if "code" not in sent:
            raise WrongQuestion(
                f"The issuer refused the sign-in: {sent.get('error', 'it sent no code')[:100]}. {_SIGN_IN_AGAIN}"
            )
        claims = await self._tokens.claims(await self._exchange_code(sent["code"], pending), [self._client.client_id])
        if claims is None or not hmac.compare_digest(pending.nonce.encode(), str(claims.get("nonce", "")).encode()):
            raise WrongQuestion(f"The token of the issuer is not valid. {_SIGN_IN_AGAIN}")
        caller = self._tokens.caller_from_claims(claims)
        if caller is None:
            raise WrongQuestion(
                "None of your groups and roles has a role in Headwater. Ask an administrator to extend `oidc_roles`."
            )
        person = caller._replace(is_person=True)
        return person, self._sessions.begin(person, time.time() + SESSION_LIFETIME_S), pending.back

    async def _exchange_code(self, code: str, pending: _PendingSignIn) -> str:
        metadata = await self._tokens.keys.metadata()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._client.redirect_url,
            "client_id": self._client.client_id, "code_verifier": pending.verifier,
            **({"client_secret": self._client.secret} if self._client.secret else {}),
        }  # fmt: skip
        try:
            answer = await self._tokens.client.post(metadata.token_endpoint, data=form, timeout=_TIMEOUT)
            token = answer.json().get("id_token") if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise Retry(f"The issuer does not answer: {type(error).__name__}. {_SIGN_IN_AGAIN}") from error
        if not isinstance(token, str):
            raise WrongQuestion(f"The issuer rejected the code: status {answer.status_code}. {_SIGN_IN_AGAIN}")
        return token
