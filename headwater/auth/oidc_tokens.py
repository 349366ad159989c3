"""Verify tokens of an OIDC issuer, such as Entra ID, with the published keys of the issuer."""

import asyncio
import logging
import ssl
import time
from collections.abc import Mapping, Sequence
from functools import cache
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any, NamedTuple

import httpx
import jwt
from prometheus_client import Counter

from headwater.auth.access import Caller, Identity, Role, digest_of
from headwater.common.errors import Retry

log = logging.getLogger(__name__)

REFUSED_TOKENS = Counter("headwater_refused_tokens", "Rejected tokens by reason.", ["reason"])

ALGORITHMS = ("RS256", "ES256")
"""Accepted algorithms: asymmetric signatures only. Tokens with `HS256` or `none` are rejected."""

SKEW_S = 60
KEYS_FRESH_S = 3600.0
KEYS_EXPIRE_S = 24 * 3600.0
FETCH_INTERVAL_S = 30.0
"""Minimum time between two requests for keys. Anybody can send unknown key ids; this limits their cost."""

MAX_CACHED_TOKENS = 10_000
MAX_TOKEN_CHARS = 16_000
MIN_RSA_BITS = 2048
MAX_SUBJECT = 255
"""Maximum length of `sub` (OpenID Connect Core 1.0, section 2). Longer ones are rejected, because a truncated `sub`
could be the one of another person."""
_CLAIMS = ("roles", "groups", "scp", "scope")
_TIMEOUT = httpx.Timeout(5.0)
_WORDS: Mapping[str, Role] = {"read": "read", "write": "write", "admin": "admin"}


class Issuer(NamedTuple):
    """The issuer of tokens.

    audience: accepted audiences; roles: maps values of the claims `roles`, `groups`, `scp` and `scope` to `read`,
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
    """The keys of an issuer. They are fetched on demand, and stay valid for a day if the issuer does not answer."""

    def __init__(self, url: str, client: httpx.AsyncClient):
        self._url = url.rstrip("/")
        self._client = client
        self._keys: dict[str, jwt.PyJWK] = {}
        self._metadata: ProviderMetadata | None = None
        self._fetched = self._attempted = float("-inf")
        self._lock = asyncio.Lock()

    async def metadata(self) -> ProviderMetadata:
        """Return the metadata of the issuer. Raises Retry if it does not answer or has another name."""
        if self._metadata is None:
            found = await _json(self._client, f"{self._url}/.well-known/openid-configuration")
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

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key; None if unknown. Fetches the keys, at a limited rate, if the id is unknown or they are old."""
        if self._should_fetch(key_id):
            async with self._lock:
                if self._should_fetch(key_id):  # another request may have fetched them in the meantime
                    await self._fetch()
        is_stale = time.monotonic() - self._fetched > KEYS_EXPIRE_S
        return None if is_stale else self._keys.get(key_id)

    def _should_fetch(self, key_id: str) -> bool:
        now = time.monotonic()
        missing = key_id not in self._keys or now - self._fetched > KEYS_FRESH_S
        return missing and now - self._attempted > FETCH_INTERVAL_S

    async def _fetch(self) -> None:
        self._attempted = time.monotonic()
        try:
            found = await _json(self._client, (await self.metadata()).jwks_uri)
            signs = [each for each in found.get("keys", ()) if each.get("kid") and each.get("use", "sig") == "sig"]
            self._keys = {each["kid"]: key for each in signs if (key := _parse_key(each))}
            self._fetched = time.monotonic()
        except (Retry, AttributeError, TypeError) as error:
            log.error("Cannot fetch the keys of the issuer, the known keys stay valid: %s", error)


class TokenVerifier:
    """Verifies tokens, and caches the result until the token expires."""

    def __init__(self, issuer: Issuer):
        self._issuer = issuer
        self.client = issuer_client()
        self.keys = IssuerKeys(issuer.url, self.client)
        self._known: dict[bytes, tuple[float, Caller]] = {}

    async def caller(self, token: str) -> Caller | None:
        """Return the caller of an access token; None if the token is invalid or gives no role."""
        digest = digest_of(token)
        until, caller = self._known.get(digest, (0.0, None))
        if time.time() < until:
            return caller
        claims = await self.claims(token, self._issuer.audience)
        caller = self.caller_from_claims(claims) if claims else None
        if claims and caller:
            if len(self._known) >= MAX_CACHED_TOKENS:
                self._known.clear()
            self._known[digest] = (float(claims["exp"]) + SKEW_S, caller)
        return caller

    async def claims(self, token: str, audience: Sequence[str]) -> Mapping[str, Any] | None:
        """Return the claims of a token; None if its signature, issuer, audience or time is invalid."""
        if len(token) > MAX_TOKEN_CHARS:
            REFUSED_TOKENS.labels("TooLong").inc()
            return None
        try:
            head = jwt.get_unverified_header(token)
            key = await self.keys.key(str(head.get("kid", ""))) if head.get("alg") in ALGORITHMS else None
            if key is None:
                REFUSED_TOKENS.labels("UnknownKey").inc()
                return None
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
                audience=list(audience),
                issuer=(await self.keys.metadata()).issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, Retry, ValueError) as error:
            REFUSED_TOKENS.labels(type(error).__name__).inc()
            return None
        return found

    def caller_from_claims(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return the caller that claims describe; None if they give no role or have no valid `sub`."""
        granted = [self._issuer.roles[word] for word in _claim_words(claims) if word in self._issuer.roles]
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


def _claim_words(claims: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for name in _CLAIMS:
        value = claims.get(name)
        found.update(value.split() if isinstance(value, str) else [str(each) for each in value] if value else ())
    return found


def _parse_key(jwk: Mapping[str, Any]) -> jwt.PyJWK | None:
    """Parse a JSON Web Key; None if its kind is not supported or it is too short."""
    try:
        key = jwt.PyJWK.from_dict(dict(jwk))
    except jwt.PyJWTError:
        return None
    if key.key_type == "RSA" and key.key.key_size < MIN_RSA_BITS:
        log.error("Rejected the key %.100r of the issuer: it has fewer than %d bits.", jwk.get("kid"), MIN_RSA_BITS)
        return None
    return key if key.algorithm_name in ALGORITHMS else None


@cache
def certificates() -> ssl.SSLContext:
    """Return the trusted certificates. Cached, because loading them blocks the event loop for 50 ms."""
    return httpx.create_ssl_context()


def issuer_client() -> httpx.AsyncClient:
    """Return an HTTP client for rare requests to an issuer. It keeps no connections, so it need not be closed.

    It stores no cookies, so that a cookie of one person's sign-in is not sent with the next one's.
    """
    limits = httpx.Limits(max_keepalive_connections=0)
    no_cookies = CookieJar(DefaultCookiePolicy(allowed_domains=()))
    return httpx.AsyncClient(
        timeout=_TIMEOUT, follow_redirects=False, verify=certificates(), limits=limits, cookies=no_cookies
    )


async def _json(client: httpx.AsyncClient, url: str) -> Any:
    try:
        answer = await client.get(url)
        answer.raise_for_status()
        return answer.json()
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise Retry(f"{url} does not answer: {type(error).__name__}. Is the issuer reachable?") from error
