"""More than forty secrets in events must not appear in the lake, in log lines or in answers (promise P6)."""

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.tables import BRONZE
from tests.support.data.made_events import body, run_event, with_raw
from tests.support.data.planted_secrets import planted_events
from tests.support.http_client import Gateway, running

pytestmark = pytest.mark.slow
ONE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
KEY, READ_KEY, FENCED_KEY = "pLanted7WriterKey", "pLanted7ReaderKey", "pLanted7FencedKey"
KEYS = [
    {"name": "spark", "key": KEY},
    {"name": "viewer", "key": READ_KEY, "roles": ["read"]},
    {"name": "fenced", "key": FENCED_KEY, "namespaces": ["allowed"]},
]
IN_A_NAMESPACE = "pLanted7Namespace"
IN_AN_AGENT, IN_A_REFUSED_AGENT = "pLanted7Agent", "pLanted7RefusedAgent"
AGENTS = {"agent": IN_AN_AGENT, "refused agent": IN_A_REFUSED_AGENT}
HIDDEN: dict[str, tuple[str, bytes]] = {
    "a key that comes twice": ("pLanted7Twice", b'{"password":"pLanted7Twice","password":null}'),
    "a URL under a key that comes twice": ("pLanted7TwiceUrl", b'{"u":"ftp://etl:pLanted7TwiceUrl@h/d","u":"x"}'),
    "a key with escapes": ("pLanted7Escaped", rb'{"p\u0061ssword":"pLanted7Escaped"}'),
    "a URL with escapes": ("pLanted7UrlEscaped", rb'{"u":"ftp\u003a\/\u002fetl\u003apLanted7UrlEscaped\u0040h"}'),
    "beside a lone surrogate": ("pLanted7Surrogate", rb'{"x":"\ud800","password":"pLanted7Surrogate"}'),
    "beside a number beyond a double": ("pLanted7Number", b'{"x":1e999,"password":"pLanted7Number"}'),
    "500 levels deep": ("pLanted7Deep", b'{"a":' * 500 + b'{"password":"pLanted7Deep"}' + b"}" * 500),
    "in a body kept as a claim": ("pLanted7Claim", b'{"a":"' + b"x" * (2 << 20) + b'","password":"pLanted7Claim"}'),
}
"""Secrets that decoding or the search for suspicious text could overlook, each with a facet's raw text."""

PLANTED = [(name, body(event), secret) for name, event, secret in planted_events()] + [
    (name, with_raw(run_event(), facet), secret) for name, (secret, facet) in HIDDEN.items()
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Post every event with a secret: alone, as gzip, in a batch, truncated, and to forbidden places."""
    planted = [text for _, text, _ in PLANTED]
    with running(tmp_path_factory.mktemp("secrets") / "data", keys=KEYS) as started:
        with started.client(authorization=f"Bearer {KEY}") as client:
            client.post(ONE, content=body(run_event()), headers={"user-agent": f"x/1 password={IN_AN_AGENT}"})
            client.post(ONE, content=b"{", headers={"user-agent": f"x/1 (https://etl:{IN_A_REFUSED_AGENT}@h.example)"})
            for text in planted:
                assert client.post(ONE, content=text).status_code == 200
                packed = gzip.compress(text)
                assert client.post(ONE, content=packed, headers={"content-encoding": "gzip"}).status_code == 200
                assert client.post(ONE, content=text[:-1]).status_code == 400
                assert client.post(ONE, content=text, params={"code": KEY}).status_code == 200
            batch = b"[" + b",".join([*planted, b"{}"]) + b"]"
            assert client.post(BATCH, content=batch).status_code == 200
        with started.client(authorization=f"Bearer {FENCED_KEY}") as client:
            job = {"namespace": f"postgres://etl:{IN_A_NAMESPACE}@db", "name": "x"}
            assert client.post(ONE, content=body(run_event(job=job))).status_code == 403
            assert client.post(BATCH, content=body([run_event(job=job)])).status_code == 200
        audit = started.settled(authorization=f"Bearer {READ_KEY}")
        assert (audit["balanced"], audit["received"]) == (True, 4 * len(planted) + 1)
        yield started


@pytest.fixture(scope="module")
def secrets() -> dict[str, str]:
    """Return every secret by the name of its place."""
    planted = {name: secret for name, _, secret in PLANTED}
    assert len(planted) == len(PLANTED) >= 40
    return planted | {"key": KEY, "read key": READ_KEY, "fenced key": FENCED_KEY, "namespace": IN_A_NAMESPACE, **AGENTS}


def test_the_scan_finds_a_secret_that_is_there(secrets: dict[str, str]) -> None:
    names = list(secrets)
    for name, text, _ in PLANTED:
        assert found_in(text.decode(), {name: secrets[name]}) == [name]
        assert found_in(json.dumps({"body": text.decode()}), {name: secrets[name]}) == [name]
    assert found_in(" ".join(secrets.values()), secrets) == names


def test_no_byte_of_any_file_of_the_lake_is_a_secret(gateway: Gateway, secrets: dict[str, str]) -> None:
    files = [path for path in (gateway.folder / "lake").rglob("*") if path.is_file()]
    assert len(files) > 10
    leaks = {path.name: found_in(path.read_bytes().decode("latin-1"), secrets) for path in files}
    assert not {name: found for name, found in leaks.items() if found}


def test_no_value_of_any_table_holds_a_secret(gateway: Gateway, secrets: dict[str, str]) -> None:
    tables = sorted(path.parent for path in (gateway.folder / "lake").rglob("_delta_log"))
    assert {table.name for table in BRONZE} == {table.name for table in tables}
    leaks = {table.name: found_in("\n".join(_texts(_rows(table))), secrets) for table in tables}
    assert not {name: found for name, found in leaks.items() if found}


def test_no_line_that_a_process_printed_holds_a_secret(gateway: Gateway, secrets: dict[str, str]) -> None:
    assert found_in(gateway.said(), secrets) == []


def test_no_answer_holds_a_secret(gateway: Gateway, secrets: dict[str, str]) -> None:
    base = "/api/headwater/v1"
    paths = [f"{base}/{name}" for name in ("events?limit=1000", "rejected", "audit", "freshness")]
    with gateway.client(authorization=f"Bearer {READ_KEY}") as client:
        for path in [*paths, "/metrics", "/health/live", "/health/ready"]:
            answer = client.get(path)
            assert answer.status_code == 200
            assert found_in(answer.text, secrets) == [], path
        shown = client.get(f"{base}/events?limit=1000").json()
    assert shown["totalCount"] == len(shown["items"]) > 0


def test_a_file_beside_log_and_claims_holds_no_secret(gateway: Gateway, secrets: dict[str, str]) -> None:
    # log and claims contain raw bodies, which have their own container, their own role and a short retention
    raw = {"log", "claims", "lake"}
    others = [path for path in gateway.folder.rglob("*") if path.relative_to(gateway.folder).parts[0] not in raw]
    for path in others:
        if path.is_file():
            assert found_in(path.read_bytes().decode("latin-1"), secrets) == [], path.name


def found_in(text: str, secrets: dict[str, str]) -> list[str]:
    """Return the names of the secrets that a text contains, literally or encoded as JSON once or twice."""
    return [name for name, secret in secrets.items() if any(form in text for form in _forms(secret))]


def _forms(secret: str) -> set[str]:
    once = json.dumps(secret)[1:-1]
    return {secret, once, json.dumps(once)[1:-1]}


def _rows(table: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = DeltaTable(str(table)).to_pyarrow_table().to_pylist()
    return rows


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _texts(item)
    elif isinstance(value, str):
        yield value
