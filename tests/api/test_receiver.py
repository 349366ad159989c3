"""The receiver's answers over real HTTP, with and without keys, and the tables in which the events end."""

import gzip
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from headwater.operations.local.request_guard import RequestGuard
from tests.support.data.made_events import SCHEMA_URL, body, dataset_event, job_event, run_event, with_raw
from tests.support.http_client import Gateway, Wire, chunked, running
from tests.support.lake_check import bronze_of

pytestmark = pytest.mark.slow  # starts Headwater twice

KEYS = [
    {"name": "spark", "key": "spark-key"},
    {"name": "viewer", "key": "viewer-key", "roles": ["read"]},
    {"name": "admin", "key": "admin-key", "roles": ["admin"]},
    {"name": "fenced", "key": "fenced-key", "roles": ["write", "read"], "namespaces": ["allowed"]},
]
ONE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
READS = ["audit", "freshness", "events", "rejected"]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("open") / "data", max_body_bytes=1 << 20) as started:
        yield started


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("locked") / "data", keys=KEYS) as started:
        yield started


@pytest.fixture
def client(gateway: Gateway) -> Iterator[httpx.Client]:
    with gateway.client() as opened:
        yield opened


def refused(answer: httpx.Response, status: int) -> dict[str, Any]:
    """Check status and form of a refusal, and return its body."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    assert "retry-after" not in answer.headers
    found: dict[str, Any] = answer.json()
    assert set(found) == {"error", "field", "fix"}
    return found


def test_one_event_is_200_with_an_empty_object(client: httpx.Client) -> None:
    answer = client.post(ONE, content=body(run_event()), headers={"content-type": "application/json"})
    assert (answer.status_code, answer.content) == (200, b"{}")
    assert answer.headers["content-type"] == "application/json"


def test_every_refusal_of_the_table_has_its_status_and_says_what_to_do(client: httpx.Client) -> None:
    event = body(run_event())
    assert refused(client.put(ONE), 405)["fix"] == "Use POST."
    assert client.put(ONE, content=event).headers["allow"] == "POST"
    refused(client.post(ONE, content=event, headers={"content-type": "text/plain"}), 415)
    refused(client.post(ONE, content=event, headers={"content-type": "application/json; charset=utf-16"}), 415)
    refused(client.post(ONE, content=event, headers={"content-encoding": "br"}), 415)
    refused(client.post(ONE, content=b" " * ((1 << 20) + 1)), 413)
    refused(client.post(ONE, content=b"{"), 400)
    refused(client.post(ONE, content=b"[]"), 400)
    assert refused(client.post(ONE, content=body(run_event(job={}))), 400)["field"] == "job.namespace"
    refused(client.post(BATCH, content=b"{}"), 400)
    refused(client.post(ONE, content=event, headers={"host": "evil.example"}), 403)


def test_a_head_request_is_405_without_a_body(client: httpx.Client) -> None:
    for path in (ONE, BATCH):
        answer = client.head(path)
        assert (answer.status_code, answer.content, answer.headers["allow"]) == (405, b"", "POST")
        assert client.options(path).status_code == 405


def test_a_batch_answers_as_the_specification_says(client: httpx.Client) -> None:
    assert client.post(BATCH, content=b"[]").status_code == 204
    answer = client.post(BATCH, content=body([run_event(), job_event()]))
    assert (answer.status_code, answer.content) == (204, b"")
    partial = client.post(BATCH, content=body([run_event(), {}, 1]))
    assert partial.status_code == 200
    assert partial.json()["status"] == "partial_success"
    assert [item["index"] for item in partial.json()["failed_events"]] == [1, 2]


def test_the_java_clients_request_is_taken_exactly_as_it_is_sent(gateway: Gateway) -> None:
    event = body(run_event())
    head = (
        b"POST /api/v1/lineage HTTP/1.1\r\nContent-Type: application/json; charset=UTF-8\r\n"
        b"Accept: application/json\r\nAccept-Encoding: gzip, x-gzip, deflate\r\nHost: localhost:%d\r\n"
        b"Transfer-Encoding: chunked\r\n"
        b"Content-Encoding: gzip\r\nConnection: keep-alive\r\nUser-Agent: openlineage-java/1.53.0\r\n\r\n"
        % gateway.port
    )
    packed = gzip.compress(event)
    with Wire(gateway.port) as wire:
        for parts in ((packed,), (packed[:10], packed[10:]), tuple(packed[i : i + 1] for i in range(len(packed)))):
            assert wire.send(head + chunked(*parts)).reply()[::2] == (200, b"{}")
        assert wire.send(head + chunked(gzip.compress(event[:9]) + gzip.compress(event[9:]))).status() == 200


def test_a_path_is_the_same_however_it_is_escaped_and_with_a_slash_behind(client: httpx.Client) -> None:
    for path in ("/api/v1/line%61ge", ONE + "/"):
        assert client.post(path, content=body(run_event())).status_code == 200, path
    refused(client.post("/api/v1/lineage%2Fbatch/x", content=b"[]"), 404)
    refused(client.get("/nothing/here"), 404)
    refused(client.post("/api/headwater/v1/audit"), 405)


def test_only_hosts_on_the_list_are_answered_while_there_are_no_keys(gateway: Gateway) -> None:
    hosts = {
        "localhost": 200, "LOCALHOST:5000": 200, "127.0.0.1": 200, "[::1]:5000": 200, "evil.example": 403,
        "localhost.evil.example": 403, "127.0.0.1.nip.io": 403, "": 403, "[::2]": 403, "evil.example:localhost": 403,
    }  # fmt: skip
    with gateway.client() as client:
        for host, status in hosts.items():
            assert client.post(ONE, content=body(run_event()), headers={"host": host}).status_code == status, host
            assert client.get("/health/live", headers={"host": host}).status_code == status, host
    with Wire(gateway.port) as wire:
        old = b"POST /api/v1/lineage HTTP/1.0\r\nContent-Length: 0\r\n\r\n"
        assert wire.send(old).status() == 403, "a request without a Host header"


FOREIGN_PAGES: dict[str, dict[str, str]] = {
    "another port": {"origin": "http://localhost:3000"},
    "another name of this machine": {"origin": "http://127.0.0.1:PORT"},
    "another scheme": {"origin": "https://localhost:PORT"},
    "no port": {"origin": "http://localhost"},
    "another site": {"origin": "https://evil.example"},
    "a file or a frame": {"origin": "null"},
    "nothing": {"origin": ""},
    "a browser that hides it": {"sec-fetch-site": "cross-site"},
    "a browser that hides another port": {"sec-fetch-site": "same-site"},
}


@pytest.mark.parametrize("page", FOREIGN_PAGES.values(), ids=FOREIGN_PAGES.keys())
def test_a_page_that_is_not_ours_may_change_and_hear_nothing_while_there_are_no_keys(
    gateway: Gateway, page: dict[str, str]
) -> None:
    headers = {name: value.replace("PORT", str(gateway.port)) for name, value in page.items()}
    json_type = {**headers, "content-type": "application/json"}
    with httpx.Client(base_url=f"http://localhost:{gateway.port}", timeout=60) as client:
        for method, path in (
            ("POST", ONE), ("POST", BATCH), ("PUT", "/api/v1/tags/a"), ("DELETE", "/api/v1/namespaces/n/jobs/j"),
            ("POST", "/api/v1/namespaces/n/jobs/j/tags/a"), ("POST", "/api/headwater/v1/rejected/retry"),
            ("POST", "/api/headwater/v1/sinks/s/pause"),
        ):  # fmt: skip
            for sent in (headers, json_type):
                answer = client.request(method, path, headers=sent)
                assert (answer.status_code, answer.json()["error"]) == (
                    403,
                    "The request comes from a page of another origin.",
                )
        if "origin" in page:
            assert client.get("/api/headwater/v1/live", headers=headers).status_code == 403
        else:
            assert client.get("/", headers={**headers, "accept": "text/html"}).status_code == 200, "a link to the page"


def test_our_own_page_may_do_everything_if_it_says_that_it_sends_json(gateway: Gateway) -> None:
    # the last host is used with an SSH tunnel
    for host in (f"localhost:{gateway.port}", f"127.0.0.1:{gateway.port}", "localhost:8080"):
        own = {"host": host, "origin": f"http://{host}", "sec-fetch-site": "same-origin"}
        with gateway.client(**own) as client:
            for path, data, status in ((ONE, run_event(), 200), (BATCH, [], 204)):
                refused(client.post(path, content=body(data)), 415)
                refused(client.post(path, content=body(data), headers={"content-type": "text/plain"}), 415)
                answer = client.post(path, content=body(data), headers={"content-type": "application/json"})
                assert answer.status_code == status
            assert client.put("/api/v1/tags/a", content=b"{}").status_code == 200
            assert client.get("/health/live").status_code == 200


@pytest.mark.parametrize(
    "host",
    ["localhost:x", "localhost:", "localhost:5000:6000", "[::1", "[::1]x", "[::1]:x", "[[::1]]", "[::1].evil.example",
     "[[[::1]", "localhost@evil.example", "localhost/evil", "localhost evil", "::1", "[localhost]"],
)  # fmt: skip
def test_a_host_header_that_only_begins_like_an_allowed_name_is_refused(host: str) -> None:
    door = RequestGuard(["localhost", "::1"], is_open=lambda: True)
    refusal = door.refusal("GET", "/", {"host": host})
    assert refusal is not None
    assert refusal.reason == "host"


@pytest.mark.parametrize(
    ("host", "origin", "is_let_in"),
    [
        ("localhost", "http://localhost:3000", True), ("localhost", "http://localhost:3001", False),
        ("LOCALHOST:5000", "http://localhost:5000", True), ("[::1]:5000", "http://[::1]:5000", True),
        ("lineage.example", "https://lineage.example", True), ("lineage.example", "http://lineage.example", True),
        ("lineage.example", "https://lineage.example:8443", False), ("127.0.0.1", "http://127.0.0.1", False),
    ],
)  # fmt: skip
def test_names_and_pages_that_settings_allow_are_let_in(host: str, origin: str, is_let_in: bool) -> None:
    door = RequestGuard(["localhost", "::1", "Lineage.example", "http://localhost:3000"], is_open=lambda: True)
    assert (door.refusal("POST", "/", {"host": host, "origin": origin}) is None) == is_let_in


def test_keys_open_exactly_what_their_roles_say(locked: Gateway) -> None:
    event = body(run_event())
    locked.settled(authorization="Bearer viewer-key")
    with locked.client() as client:
        for way in (
            {"headers": {"authorization": "Bearer spark-key"}}, {"headers": {"x-functions-key": "spark-key"}},
            {"params": {"code": "spark-key"}}, {"headers": {"authorization": "Bearer admin-key"}},
        ):  # fmt: skip
            assert client.post(ONE, content=event, **way).status_code == 200  # type: ignore[arg-type] # **way is a union
        assert refused(client.post(ONE, content=event), 401)["fix"].startswith("Send `Authorization: Bearer KEY`")
        refused(client.post(ONE, content=event, headers={"authorization": "Bearer spark-kez"}), 401)
        refused(client.post(ONE, content=event, headers={"authorization": "Bearer viewer-key"}), 403)
        for name in READS:
            path = f"/api/headwater/v1/{name}"
            refused(client.get(path), 401)
            refused(client.get(path, headers={"authorization": "Bearer spark-key"}), 403)
            assert client.get(path, params={"code": "viewer-key"}).status_code == 200
            assert client.get(path, headers={"x-functions-key": "admin-key"}).status_code == 200
        for path in ("/health/live", "/health/ready", "/metrics"):
            assert client.get(path).status_code == 200


def test_a_fenced_key_fails_only_the_items_outside_its_namespaces(locked: Gateway) -> None:
    mine = {"namespace": "allowed", "name": "x"}
    with locked.client(authorization="Bearer fenced-key") as client:
        assert client.post(ONE, content=body(run_event(job=mine))).status_code == 200
        assert refused(client.post(ONE, content=body(run_event())), 403)["field"] == "job.namespace"
        outside = refused(client.post(ONE, content=body(dataset_event())), 403)
        assert outside["field"] == "dataset.namespace"
        answer = client.post(BATCH, content=body([run_event(job=mine), run_event()]))
        assert [item["index"] for item in answer.json()["failed_events"]] == [1]


def test_with_keys_every_host_header_is_served(locked: Gateway) -> None:
    with locked.client(authorization="Bearer spark-key", host="lineage.example") as client:
        assert client.post(ONE, content=body(run_event())).status_code == 200


# Unusual content, and the flags that report it in the table `events`.
ODD: dict[str, tuple[bytes, list[str]]] = {
    "plain": (body(run_event()), []),
    "job": (body(job_event()), []),
    "dataset": (body(dataset_event()), []),
    "odd UUID": (body(run_event(run={"runId": "abc-123"})), ["run_id_not_uuid"]),
    "no zone": (body(run_event(eventTime="2026-03-01T12:00:00.123")), ["time_no_zone"]),
    "no time": (body(run_event(eventTime="yesterday")), ["time_invalid"]),
    "far ahead": (body(run_event(eventTime="9999-12-31T23:59:59.999999Z")), ["time_ahead"]),
    "long ago": (body(run_event(eventTime="0001-01-01T00:00:00Z")), []),
    "nanoseconds": (body(run_event(eventTime="2026-03-01T12:00:00.123456789Z")), []),
    "no schema URL": (body({k: v for k, v in run_event().items() if k != "schemaURL"}), ["schema_url_missing"]),
    "Fabric's schema URL": (
        body(run_event(schemaURL="file:/__w/1/s/spec/OpenLineage.json#/$defs/RunEvent")),
        ["schema_url_vendor"],
    ),
    "no event type": (body({k: v for k, v in run_event().items() if k != "eventType"}), ["event_type_missing"]),
    "unknown event type": (body(run_event(eventType="PAUSE")), ["event_type_unknown"]),
    "duplicate keys": (b'{"producer":"other",' + body(run_event())[1:], []),
    "lone surrogate": (with_raw(run_event(), rb'{"a":"\ud800"}'), ["lone_surrogate"]),
    "lone surrogate in a name": (
        body(run_event(job={"namespace": "n", "name": "NAME"})).replace(b"NAME", rb"x\udc00"),
        ["lone_surrogate"],
    ),
    "numbers beyond a double": (with_raw(run_event(), b'{"a":[1e999,-1e999,1' + b"0" * 400 + b"]}"), []),
    "unknown member": (body(run_event(somethingNew=1)), ["odd_shape"]),
    "a dataset in a run event": (body(run_event(dataset={"namespace": "n", "name": "d"})), ["odd_shape"]),
    "a number as schema URL": (body(run_event(schemaURL=7)), ["schema_url_missing", "odd_shape"]),
    "facets of other types": (body(run_event(run={"runId": "r-1", "facets": 5})), ["run_id_not_uuid", "odd_shape"]),
    "an unnamed input": (body(run_event(inputs=[{"name": "x"}])), ["dataset_unnamed"]),
    "512 levels": (with_raw(run_event(), b'{"a":' * 509 + b"1" + b"}" * 509), []),
    "NUL characters": (body(run_event(job={"namespace": "a\0", "name": "\0b"})), []),
    "all of Unicode": (body(run_event(job={"namespace": "n", "name": "名\U0001f4a7\u200b\uffff"})), []),
    "null as facets": (body(run_event(run={"runId": "r-2", "facets": None})), ["run_id_not_uuid"]),
    "emoji as two escapes": (with_raw(run_event(), rb'{"a":"\ud83d\ude00"}'), []),
}  # fmt: skip


def test_odd_events_are_200_and_end_in_table_events_with_their_flags(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running(tmp_path_factory.mktemp("odd") / "data") as gateway:
        with gateway.client() as client:
            for name, (event, _) in ODD.items():
                answer = client.post(ONE, content=event)
                assert (answer.status_code, answer.content) == (200, b"{}"), name
        audit = gateway.settled()
        counted = {
            "received": len(ODD), "stored": len(ODD), "removed": 0, "duplicates": 0, "rejected": 0, "refused": 0,
            "pending": 0, "lost": 0, "balanced": True, "trouble": None,
        }  # fmt: skip
        assert audit | counted == audit
        found = bronze_of(gateway.folder).events.run_query("SELECT flags, job_name, body FROM t ORDER BY sequence")
    stored = found.to_pylist()
    assert {name: row["flags"] for name, row in zip(ODD, stored, strict=True)} == {
        name: flags for name, (_, flags) in ODD.items()
    }
    verbatim = {name: row["body"].encode() for name, row in zip(ODD, stored, strict=True)}
    assert verbatim == {name: event for name, (event, _) in ODD.items()}
    assert dict(zip(ODD, stored, strict=True))["lone surrogate in a name"]["job_name"] == "x\ufffd"


def test_health_tells_life_from_readiness_and_names_the_components(client: httpx.Client) -> None:
    live, ready = client.get("/health/live"), client.get("/health/ready")
    assert (live.status_code, live.json()) == (200, {"live": True})
    assert ready.status_code == 200
    assert ready.json()["ready"] is True
    assert ready.json()["components"]["log"] == "ok"
    assert set(ready.json()["components"]) == {"log", "lake", "index"}
    assert set(ready.json()["freshness"]) == {"seconds", "log", "bronze", "events", "gold"}


def test_metrics_can_be_read_by_prometheus_and_count_what_happened(client: httpx.Client) -> None:
    before = samples(client)
    assert client.post(ONE, content=body(run_event())).status_code == 200
    assert client.post(BATCH, content=body([run_event(), {}])).status_code == 200
    assert client.post(ONE, content=b"{").status_code == 400
    after = samples(client)

    def grown(name: str) -> float:
        return after[name] - before.get(name, 0)

    assert grown("headwater_events_acknowledged_total") == 2
    assert grown("headwater_refused_total not_json") == 1
    assert grown("headwater_refused_total shape") == 1
    assert grown("headwater_append_seconds_count") == 2
    assert {"headwater_pending_events", "headwater_freshness_seconds", "headwater_log_bytes"} <= after.keys()


def samples(client: httpx.Client) -> dict[str, float]:
    """Return the values in `/metrics` by name and reason."""
    answer = client.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain")
    return {
        f"{sample.name} {sample.labels.get('reason', '')}".strip(): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


@pytest.mark.parametrize(
    "query",
    ["limit=0", "limit=1001", "limit=x", "limit=-1", "since=never", "limit=%00", "limit=9999999999", "since=%ff"],
)
def test_a_wrong_question_is_400_and_says_what_fits(client: httpx.Client, query: str) -> None:
    client.post(ONE, content=body(run_event()))
    refused(client.get(f"/api/headwater/v1/events?{query}"), 400)


@pytest.mark.parametrize("text", ["'", "''; --", "%00", "%ff%fe", "\\", "%25", "x" * 5000, "%ED%A0%80", "日本"])
def test_any_text_can_be_asked_for_and_finds_nothing(gateway: Gateway, client: httpx.Client, text: str) -> None:
    client.post(ONE, content=body(run_event()))
    gateway.settled()
    for name in ("run", "job"):
        answer = client.get(f"/api/headwater/v1/events?{name}={text}")
        assert (answer.status_code, answer.json()["totalCount"]) == (200, 0)


def test_at_the_end_everything_acknowledged_is_stored_and_every_refusal_is_counted(gateway: Gateway) -> None:
    audit = gateway.settled()
    assert audit["balanced"]
    assert audit["received"] == audit["stored"] + audit["duplicates"]
    with gateway.client() as client:
        assert client.get("/api/headwater/v1/rejected").json()["totalCount"] == 0
    assert "Traceback" not in gateway.said()
    assert json.dumps(SCHEMA_URL) not in gateway.said()
