"""Keys, sign-in and the admin log of a running Headwater, over HTTP and with commands."""

import json
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import httpx
import pytest

from headwater.api import routes
from headwater.api.marquez import routes as marquez_routes
from headwater.auth.sessions import SESSION_COOKIE
from tests.support.commands import commanded
from tests.support.data.parsing import event
from tests.support.running import Running
from tests.support.servers.oidc import CLIENT, OidcServer
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

API = "/api/headwater/v1"
AUDIT = f"{API}/audit"
CSRF = {"x-headwater-session": "1"}


class World(NamedTuple):
    running: Running
    issuer: OidcServer

    def ask(self, path: str, key: str = "", method: str = "GET", **more: Any) -> httpx.Response:
        headers = {**({"authorization": f"Bearer {key}"} if key else {}), **more.pop("headers", {})}
        return httpx.request(method, self.running.url + path, headers=headers, timeout=30, **more)

    def command(self, *arguments: str) -> Any:
        done = commanded(*arguments, "--data", self.running.folder, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    def signed_in(self, browser: httpx.Client, **claims: Any) -> httpx.Response:
        """Sign a browser in as a person whose tokens have these claims. Returns Headwater's last answer."""
        self.issuer.claims = claims
        to_issuer = browser.get("/auth/login?to=/runs")
        assert to_issuer.status_code == 302
        back = httpx.get(to_issuer.headers["location"]).headers["location"]
        return browser.get(back.removeprefix("http://localhost:5000"))

    def acts(self) -> list[tuple[str, str, str, str]]:
        """Return the admin actions, with the labels of people and programs but without issuer and subject."""
        found = self.command("admin-log")["items"]
        return [(act["who"].rpartition(" ")[2], act["action"], act["subject"], act["outcome"]) for act in found]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    folder = tmp_path_factory.mktemp("identity")
    with OidcServer() as issuer:
        settings = {
            "HEADWATER_OIDC_ISSUER": issuer.url, "HEADWATER_OIDC_AUDIENCE": '["api://headwater"]',
            "HEADWATER_OIDC_CLIENT_ID": CLIENT, "HEADWATER_OIDC_REDIRECT_URL": "http://localhost:5000/auth/callback",
            "HEADWATER_OIDC_ROLES": '{"Reader": "read", "Team": "write:team", "Boss": "admin"}',
        }  # fmt: skip
        with Running(folder / "data", environment=settings) as running:
            yield World(running, issuer)


def test_a_key_is_made_used_listed_and_revoked_while_it_runs(world: World) -> None:
    assert world.ask(AUDIT).status_code == 401
    made = world.command("keys", "add", "spark", "--role", "write", "--namespace", "n")
    reader = world.command("keys", "add", "grafana", "--role", "read", "--expires", "90d")
    assert world.ask(AUDIT, reader["key"]).status_code == 200
    assert world.ask("/api/v1/lineage", made["key"], "POST", content=event("r1")).status_code == 200
    assert world.ask(AUDIT, made["key"]).status_code == 403
    assert world.ask(f"{API}/keys", reader["key"]).json()["totalCount"] == 0
    shown = {key["name"]: key for key in world.command("keys", "list")["items"]}
    assert set(shown) == {"spark", "grafana"}
    assert made["key"] not in json.dumps(shown)
    boss = world.issuer.token(roles=["Boss"])
    deadline = time.monotonic() + 60
    while not all(key["last_used"] for key in world.ask(f"{API}/keys", boss).json()["items"]):
        assert time.monotonic() < deadline, "the last use of a key is not reported"
        rest()
    world.command("keys", "revoke", "spark")
    assert world.ask("/api/v1/lineage", made["key"], "POST", content=event("r2")).status_code == 401
    refused = world.ask(f"{API}/keys/add?name=x&role=admin", reader["key"], "POST")
    assert refused.status_code == 400
    assert world.acts()[:1] == [("grafana", "keys add", "x", "refused")]
    assert {act[1:] for act in world.acts()} >= {
        ("keys add", "spark", "done"), ("keys add", "grafana", "done"), ("keys revoke", "spark", "done"),
    }  # fmt: skip
    for file in world.running.folder.rglob("*"):
        assert not file.is_file() or made["key"].encode() not in file.read_bytes(), file


def test_tokens_of_the_issuer_are_taken_like_keys(world: World) -> None:
    token = world.issuer.token(roles=["Team"], appid="airflow")
    other = json.loads(event("r3")) | {"job": {"namespace": "team", "name": "j"}}
    assert world.ask("/api/v1/lineage", token, "POST", content=json.dumps(other)).status_code == 200
    assert world.ask("/api/v1/lineage", token, "POST", content=event("r4")).status_code == 403
    assert world.ask(AUDIT, token).status_code == 403
    assert world.ask(AUDIT, world.issuer.token(roles=["Reader"])).status_code == 200
    assert world.ask(AUDIT, world.issuer.token(roles=["Reader"], aud="api://other")).status_code == 401


def test_somebody_signs_in_makes_a_key_and_signs_out(world: World) -> None:
    with httpx.Client(base_url=world.running.url, timeout=30) as browser:
        assert browser.get("/auth/me").json() == {"who": None, "signIn": True, "notice": None}
        home = world.signed_in(browser, roles=["Reader"], preferred_username="mary@x", oid="0-1")
        assert (home.status_code, home.headers["location"]) == (303, "/runs")
        flags = home.headers.get_list("set-cookie")[0].lower()
        assert "httponly" in flags
        assert "samesite=lax" in flags
        assert "secure" not in flags  # the test uses http on localhost
        assert browser.get("/auth/me").json()["who"] == {
            "name": "mary@x", "roles": ["read"], "person": True, "kind": "token", "issuer": world.issuer.url,
            "subject": "s", "object_id": "0-1",
        }  # fmt: skip
        assert browser.get(AUDIT).status_code == 200
        made = browser.post(f"{API}/keys/add?name=laptop&role=read")
        assert made.status_code == 403  # a page of a different site could have sent this request
        made = browser.post(f"{API}/keys/add?name=laptop&role=read", headers=CSRF)
        assert made.headers["cache-control"] == "no-store"
        assert world.ask(AUDIT, made.json()["key"]).status_code == 200
        assert browser.post(f"{API}/keys/add?name=more&role=write", headers=CSRF).status_code == 400
        assert browser.get(f"{API}/admin-log").status_code == 403
        keys = browser.get(f"{API}/keys").json()["items"]
        assert [(key["owner"], key["owner_subject"], key["owner_object_id"]) for key in keys] == [
            ("mary@x", "s", "0-1")
        ]
        assert keys[0]["name"] == made.json()["name"]
        with httpx.Client(base_url=world.running.url, timeout=30) as namesake:
            world.signed_in(namesake, roles=["Reader"], preferred_username="mary@x", sub="another")
            assert namesake.get(f"{API}/keys").json()["items"] == []
            for which in (made.json()["id"], quote(made.json()["name"])):
                assert namesake.post(f"{API}/keys/{which}/revoke", headers=CSRF).status_code == 404
            assigned = namesake.post(f"{API}/keys/{made.json()['id']}/assign?subject=another", headers=CSRF)
            assert assigned.status_code == 403
        issuer = ("--issuer", world.issuer.url)
        assigned = world.command("keys", "assign", made.json()["id"], "another", *issuer)
        assert assigned["items"][0]["owner_subject"] == "another"
        assert browser.get(f"{API}/keys").json()["items"] == []
        boss = world.issuer.token(roles=["Boss"])  # over HTTP, the issuer is that of the settings
        assert world.ask(f"{API}/keys/{made.json()['id']}/assign?subject=s", boss, "POST").status_code == 200
        assert browser.post(f"{API}/keys/{made.json()['id']}/revoke", headers=CSRF).status_code == 200
        assert world.ask(AUDIT, made.json()["key"]).status_code == 401
        assert browser.post("/auth/logout").status_code == 403
        assert browser.post("/auth/logout", headers=CSRF).status_code == 204
        assert browser.get(AUDIT).status_code == 401
    assert ("mary@x", "keys add", "more", "refused") in world.acts()
    assert ("mary@x", "keys revoke", made.json()["id"], "done") in world.acts()


_BODIES: dict[tuple[str, str], object] = {
    ("PUT", "sources/{source}"): {"type": "POSTGRESQL", "connectionUrl": "jdbc:postgresql://db"},
    ("PUT", "namespaces/{namespace}"): {"ownerName": "o"},
    ("PUT", "namespaces/{namespace}/jobs/{job}"): {"type": "BATCH", "inputs": [], "outputs": []},
    ("PUT", "namespaces/{namespace}/datasets/{dataset}"): {
        "type": "DB_TABLE", "physicalName": "t", "sourceName": "s", "fields": [{"name": "a"}],
    },
}  # fmt: skip
_KINDS = ("key", "token", "session")


class Sent(NamedTuple):
    """A request to a route, with names for one credential. goes_well: the answer must be 2xx."""

    method: str
    path: str
    goes_well: bool
    turn: int = 0
    body: bytes = b""


def _requests(kind: str, run: str) -> list[Sent]:
    """Return one request for every route of the app, with different names for each kind of credential."""
    names = {"namespace": f"ns-{kind}", "job": "j", "dataset": "target", "field": "a", "tag": f"t-{kind}", "run": run,
             "source": f"s-{kind}", "version": run, "sink": "none", "which": "none", "incident": "none"}  # fmt: skip
    event_of_it = json.loads(event(run)) | {"job": {"namespace": f"ns-{kind}", "name": "j"}}
    event_of_it["outputs"][0]["namespace"] = f"ns-{kind}"
    sent = [
        Sent("POST", "/api/v1/lineage", goes_well=True, body=json.dumps(event_of_it).encode()),
        Sent("POST", "/api/v1/lineage/batch", goes_well=True, body=json.dumps([event_of_it]).encode()),
    ]
    for route in routes.ROUTES:
        goes_well = route.name in ("rejected-retry", "keys", "settings", "live", "audit", "admin-log")
        sent.append(Sent(route.method, f"{API}/{route.path.format(**names)}", goes_well, 2))
    for base, table in (("/api/v1", marquez_routes.HANDLERS), ("/api/v2beta/search", {"jobs": {"GET": None}})):
        for pattern, methods in table.items():
            for method in methods:
                turn = (
                    2
                    if method == "GET"
                    else 1
                    if method != "DELETE"
                    else 3
                    if pattern != "namespaces/{namespace}"
                    else 4
                )
                body = json.dumps(_BODIES.get((method, pattern), {})).encode() if method != "GET" else b""
                sent.append(Sent(method, f"{base}/{pattern.format(**names)}", method != "GET", turn, body))
    return sent


def test_every_route_takes_a_key_a_token_and_a_session_alike(world: World) -> None:
    key = world.command("keys", "add", "every-route", "--role", "admin")["key"]
    runs = {kind: str(uuid.uuid4()) for kind in _KINDS}
    everything = {kind: _requests(kind, runs[kind]) for kind in _KINDS}
    with httpx.Client(base_url=world.running.url, timeout=60) as client:
        world.signed_in(client, roles=["Boss"], preferred_username="boss@x")
        session = {"cookie": f"{SESSION_COOKIE}={client.cookies[SESSION_COOKIE]}"}
    shown = {
        "key": {"authorization": f"Bearer {key}"}, "session": {**session, **CSRF},
        "token": {"authorization": f"Bearer {world.issuer.token(roles=['Boss'])}"},
    }  # fmt: skip

    with httpx.Client(base_url=world.running.url, timeout=60) as client, ThreadPoolExecutor(12) as threads:

        def status(sent: Sent, headers: dict[str, str]) -> int:
            typed = {"content-type": "application/json"} if sent.body else {}
            deadline = time.monotonic() + 40
            while True:
                with client.stream(sent.method, sent.path, content=sent.body, headers=typed | headers) as answer:
                    if answer.status_code != 503:  # the index is behind
                        return answer.status_code  # the live feed has no end, so the body is not read
                    said = answer.read()
                assert time.monotonic() < deadline, (sent, said)
                rest()

        of_session = everything["session"]
        assert set(threads.map(lambda sent: status(sent, {}), of_session)) == {401}
        changes = [sent for sent in of_session if sent.method != "GET"]
        assert set(threads.map(lambda sent: status(sent, session), changes)) == {403}
        found: dict[str, list[int]] = {kind: [] for kind in _KINDS}
        for turn in range(5):
            for kind in _KINDS:
                some = [sent for sent in everything[kind] if sent.turn == turn]
                found[kind] += threads.map(partial(status, headers=shown[kind]), some)
            if turn == 0:
                for kind in _KINDS:
                    path = f"/api/v1/namespaces/ns-{kind}/datasets/target"
                    deadline = time.monotonic() + 60
                    while client.get(path, headers=shown["key"]).status_code != 200:
                        assert time.monotonic() < deadline, f"{path} did not appear in time"
                        rest()
    ordered = {kind: sorted(everything[kind], key=lambda sent: sent.turn) for kind in _KINDS}
    for sent, *statuses in zip(ordered["key"], *found.values(), strict=True):
        assert len(set(statuses)) == 1, (sent, statuses)
        assert statuses[0] < 300 if sent.goes_well else statuses[0] in (200, 201, 400, 404), (sent, statuses)


def test_tags_and_orders_are_in_the_admin_log_with_address_and_agent(world: World) -> None:
    boss = world.issuer.token(roles=["Boss"], appid="boss")
    agent = {"user-agent": "curl/8 token=ghp_" + "aB3d" * 9}
    tag = world.ask("/api/v1/tags/pii", boss, "PUT", content=b'{"description": "x"}', headers=agent)
    assert tag.status_code == 200, tag.text
    assert world.ask(f"{API}/rejected/retry", boss, "POST").status_code == 200
    assert world.ask(f"{API}/rejected/retry?code=wrong-key", method="POST").status_code == 401
    found = world.ask(f"{API}/admin-log?limit=3", boss).json()["items"]
    program = f"oidc:{world.issuer.url}#s boss"
    assert [(act["who"], act["action"], act["outcome"]) for act in found] == [
        ("nobody", "rejected retry", "refused"), (program, "rejected retry", "done"), (program, "marquez PUT", "done"),
    ]  # fmt: skip
    assert (found[2]["subject"], found[2]["address"]) == ("/api/v1/tags/pii", "127.0.0.1")
    assert "aB3d" not in json.dumps(found)
    assert "wrong-key" not in json.dumps(found)


def test_an_open_headwater_is_shut_by_its_first_key_and_not_over_http(tmp_path: Path) -> None:
    with Running(tmp_path / "data") as running:
        world = World(running, OidcServer.__new__(OidcServer))
        assert world.ask(f"{API}/keys/add?name=first&role=admin", method="POST").status_code == 400
        assert world.ask(f"{API}/keys/first/revoke", method="POST").status_code == 404
        assert world.ask(AUDIT).status_code == 200
        assert world.ask(AUDIT, headers={"host": "evil.example"}).status_code == 403
        made = world.command("keys", "add", "first", "--role", "admin")
        assert world.ask(AUDIT).status_code == 401
        assert world.ask(AUDIT, made["key"]).status_code == 200
        world.command("keys", "revoke", "first")
        assert world.ask(AUDIT, made["key"]).status_code == 401
        assert world.ask(AUDIT).status_code == 401
