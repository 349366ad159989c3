"""Tokens of an OIDC issuer, and sign-in with it: a local issuer, real HTTP and real keys."""

import asyncio
import base64
import json
import time
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar
from urllib.parse import parse_qs, urlsplit

import httpx
import jwt
import pytest
from prometheus_client import REGISTRY

from headwater.auth import oidc
from headwater.auth.access import Caller, Identity, Role
from headwater.auth.authentication import Authenticator
from headwater.auth.oidc import Issuer, OidcClient, SignIn, TokenVerifier
from headwater.auth.sessions import SIGN_IN_COOKIE, Sessions
from headwater.common.errors import Retry, WrongQuestion
from tests.support.servers.oidc import AUDIENCE, CLIENT, OidcServer, SigningKey

T = TypeVar("T")
ROLES = {"Reader": "read", "Boss": "admin", "group-1": "write:dev", "group-2": "write:test", "Writer": "write"}
BACK = "http://localhost:5000/auth/callback"


def named(
    issuer: OidcServer,
    name: str,
    *roles: Role,
    namespaces: tuple[str, ...] = (),
    oid: str = "",
    is_person: bool = False,
) -> Caller:
    """Return the caller for a token with the subject `s`."""
    who = Identity(issuer=issuer.url, subject="s", object_id=oid, name=name)
    return Caller(name, frozenset(roles), frozenset(namespaces), None, "token", who, is_person)


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


@pytest.fixture
def issuer() -> Iterator[OidcServer]:
    with OidcServer() as server:
        yield server


def check_of(issuer: OidcServer) -> TokenVerifier:
    return TokenVerifier(Issuer(issuer.url, [AUDIENCE], ROLES))


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        ({"roles": ["Reader"], "appid": "spark"}, ("spark", "read")),
        ({"scp": "openid Writer Reader", "azp": "a"}, ("a", "read", "write")),
        ({"scope": "Boss"}, ("s", "admin")),
        ({"groups": ["group-1", "group-2"]}, ("s", "write", {"namespaces": ("dev", "test")})),
        ({"groups": ["group-1"], "roles": ["Writer"]}, ("s", "write")),
        ({"groups": ["group-1"], "roles": ["Boss"]}, ("s", "write", "admin")),
        ({"roles": ["Reader"], "preferred_username": "mary@x"}, ("mary@x", "read", {"is_person": True})),
        ({"roles": ["Reader"], "email": "mary@x", "oid": "0-1"}, ("mary@x", "read", {"is_person": True, "oid": "0-1"})),
        ({"roles": ["Boss"], "sub": ""}, None),
        ({"roles": ["Boss"], "sub": "s" * 256}, None),
        ({"roles": ["Nobody"]}, None),
        ({"roles": None}, None),
        ({}, None),
    ],
)
def test_words_of_a_token_give_roles(
    issuer: OidcServer, claims: dict[str, Any], expected: tuple[Any, ...] | None
) -> None:
    words, more = [each for each in expected or () if isinstance(each, str)], (expected or ({},))[-1]
    caller = named(issuer, *words, **(more if isinstance(more, dict) else {})) if expected else None  # type: ignore[arg-type]
    assert run(check_of(issuer).caller_from_token(issuer.token(**claims))) == caller


NOW = int(time.time())
WRONG: list[dict[str, Any]] = [
    {"iss": "https://elsewhere.example"}, {"iss": None}, {"aud": "api://other"}, {"aud": None}, {"aud": []},
    {"exp": NOW - 3600}, {"exp": None}, {"nbf": NOW + 3600}, {"iat": NOW + 3600}, {"exp": "soon"}, {"sub": None},
]  # fmt: skip


@pytest.mark.parametrize("claims", WRONG, ids=" ".join)
def test_a_token_of_wrong_issuer_audience_or_time_is_nobodys(issuer: OidcServer, claims: dict[str, Any]) -> None:
    assert run(check_of(issuer).caller_from_token(issuer.token(roles=["Boss"], **claims))) is None


