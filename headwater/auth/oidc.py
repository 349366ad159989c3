"""OIDC: verify tokens of an issuer such as Entra ID with its published keys, and sign people in at the issuer.

The sign-in is the authorization code flow with PKCE (RFC 7636), state and nonce.
"""

import asyncio
import base64
import hashlib
import hmac
import logging
import secrets
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
import jwt
import msgspec
from prometheus_client import Counter

from headwater.auth.access import Caller, Identity, Role, digest_of
from headwater.auth.sessions import SESSION_LIFETIME_S, SIGN_IN_COOKIE, SIGN_IN_TIMEOUT_S, Sessions
from headwater.common.errors import Retry, WrongQuestion

log = logging.getLogger(__name__)

REFUSED_TOKENS = Counter("headwater_refused_tokens", "Rejected tokens by reason.", ["reason"])

ALGORITHMS = ("RS256", "ES256")
"""Accepted algorithms: asymmetric signatures only. Tokens with `HS256` or `none` are rejected."""

SKEW_S = 60
KEYS_FRESH_S = 3600.0
KEYS_EXPIRE_S = 24 * 3600.0
FETCH_INTERVAL_S = 30.0
"""Minimum seconds between two requests for the issuer's keys. Anybody can send tokens with unknown key ids."""

MAX_CACHED_TOKENS = 10_000
MAX_TOKEN_CHARS = 16_000
MAX_SUBJECT = 255
"""Maximum length of `sub` (OpenID Connect Core 1.0, section 2). Tokens with a longer `sub` are rejected, because a
truncated `sub` could belong to another person."""
_CLAIMS = ("roles", "groups", "scp", "scope")
_TIMEOUT = httpx.Timeout(5.0)
_WORDS: Mapping[str, Role] = {"read": "read", "write": "write", "admin": "admin"}


class Issuer(NamedTuple):
    """The issuer of tokens.

    audience: accepted audiences. roles: maps values of the claims `roles`, `groups`, `scp` and `scope` to `read`,
    `write`, `admin` or `write:NAMESPACE`.
    """

    url: str
    audience: Sequence[str]
    roles: Mapping[str, str]


