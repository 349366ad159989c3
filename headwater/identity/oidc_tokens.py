"""Tokens of an OIDC issuer, such as Entra ID: whose they are, checked against the issuer's own keys."""

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

from headwater.access import Caller, Identity, Role, digest_of
from headwater.errors import Retry

log = logging.getLogger(__name__)

ALGORITHMS = ("RS256", "ES256")
"""Signatures alone: a token that names a secret's algorithm, or none, is nobody's."""

SKEW_S = 60
KEEP_S = 3600.0
STALE_S = 24 * 3600.0
ASK_AGAIN_S = 30.0
"""Least time between two requests for keys: an unknown key id, which anybody can write, costs no more than that."""

MOST_REMEMBERED = 10_000
LONGEST = 16_000
MAX_SUBJECT = 255
"""Characters of `sub` (OpenID Connect Core 1.0, section 2); a longer one is refused, because a cut one is another's."""
_CLAIMS = ("roles", "groups", "scp", "scope")
_TIMEOUT = httpx.Timeout(5.0)
_WORDS: Mapping[str, Role] = {"read": "read", "write": "write", "admin": "admin"}


class Issuer(NamedTuple):
    """Where tokens come from. audience: whom they must be for; roles: what the words of their claims allow.

    roles: value of `roles`, `groups`, `scp` or `scope` → `read`, `write` or `admin`, with `:NAMESPACE` behind it for a
    namespace of jobs.
    """

    url: str
    audience: Sequence[str]
    roles: Mapping[str, str]


class Discovered(NamedTuple):
    """What an issuer says of itself."""

    issuer: str
    jwks_uri: str
    authorization_endpoint: str
    token_endpoint: str


class IssuerKeys:
    """An issuer's keys: asked for when they are missing or old, kept for a day while it does not answer."""

    def __init__(self, url: str, client: httpx.AsyncClient):
        """Ask for nothing yet."""
        self._url = url.rstrip("/")
        self._client = client
        self._keys: dict[str, jwt.PyJWK] = {}
        self._said: Discovered | None = None
        self._fetched = self._tried = float("-inf")
        self._turn = asyncio.Lock()

    async def discovered(self) -> Discovered:
        """Return what the issuer says of itself; raises Retry where it does not answer, or for another."""
        if self._said is None:
            found = await _json(self._client, f"{self._url}/.well-known/openid-configuration")
            try:
                said = Discovered(*(str(found[name]) for name in Discovered._fields))
            except KeyError as error:
                raise Retry(f"{self._url} says no {error}: it is no OIDC issuer. Correct `oidc_issuer`.") from error
            if said.issuer.rstrip("/") != self._url:
                raise Retry(f"{self._url} calls itself {said.issuer[:200]!r}. Set `oidc_issuer` to that name.")
            self._said = said
        return self._said

    async def key(self, key_id: str) -> jwt.PyJWK | None:
        """Return a key; asks the issuer, now and then only, where the id is not known or what is known is old."""
        if self._wants(key_id):
            async with self._turn:
                if self._wants(key_id):  # else somebody else has asked meanwhile
                    await self._fetch()
        is_stale = time.monotonic() - self._fetched > STALE_S
        return None if is_stale else self._keys.get(key_id)

    def _wants(self, key_id: str) -> bool:
        now = time.monotonic()
        missing = key_id not in self._keys or now - self._fetched > KEEP_S
        return missing and now - self._tried > ASK_AGAIN_S

    async def _fetch(self) -> None:
        self._tried = time.monotonic()
        try:
            found = await _json(self._client, (await self.discovered()).jwks_uri)
            signs = [each for each in found.get("keys", ()) if each.get("kid") and each.get("use", "sig") == "sig"]
            self._keys = {each["kid"]: key for each in signs if (key := _readable(each))}
            self._fetched = time.monotonic()
        except (Retry, AttributeError, TypeError) as error:
            log.error("The issuer's keys are not taken up, what is known stays: %s", error)


class TokenCheck:
    """Tells whose a token is; what was checked is remembered until it ends."""

    def __init__(self, issuer: Issuer):
        """Ask for nothing yet."""
        self._issuer = issuer
        self.client = issuer_client()
        self.keys = IssuerKeys(issuer.url, self.client)
        self._known: dict[bytes, tuple[float, Caller]] = {}

    async def caller(self, token: str) -> Caller | None:
        """Return whose an access token is; None for one that is not good, whatever is wrong with it."""
        digest = digest_of(token)
        until, caller = self._known.get(digest, (0.0, None))
        if time.time() < until:
            return caller
        claims = await self.claims(token, self._issuer.audience)
        caller = self.allowed(claims) if claims else None
        if claims and caller:
            if len(self._known) >= MOST_REMEMBERED:
                self._known.clear()
            self._known[digest] = (float(claims["exp"]) + SKEW_S, caller)
        return caller

    async def claims(self, token: str, audience: Sequence[str]) -> Mapping[str, Any] | None:
        """Return what a token says, checked: signature, issuer, audience, times; None where any of these is wrong."""
        if len(token) > LONGEST:
            return None
        try:
            head = jwt.get_unverified_header(token)
            key = await self.keys.key(str(head.get("kid", ""))) if head.get("alg") in ALGORITHMS else None
            if key is None:
                return None
            found: Mapping[str, Any] = jwt.decode(
                token,
                key,
                algorithms=[key.algorithm_name] if key.algorithm_name in ALGORITHMS else [],
                audience=list(audience),
                issuer=(await self.keys.discovered()).issuer,
                leeway=SKEW_S,
                options={"require": ["exp", "iss", "aud", "sub"]},
            )
        except (jwt.PyJWTError, Retry, ValueError) as error:
            log.info("A token is refused: %s", type(error).__name__)
            return None
        return found

    def allowed(self, claims: Mapping[str, Any]) -> Caller | None:
        """Return what a token's claims allow; None where they give no role, or name no subject as OIDC defines it."""
        granted = [self._issuer.roles[word] for word in _words(claims) if word in self._issuer.roles]
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


def _words(claims: Mapping[str, Any]) -> set[str]:
    found: set[str] = set()
    for name in _CLAIMS:
        said = claims.get(name)
        found.update(said.split() if isinstance(said, str) else [str(each) for each in said] if said else ())
    return found


def _readable(said: Mapping[str, Any]) -> jwt.PyJWK | None:
    """Return a key that we take; an issuer may have others, of kinds that we do not."""
    try:
        key = jwt.PyJWK.from_dict(dict(said))
    except jwt.PyJWTError:
        return None
    return key if key.algorithm_name in ALGORITHMS else None


@cache
def certificates() -> ssl.SSLContext:
    """Return what an issuer's certificate is checked by; reading it takes 50 ms, in which nobody else is answered."""
    return httpx.create_ssl_context()


def issuer_client() -> httpx.AsyncClient:
    """Return what asks an issuer, now and then: its connections end with each answer, so that nobody must close it.

    It keeps no cookie: what an issuer sets when one person signs in does not go along when the next one does.
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