def test_a_clock_may_be_a_minute_wrong(issuer: OidcServer) -> None:
    now = int(time.time())
    assert run(check_of(issuer).caller_from_token(issuer.token(roles=["Boss"], nbf=now + 40, iat=now + 40)))
    assert run(check_of(issuer).caller_from_token(issuer.token(roles=["Boss"], exp=now - 20)))


def _raw(head: dict[str, Any], claims: dict[str, Any]) -> str:
    parts = (base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in (head, claims))
    return ".".join(parts)


def test_forged_tokens_are_nobodys(issuer: OidcServer) -> None:
    check, good = check_of(issuer), issuer.token(roles=["Boss"])
    said = jwt.decode(good, options={"verify_signature": False})
    public = jwt.algorithms.RSAAlgorithm.to_jwk(issuer.keys[0].private.public_key())
    stranger = SigningKey("first")
    head, body, mark = good.split(".")
    forged = [
        _raw({"alg": "none", "kid": "first"}, said) + ".",
        _raw({"alg": "None", "kid": "first"}, said) + ".",
        jwt.encode(said, "x" * 40, algorithm="HS256", headers={"kid": "first"}),
        jwt.encode(said, base64.b64encode(public.encode()), algorithm="HS256", headers={"kid": "first"}),
        issuer.token(stranger, roles=["Boss"]),
        jwt.encode(said, issuer.keys[0].private, algorithm="RS512", headers={"kid": "first"}),
        jwt.encode(said, stranger.private, algorithm="RS256", headers={"kid": "first", "jwk": stranger.public()}),
        jwt.encode(said, stranger.private, algorithm="RS256", headers={"kid": "x", "jku": "http://127.0.0.1:1/"}),
        jwt.encode(said, stranger.private, algorithm="RS256"),
        f"{head}.{body}.", f"{head}.{body}x.{mark}", "..", "a.b.c", good + "." + mark, "x" * 20_000 + ".y.z",
    ]  # fmt: skip
    assert [run(check.caller_from_token(token)) for token in forged] == [None] * len(forged)


def test_keys_of_either_kind_and_after_a_rollover(issuer: OidcServer) -> None:
    async def rolled() -> list[bool]:
        check = check_of(issuer)
        found = [bool(await check.caller_from_token(issuer.token(roles=["Boss"])))]
        old = issuer.keys[0]
        issuer.keys = [SigningKey("second", "ES256")]
        found.append(
            bool(await check.caller_from_token(issuer.token(roles=["Reader"])))
        )  # the keys were fetched just now, so the new key is unknown
        check.keys._attempted -= oidc.FETCH_INTERVAL_S + 1
        found.append(bool(await check.caller_from_token(issuer.token(roles=["Reader"]))))
        # the issuer no longer publishes its key
        found.append(bool(await check.caller_from_token(issuer.token(old, roles=["Writer"]))))
        return found

    assert run(rolled()) == [True, False, True, False]


def test_unknown_keys_cost_the_issuer_one_request_at_a_time(issuer: OidcServer) -> None:
    async def asked() -> None:
        check, stranger = check_of(issuer), SigningKey("first")
        tokens = []
        for number in range(20):
            stranger.kid = f"unknown-{number}"
            tokens.append(issuer.token(stranger, roles=["Boss"]))
        assert await asyncio.gather(*(check.caller_from_token(token) for token in tokens)) == [None] * 20
        good = issuer.token(roles=["Boss"])
        for _ in range(20):
            assert await check.caller_from_token(good)

    run(asked())
    assert issuer.asked == ["/.well-known/openid-configuration", "/keys"]