class ProviderMetadata(NamedTuple):
    """Metadata of an issuer (OpenID Connect Discovery 1.0)."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str
    token_endpoint: str


class IssuerKeys:
    """The keys of an issuer. They are fetched when needed, and stay valid for a day if the issuer does not respond.

    `jwt.PyJWKClient` is not used: it does not limit requests or keep keys like this, and it blocks the event loop
    (docs/decisions/0126).
    """

    def __init__(self, url: str, client: httpx.AsyncClient):
        self._url = url.rstrip("/")
        self._client = client
        self._keys: dict[str, jwt.PyJWK] = {}
        self._metadata: ProviderMetadata | None = None
        self._fetched = self._attempted = float("-inf")
        self._lock = asyncio.Lock()

    async def metadata(self) -> ProviderMetadata:
        """Return the metadata of the issuer. Raises Retry if the issuer does not respond or reports another name."""
        if self._metadata is None:
            found = await _get_json(self._client, f"{self._url}/.well-known/openid-configuration")
            try:
                metadata = ProviderMetadata(*(str(found[name]) for name in ProviderMetadata._fields))
            except KeyError as error:
                raise Retry(
                    f"{self._url} is not an OIDC issuer: its metadata lacks {error}. Correct `oidc_issuer`."
                ) from error
            if metadata.issuer.rstrip("/") != self._url:
                raise Retry(f"{self._url} calls itself {metadata.issuer[:200]!r}. Set `oidc_issuer` to that name.")
            self._metadata = metadata
        return self._metadata

    async def find_key(self, key_id: str) -> jwt.PyJWK | None:
        """Return the key with this id, None if the issuer has no such key.

        If the id is unknown or the keys are old, fetches the keys at most once per FETCH_INTERVAL_S.
        """
        if self._should_fetch(key_id):
            async with self._lock:
                if self._should_fetch(key_id):  # another request may have fetched the keys meanwhile
                    await self._fetch_keys()
        is_stale = time.monotonic() - self._fetched > KEYS_EXPIRE_S
        return None if is_stale else self._keys.get(key_id)

    def _should_fetch(self, key_id: str) -> bool:
        now = time.monotonic()
        missing = key_id not in self._keys or now - self._fetched > KEYS_FRESH_S
        return missing and now - self._attempted > FETCH_INTERVAL_S

    async def _fetch_keys(self) -> None:
        self._attempted = time.monotonic()
        try:
            found = await _get_json(self._client, (await self.metadata()).jwks_uri)
            self._keys = {key.key_id: key for key in _parse_keys(found) if key.key_id}
            self._fetched = time.monotonic()
        except (Retry, AttributeError, TypeError) as error:
            log.error("Cannot fetch the keys of the issuer, the known keys stay valid: %s", error)


class TokenVerifier:
    """Verifies access tokens, and caches the result for each token until it expires."""

    def __init__(self, issuer: Issuer):
        self._issuer = issuer
        self.client = issuer_client()
        self.keys = IssuerKeys(issuer.url, self.client)
        self._known: dict[bytes, tuple[float, Caller]] = {}

    async def caller_from_token(self, token: str) -> Caller | None:
        """Return the caller of an access token; None if the token is invalid or gives no role."""
        digest = digest_of(token)
        until, caller = self._known.get(digest, (0.0, None))
        if time.time() < until:
            return caller
        claims = await self.verified_claims(token, self._issuer.audience)
        caller = self.caller_from_claims(claims) if claims else None
        if claims and caller:
            if len(self._known) >= MAX_CACHED_TOKENS:
                self._known.clear()
            self._known[digest] = (float(claims["exp"]) + SKEW_S, caller)
        return caller

    async def verified_claims(self, token: str, audience: Sequence[str]) -> Mapping[str, Any] | None:
        """Return the claims of a token; None if its signature, issuer, audience or time is invalid."""
        if len(token) > MAX_TOKEN_CHARS:
            REFUSED_TOKENS.labels("TooLong").inc()
            return None
        try:
            head = jwt.get_unverified_header(token)
            key = await self.keys.find_key(str(head.get("kid", ""))) if head.get("alg") in ALGORITHMS else None
            if key is None:
                REFUSED_TOKENS.labels("UnknownKey").inc()
                return None
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name],
                audience=list(audience),
                issuer=(await self.keys.metadata()).issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"], "enforce_minimum_key_length": True},
            )
        except (jwt.PyJWTError, Retry, ValueError) as error:
            REFUSED_TOKENS.labels(type(error).__name__).inc()
            return None
        return found

    def caller_from_claims(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return the caller that claims describe; None if they give no role or have no valid `sub`."""
        granted = [self._issuer.roles[word] for word in _claim_values(claims) if word in self._issuer.roles]
        pairs = [grant.partition(":")[::2] for grant in granted]
        roles = frozenset(_WORDS[role] for role, _ in pairs)
        writes = [namespace for role, namespace in pairs if role == "write"]
        everywhere = "admin" in roles or "" in writes
        name = next(
            (str(claims[each]) for each in ("preferred_username", "email", "appid", "azp") if claims.get(each)), ""
        )
        subject, object_id = str(claims["sub"]), str(claims.get("oid") or "")[:200]
        if not roles or not 0 < len(subject) <= MAX_SUBJECT:
            return None
        named = (name or subject)[:200]
        who = Identity(issuer=str(claims["iss"]).rstrip("/"), subject=subject, object_id=object_id, name=named)
        is_person = bool(claims.get("preferred_username") or claims.get("email"))
        return Caller(named, roles, frozenset(() if everywhere else writes), None, "token", who, is_person)


