"""Authentication at Amazon's and Google's endpoints: signatures are checked by code written from AWS' documentation."""

import hashlib
import hmac
import json
import os
import sys
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from headwater.common.errors import WrongSetting
from headwater.sinks.connecting.secrets import Secrets
from headwater.sinks.interface.target_registry import open_sink
from tests.support.data.made_events import body
from tests.support.data.sink_world import SinkWorld, events, no_token, sink
from tests.support.servers.sink_target import Asked, Said, sink_server

pytestmark = pytest.mark.slow

SECRET = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY"
PATH = "/v2/domains/dzd_1/lineage/events"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [each for each in os.environ if each.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", "of-a-session")


def signature(asked: Asked, text: bytes, signed: list[str]) -> str:
    """Compute the signature of a received request as AWS' page on Signature Version 4 describes."""
    moment = asked.headers["x-amz-date"]
    scope = f"{moment[:8]}/eu-west-1/datazone/aws4_request"
    parts = urlsplit(asked.path)
    lines = [f"{name}:{asked.headers[name]}" for name in signed]
    asking = ["POST", parts.path, parts.query, *lines, "", ";".join(signed), hashlib.sha256(text).hexdigest()]
    digest = hashlib.sha256("\n".join(asking).encode()).hexdigest()
    key = b"AWS4" + SECRET.encode()
    for part in scope.split("/"):
        key = hmac.digest(key, part.encode(), "sha256")
    return hmac.new(key, f"AWS4-HMAC-SHA256\n{moment}\n{scope}\n{digest}".encode(), "sha256").hexdigest()


def test_datazone_gets_requests_whose_signature_holds(tmp_path: Path, credentials: None) -> None:
    world = SinkWorld(tmp_path)
    (event,) = events(1)
    world.store(body(event))
    with sink_server() as server:
        out = sink(type="openlineage", url=server.url, path=PATH, aws={"region": "eu-west-1"})
        world.settle(out)
        (asked,) = server.asked
    assert server.taken == [event]
    scheme, rest = asked.headers["authorization"].split(" ", 1)
    told = dict(part.strip().split("=", 1) for part in rest.split(","))
    signed = told["SignedHeaders"].split(";")
    assert scheme == "AWS4-HMAC-SHA256"
    assert told["Credential"].startswith("AKIDEXAMPLE/")
    assert {"host", "x-amz-date", "x-amz-security-token", "client-token"} <= set(signed)
    assert told["Signature"] == signature(asked, body(event), signed)
    assert asked.headers["client-token"] == hashlib.sha256(body(event)).hexdigest()


def test_a_repeated_event_has_one_client_token_and_another_event_another(tmp_path: Path, credentials: None) -> None:
    world = SinkWorld(tmp_path)
    made = events(2)
    world.store(*map(body, made))
    with sink_server() as server:
        answers = iter([Said(503)])
        server.answer = lambda _: next(answers, Said())
        world.settle(sink(type="openlineage", url=server.url, path=PATH, aws={"region": "eu-west-1"}))
        first, again, other = (asked.headers["client-token"] for asked in server.asked)
    assert (first == again, first == other) == (True, False)


def test_without_credentials_nothing_is_sent(
    tmp_path: Path, credentials: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("HOME", str(tmp_path))
    with sink_server() as server:
        out = sink(type="openlineage", url=server.url, path=PATH, aws={"region": "eu-west-1"})
        with (
            closing(open_sink(out, Secrets(no_token, {}).reveal)) as target,
            pytest.raises(WrongSetting, match="Found no AWS credentials"),
        ):
            target.check()
        assert server.asked == []


def service_account(token_uri: str) -> dict[str, str]:
    key = rsa.generate_private_key(65537, 2048)
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    return {
        "type": "service_account", "project_id": "p", "client_email": "me@p.iam.gserviceaccount.com",
        "private_key": key.private_bytes(*form).decode(), "token_uri": token_uri,
    }  # fmt: skip


def test_google_gets_a_token_of_its_default_credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    world = SinkWorld(tmp_path / "data")
    world.store(*map(body, events(2)))
    with sink_server() as server, sink_server() as tokens:
        tokens.answer = lambda _: Said(
            200, b'{"access_token": "tok-1", "expires_in": 3600}', {"content-type": "application/json"}
        )
        (tmp_path / "adc.json").write_text(json.dumps(service_account(tokens.url)))
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "adc.json"))
        out = sink(type="openlineage", url=server.url, path="/v1/p:processOpenLineageRunEvent", google=True)
        world.settle(out)
        assert [asked.headers["authorization"] for asked in server.asked] == ["Bearer tok-1"] * 2
        assert len(tokens.asked) == 1
        monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", str(tmp_path / "none.json"))
        with (
            closing(open_sink(out, Secrets(no_token, {}).reveal)) as target,
            pytest.raises(WrongSetting, match="Found no Google credentials"),
        ):
            target.check()


@pytest.mark.parametrize(
    ("option", "module", "name"),
    [({"aws": {"region": "r"}}, "botocore.auth", "aws"), ({"google": True}, "google.auth", "google")],
)
def test_a_missing_package_is_named(
    option: dict[str, object], module: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)  # as if the package were not installed
    with pytest.raises(WrongSetting, match=rf"headwater\[{name}\]"):
        open_sink(sink(type="openlineage", url="http://127.0.0.1:1", **option), Secrets(no_token, {}).reveal)