def test_an_issuer_that_is_down_costs_nothing_that_is_known(issuer: OidcServer) -> None:
    async def down() -> list[bool]:
        check = check_of(issuer)
        issuer.is_down = True
        found = [bool(await check.caller_from_token(issuer.token(roles=["Boss"])))]  # no keys have been fetched yet
        issuer.is_down = False
        check.keys._attempted -= oidc.FETCH_INTERVAL_S + 1
        found.append(bool(await check.caller_from_token(issuer.token(roles=["Boss"]))))
        issuer.is_down = True
        check.keys._fetched -= oidc.KEYS_FRESH_S + 1
        check.keys._attempted -= oidc.KEYS_FRESH_S + 1
        # fetched keys stay valid for a day
        found.append(bool(await check.caller_from_token(issuer.token(roles=["Reader"]))))
        check.keys._fetched -= oidc.KEYS_EXPIRE_S
        # the fetched keys have expired
        found.append(bool(await check.caller_from_token(issuer.token(roles=["Writer"]))))
        return found

    assert run(down()) == [False, True, True, False]


def test_who_calls_itself_otherwise_is_not_the_issuer(issuer: OidcServer) -> None:
    issuer.said = {"issuer": "https://elsewhere.example"}
    assert run(check_of(issuer).caller_from_token(issuer.token(roles=["Boss"]))) is None
    with pytest.raises(Retry, match="elsewhere"):
        run(check_of(issuer).keys.metadata())


@pytest.mark.filterwarnings("ignore::jwt.warnings.InsecureKeyLengthWarning")
def test_short_rsa_keys_of_the_issuer_are_refused(issuer: OidcServer) -> None:
    short = SigningKey("short", bits=1024)
    issuer.keys = [issuer.keys[0], short]
    assert run(check_of(issuer).caller_from_token(issuer.token(short, roles=["Boss"]))) is None
    assert run(check_of(issuer).caller_from_token(issuer.token(issuer.keys[0], roles=["Boss"])))


@pytest.mark.parametrize(
    ("changes", "verifies"),
    [({}, True), ({"use": None}, True), ({"use": "enc"}, False), ({"kid": None}, False), ({"kty": "unknown"}, False)],
)
def test_only_published_signing_keys_with_an_id_verify_tokens(
    issuer: OidcServer, changes: dict[str, Any], verifies: bool
) -> None:
    key = SigningKey("own", "ES256")
    key.changes = changes
    issuer.keys = [key]
    assert bool(run(check_of(issuer).caller_from_token(issuer.token(roles=["Boss"])))) == verifies


def test_an_issuer_that_withdraws_all_keys_has_no_valid_tokens(issuer: OidcServer) -> None:
    async def withdrawn() -> list[bool]:
        check, token = check_of(issuer), issuer.token(roles=["Boss"])
        found = [bool(await check.verified_claims(token, [AUDIENCE]))]
        issuer.keys = []
        check.keys._attempted -= oidc.KEYS_FRESH_S + 1
        check.keys._fetched -= oidc.KEYS_FRESH_S + 1
        return [*found, bool(await check.verified_claims(token, [AUDIENCE]))]

    assert run(withdrawn()) == [True, False]


def test_refused_tokens_are_counted_and_not_logged(issuer: OidcServer, caplog: pytest.LogCaptureFixture) -> None:
    def count(reason: str) -> float:
        return REGISTRY.get_sample_value("headwater_refused_tokens_total", {"reason": reason}) or 0.0

    before, check = count("InvalidAudienceError"), check_of(issuer)
    with caplog.at_level("INFO", "headwater"):
        for number in range(5):
            assert run(check.verified_claims(issuer.token(aud=f"other-{number}"), [AUDIENCE])) is None
    assert count("InvalidAudienceError") == before + 5
    assert not [record for record in caplog.records if record.name == oidc.__name__]


def test_keys_and_tokens_are_taken_side_by_side(issuer: OidcServer) -> None:
    access = Authenticator((), tokens=check_of(issuer))
    assert not access.is_open
    token = issuer.token(roles=["Reader"], appid="spark")
    assert run(access.find_caller({"authorization": f"Bearer {token}"}, "")) == named(issuer, "spark", "read")
    assert run(access.find_caller({"authorization": "Bearer no-token"}, "")) is None
    assert run(access.find_caller({}, "")) is None