def _claim_values(claims: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for name in _CLAIMS:
        value = claims.get(name)
        found.update(value.split() if isinstance(value, str) else [str(each) for each in value] if value else ())
    return found


def _parse_keys(found: Mapping[str, Any]) -> list[jwt.PyJWK]:
    """Return the keys of a JSON Web Key Set that sign with an accepted algorithm. The set may be empty."""
    try:
        keys = jwt.PyJWKSet(found.get("keys", [])).keys
    except jwt.PyJWKSetError:
        return []
    return [key for key in keys if key.public_key_use in ("sig", None) and key.algorithm_name in ALGORITHMS]


@cache
def trusted_ssl_context() -> ssl.SSLContext:
    """Return an SSL context with the trusted certificates. Cached, because loading blocks the event loop for 50 ms."""
    return httpx.create_ssl_context()


def issuer_client() -> httpx.AsyncClient:
    """Return an HTTP client for rare requests to an issuer. The client keeps no connections, so you need not close it.

    The client stores no cookies. Otherwise it would send a cookie from the sign-in of one person with the sign-in of
    the next person.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(
        timeout=_TIMEOUT, follow_redirects=False, verify=trusted_ssl_context(), limits=limits, cookies=no_cookies
    )


async def _get_json(client: httpx.AsyncClient, url: str) -> Any:
    try:
        answer = await client.get(url)
        answer.raise_for_status()
        return answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Retry(f"{url} does not answer: {type(error).__name__}. Is the issuer reachable?") from error


_EXCHANGE_TIMEOUT = httpx.Timeout(10.0)
_SIGN_IN_AGAIN = "Sign in again."


class OidcClient(NamedTuple):
    """The registration of this Headwater at the issuer.

    redirect_url: URL of this Headwater, ending in `/auth/callback`. secret: secret of a confidential client, else None.
    """

    client_id: str
    redirect_url: str
    secret: str | None = None


class _PendingSignIn(msgspec.Struct, frozen=True, array_like=True):
    """The state of a started sign-in, stored in a sealed cookie. back: path to return to; until: time of expiry."""

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

    async def begin_sign_in(self, return_path: str) -> tuple[str, str]:
        """Return the URL to redirect the browser to, and the value of SIGN_IN_COOKIE.

        return_path: path of the page to return to. Raises Retry if the issuer does not answer.
        """
        metadata = await self._tokens.keys.metadata()
        path = (
            return_path
            if return_path.startswith("/") and return_path[1:2] not in ("/", "\\") and return_path.isprintable()
            else "/"
        )
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

    async def finish_sign_in(self, query: Mapping[str, str], sealed_state: str) -> tuple[Caller, str, str]:
        """Return the person, the value of the session cookie, and the path of the page to return to.

        query: query parameters of the callback; sealed_state: value of SIGN_IN_COOKIE.
        Raises WrongQuestion if the callback does not belong to this sign-in or the person has no role, Retry if the
        issuer does not answer.
        """
        body = self._sessions.unseal(SIGN_IN_COOKIE, sealed_state)
        pending = msgspec.json.decode(body, type=_PendingSignIn) if body else None
        if pending is None or time.time() >= pending.until:
            raise WrongQuestion(f"This browser did not start a sign-in, or it took too long. {_SIGN_IN_AGAIN}")
        if not hmac.compare_digest(pending.state.encode(), query.get("state", "").encode()):
            raise WrongQuestion(f"The callback belongs to another sign-in. {_SIGN_IN_AGAIN}")
        if "code" not in query:
            raise WrongQuestion(
                f"The issuer refused the sign-in: {query.get('error', 'it sent no code')[:100]}. {_SIGN_IN_AGAIN}"
            )
        claims = await self._tokens.verified_claims(
            await self._exchange_code(query["code"], pending), [self._client.client_id]
        )
        if claims is None or not hmac.compare_digest(pending.nonce.encode(), str(claims.get("nonce", "")).encode()):
            raise WrongQuestion(f"The token of the issuer is not valid. {_SIGN_IN_AGAIN}")
        caller = self._tokens.caller_from_claims(claims)
        if caller is None:
            raise WrongQuestion(
                "None of your groups and roles has a role in Headwater. Ask an administrator to extend `oidc_roles`."
            )
        person = caller._replace(is_person=True)
        return person, self._sessions.session_cookie(person, time.time() + SESSION_LIFETIME_S), pending.back

    async def _exchange_code(self, code: str, pending: _PendingSignIn) -> str:
        metadata = await self._tokens.keys.metadata()
        form = {
            "grant_type": "authorization_code", "code": code, "redirect_uri": self._client.redirect_url,
            "client_id": self._client.client_id, "code_verifier": pending.verifier,
            **({"client_secret": self._client.secret} if self._client.secret else {}),
        }  # fmt: skip
        try:
            answer = await self._tokens.client.post(metadata.token_endpoint, data=form, timeout=_EXCHANGE_TIMEOUT)
            token = answer.json().get("id_token") if answer.status_code == 200 else None
        except (httpx.HTTPError, ValueError, AttributeError) as error:
            raise Retry(f"The issuer does not answer: {type(error).__name__}. {_SIGN_IN_AGAIN}") from error
        if not isinstance(token, str):
            raise WrongQuestion(f"The issuer rejected the code: status {answer.status_code}. {_SIGN_IN_AGAIN}")
        return token