class Browser:
    """A browser that follows redirects up to Headwater's address and stores the cookie."""

    def __init__(self, issuer: OidcServer) -> None:
        self.sign_in = SignIn(OidcClient(CLIENT, BACK), check_of(issuer), Sessions(b"s" * 32))

    def begun(self, back: str = "/runs?x=1") -> tuple[dict[str, str], str]:
        url, sealed = run(self.sign_in.begin_sign_in(back))
        back_to = httpx.get(url).headers["location"]
        assert back_to.startswith(BACK)
        return {name: values[0] for name, values in parse_qs(urlsplit(back_to).query).items()}, sealed


def test_somebody_signs_in(issuer: OidcServer) -> None:
    issuer.claims = {"roles": ["Reader"], "preferred_username": "mary@x", "oid": "0-1"}
    browser = Browser(issuer)
    caller, session, back = run(browser.sign_in.finish_sign_in(*browser.begun()))
    assert (caller, back) == (named(issuer, "mary@x", "read", oid="0-1", is_person=True), "/runs?x=1")
    assert Sessions(b"s" * 32).caller_from_cookies(f"headwater_session={session}") == caller
    assert run(browser.sign_in.finish_sign_in(*browser.begun()))
    assert (issuer.asked.count("/token"), issuer.cookies) == (2, [])  # cookies of one sign-in must not affect the next


@pytest.mark.parametrize("back", ["//evil.example", "https://evil.example", "/\\evil.example", "evil", "", "/a\r\nb"])
def test_nobody_is_led_elsewhere(issuer: OidcServer, back: str) -> None:
    issuer.claims = {"roles": ["Reader"]}
    browser = Browser(issuer)
    assert run(browser.sign_in.finish_sign_in(*browser.begun(back)))[2] == "/"


def test_what_is_not_the_answer_to_our_question_signs_nobody_in(issuer: OidcServer) -> None:
    issuer.claims = {"roles": ["Reader"]}
    browser = Browser(issuer)
    sent, sealed = browser.begun()
    other_sent, _ = browser.begun()
    wrong: list[tuple[dict[str, str], str]] = [
        (sent, ""), (sent, sealed[:-2]), ({**sent, "state": other_sent["state"]}, sealed), ({"code": "c"}, sealed),
        ({"state": sent["state"], "error": "access_denied"}, sealed), ({**sent, "code": "made-up"}, sealed),
        ({**other_sent, "state": sent["state"]}, sealed),  # PKCE rejects the code of a different sign-in
        (sent, Sessions(b"s" * 32).seal("headwater_session", b"[]")),
    ]  # fmt: skip
    for each in wrong:
        with pytest.raises(WrongQuestion):
            run(browser.sign_in.finish_sign_in(*each))
    assert run(browser.sign_in.finish_sign_in(sent, sealed))
    with pytest.raises(WrongQuestion):  # a code can be used only once
        run(browser.sign_in.finish_sign_in(sent, sealed))


@pytest.mark.parametrize(
    "claims",
    [{"nonce": "another"}, {"aud": AUDIENCE}, {"exp": NOW - 3600}, {"roles": []}, {"nonce": None}],
    ids=" ".join,
)
def test_a_sign_in_needs_a_good_token_of_this_sign_in_with_a_role(issuer: OidcServer, claims: dict[str, Any]) -> None:
    issuer.claims = {"roles": ["Reader"], **claims}
    browser = Browser(issuer)
    with pytest.raises(WrongQuestion):
        run(browser.sign_in.finish_sign_in(*browser.begun()))


def test_the_cookie_between_is_good_for_nothing_else(issuer: OidcServer) -> None:
    _, sealed = Browser(issuer).begun()
    assert Sessions(b"s" * 32).caller_from_cookies(f"headwater_session={sealed}") is None
    assert SIGN_IN_COOKIE != "headwater_session"
