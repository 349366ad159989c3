"""The receiver's table of answers (docs/reference/api.md, "Posting events"), without a server.

The tests cover every row, and which row takes precedence.
"""

import asyncio
import gzip
import itertools
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from headwater.auth.access import Key
from headwater.auth.authentication import Authenticator
from headwater.intake.event_log import LoggedRecord, RecordKind
from headwater.intake.event_log.folder_claims import ClaimCheck, FolderClaims
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.receiver import Answer, Request
from headwater.intake.receiver.paths import wrong_path_refusal
from headwater.intake.receiver.post_handling import Receiver, RequestLimits
from headwater.intake.receiver.refusals import WRONG_PATHS, Refusals
from tests.support.cleanup import until_end
from tests.support.data.made_events import body, dataset_event, job_event, run_event, with_raw

WRITER = Key(name="writer", key=SecretStr("writer-key"))
READER = Key(name="reader", key=SecretStr("reader-key"), roles=frozenset({"read"}))
ADMIN = Key(name="admin", key=SecretStr("admin-key!"), roles=frozenset({"admin"}))
FENCED = Key(name="fenced", key=SecretStr("fenced-key"), namespaces=frozenset({"allowed"}))
MAX_BODY = 64 << 10
ENOUGH = 1 << 60
"""More free bytes than any disk has, so that the receiver accepts no events."""


@dataclass
class Station:
    """A receiver with four keys and a real log."""

    receiver: Receiver
    claims: ClaimCheck
    log: SqliteLog
    reader: SqliteLogReader

    def post(
        self, data: bytes, headers: Mapping[str, str] | None = None, *, query: str = "", method: str = "POST",
        batch: bool = False, chunk: int = 4096, key: str | None = "writer-key",
    ) -> Answer:  # fmt: skip
        """Pass one request to the receiver and wait for its answer."""
        sent = ({"authorization": f"Bearer {key}"} if key else {}) | dict(headers or {})
        request = Request(method, sent, query, _chunks(data, chunk))
        return asyncio.run(_answer(self.receiver.receive_batch if batch else self.receiver.receive_event, request))

    def logged(self) -> list[LoggedRecord]:
        return self.reader.read(0, limit=100_000, max_bytes=1 << 40)


async def _answer(take: Any, request: Request) -> Answer:
    answer: Answer = await take(request)
    return answer


async def _chunks(data: bytes, size: int) -> AsyncIterator[bytes]:
    for start in range(0, len(data), size):
        yield data[start : start + size]


def _station(folder: Path, *, min_free_bytes: int = 0) -> Iterator[Station]:
    log = SqliteLog(folder / "log", LogLimits(min_free_bytes=min_free_bytes))
    reader = until_end(SqliteLogReader(folder / "log"))
    claims = ClaimCheck(log, FolderClaims(folder / "claims"), 32 << 10)
    receiver = Receiver(claims, Authenticator([WRITER, READER, ADMIN, FENCED]), RequestLimits(max_body_bytes=MAX_BODY))
    yield Station(receiver, claims, log, reader)
    reader.close()
    log.close()


@pytest.fixture
def station(tmp_path: Path) -> Iterator[Station]:
    yield from _station(tmp_path)


@pytest.fixture
def full_disk(tmp_path: Path) -> Iterator[Station]:
    yield from _station(tmp_path, min_free_bytes=ENOUGH)


def refused(answer: Answer) -> dict[str, Any]:
    """Check the form of a refusal, and return its body."""
    found: dict[str, Any] = json.loads(answer.body)
    assert set(found) == {"error", "field", "fix"}
    assert isinstance(found["error"], str)
    assert isinstance(found["fix"], str)
    assert found["error"]
    assert found["fix"]
    return found


# Each fault, in the order of that table. If a request has several faults, the first determines the answer.
FAULTS: list[tuple[str, int, dict[str, Any]]] = [
    ("method", 405, {"method": "PUT"}),
    ("media type", 415, {"headers": {"content-type": "text/plain"}}),
    ("encoding", 415, {"headers": {"content-encoding": "br"}}),
    ("credentials", 401, {"key": "nobody"}),
    ("role", 403, {"key": "reader-key"}),
    ("size", 413, {"data": b" " * (MAX_BODY + 1)}),
    ("not json", 400, {"data": b"{"}),
    ("namespace", 403, {"key": "fenced-key"}),
    ("log down", 503, {}),
]


@pytest.mark.parametrize(("name", "status", "fault"), FAULTS, ids=[fault[0] for fault in FAULTS])
def test_each_fault_alone_has_its_status_and_a_body_that_says_what_to_do(
    full_disk: Station, name: str, status: int, fault: dict[str, Any]
) -> None:
    answer = full_disk.post(**{"data": body(run_event())} | fault)
    assert answer.status == status
    assert refused(answer)["field"] == ("job.namespace" if name == "namespace" else None)
    assert "retry-after" not in answer.headers
    assert full_disk.logged() == []


PAIRS = [
    pair
    for pair in itertools.combinations(FAULTS[:-1], 2)
    if not (pair[0][2].keys() & pair[1][2].keys() - {"headers"})  # one key or body cannot have two faults
]


@pytest.mark.parametrize(("first", "second"), PAIRS, ids=[f"{a[0]} before {b[0]}" for a, b in PAIRS])
def test_of_two_faults_the_one_that_stands_first_in_the_table_is_answered(
    full_disk: Station, first: tuple[str, int, dict[str, Any]], second: tuple[str, int, dict[str, Any]]
) -> None:
    headers = first[2].get("headers", {}) | second[2].get("headers", {})
    answer = full_disk.post(**{"data": body(run_event())} | first[2] | second[2] | {"headers": headers})
    assert answer.status == first[1]
    assert refused(answer) == refused(full_disk.post(**{"data": body(run_event())} | first[2]))


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "post"])
def test_every_method_but_post_is_405_and_names_post(station: Station, method: str) -> None:
    answer = station.post(body(run_event()), method=method)
    assert (answer.status, answer.headers) == (405, {"allow": "POST"})


@pytest.mark.parametrize(
    "media",
    [
        "", "application/json", "Application/JSON", "application/json; charset=utf-8", "application/json;charset=UTF-8",
        'application/json; charset="utf-8"', "application/json; charset=us-ascii", "application/json; Charset=utf-8",
        "application/json; charset=utf-8; profile=x", "application/cloudevents+json", "application/json;",
    ],
)  # fmt: skip
def test_json_in_utf8_is_read_under_every_name_it_goes_by(station: Station, media: str) -> None:
    assert station.post(body(run_event()), {"content-type": media}).status == 200


@pytest.mark.parametrize(
    "media",
    [
        "text/plain", "application/xml", "multipart/form-data; boundary=x", "application/x-www-form-urlencoded",
        "application/json; charset=utf-16", "application/json; charset=UTF-16LE", "application/json; Charset=latin1",
        "application/x-ndjson", "json", "application/json; profile=x; charset=utf-32",
    ],
)  # fmt: skip
def test_other_media_types_and_charsets_are_415(station: Station, media: str) -> None:
    answer = station.post(body(run_event()), {"content-type": media})
    assert answer.status == 415
    refused(answer)


@pytest.mark.parametrize("encoding", ["", "identity", "gzip", "x-gzip", "GZIP", " gzip "])
def test_plain_and_gzip_are_read(station: Station, encoding: str) -> None:
    data = body(run_event())
    sent = gzip.compress(data) if "gzip" in encoding.lower() else data
    assert station.post(sent, {"content-encoding": encoding}).status == 200
    assert [record.body for record in station.logged()] == [data]


@pytest.mark.parametrize("encoding", ["br", "deflate", "zstd", "gzip, gzip", "gzip;q=1", "*", "chunked"])
def test_other_encodings_are_415(station: Station, encoding: str) -> None:
    assert station.post(b"", {"content-encoding": encoding}).status == 415


CREDENTIALS: list[tuple[dict[str, str], str, int]] = [
    ({"authorization": "Bearer writer-key"}, "", 200),
    ({"authorization": "bearer writer-key"}, "", 200),
    ({"authorization": "Bearer  writer-key "}, "", 200),
    ({"x-functions-key": "writer-key"}, "", 200),
    ({}, "code=writer-key", 200),
    ({}, "x=1&code=writer%2Dkey&code=other", 200),
    ({"authorization": "Bearer admin-key!"}, "", 200),
    ({"authorization": "Bearer wrong"}, "code=writer-key", 401),
    ({"authorization": "Basic d3JpdGVyLWtleQ=="}, "", 401),
    ({"authorization": "Basic d3JpdGVyLWtleQ=="}, "code=writer-key", 200),
    ({"authorization": "Bearer"}, "", 401),
    ({"authorization": "writer-key"}, "", 401),
    ({"x-functions-key": "writer-key2"}, "", 401),
    ({"x-functions-key": "writer-ke"}, "", 401),
    ({"x-functions-key": ""}, "", 401),
    ({"x-functions-key": "WRITER-KEY"}, "", 401),
    ({"x-functions-key": "\xfc\xff"}, "", 401),
    ({}, "code=%ff%fe", 401),
    ({}, "CODE=writer-key", 401),
    ({}, "", 401),
    ({"x-functions-key": "reader-key"}, "", 403),
]


@pytest.mark.parametrize(("headers", "query", "status"), CREDENTIALS)
def test_a_key_is_taken_as_bearer_header_or_code_and_nothing_else_is(
    station: Station, headers: dict[str, str], query: str, status: int
) -> None:
    assert station.post(body(run_event()), headers, query=query, key=None).status == status


def test_a_fenced_key_writes_only_its_namespaces(station: Station) -> None:
    mine, other = {"namespace": "allowed", "name": "x"}, {"namespace": "other", "name": "x"}
    for event, field in ((run_event, "job"), (job_event, "job"), (dataset_event, "dataset")):
        assert station.post(body(event(**{field: mine})), key="fenced-key").status == 200
        answer = station.post(body(event(**{field: other})), key="fenced-key")
        assert (answer.status, refused(answer)["field"]) == (403, f"{field}.namespace")


def test_a_refusal_never_repeats_what_the_event_says_because_it_may_be_a_secret(station: Station) -> None:
    secret = "postgres://user:hunter2secret@host"
    for member in ("job", "dataset"):
        event = (run_event if member == "job" else dataset_event)(**{member: {"namespace": secret, "name": "x"}})
        single = station.post(body(event), key="fenced-key")
        several = station.post(body([event]), key="fenced-key", batch=True)
        assert (single.status, several.status) == (403, 200)
        assert b"hunter2" not in single.body + several.body
    asyncio.run(station.receiver.flush_refusals())
    assert len(station.logged()) > 0
    assert not any(b"hunter2" in record.body or "hunter2" in record.http for record in station.logged())


INCOMPLETE: dict[str, dict[str, Any]] = {
    "inputs[0].name": {"inputs": [{"namespace": "n", "name": None}]},
    "outputs[0].facets.schema.fields[0].name": {
        "outputs": [{"namespace": "n", "name": "t", "facets": {"schema": {"fields": [{"assertion": "a"}]}}}]
    },
    "job.name": {"job": {"namespace": "n", "name": None}},
    "run.runId": {"run": {"runId": None}},
    "run.facets.parent.run.runId": {
        "run": {"runId": "r", "facets": {"parent": {"run": {}, "job": {"namespace": "n", "name": "j"}}}}
    },
}
"""Events that Marquez refuses, by the missing member."""


@pytest.mark.parametrize("strict", [False, True])
def test_marquez_strict_answers_201_and_refuses_what_marquez_refuses(station: Station, strict: bool) -> None:
    station.receiver = Receiver(station.claims, Authenticator([WRITER]), marquez_strict=strict)
    assert station.post(data=body(run_event())).status == (201 if strict else 200)
    answers = {member: station.post(data=body(run_event() | event)) for member, event in INCOMPLETE.items()}
    refusals = [None if each.status == 200 else (each.status, refused(each)["field"]) for each in answers.values()]
    if strict:
        assert refusals == [(422, member) for member in INCOMPLETE]
    else:
        assert refusals == [None, None, (400, "job.name"), (400, "run.runId"), None]
    assert station.post(data=b"{").status == 400


def test_notes_of_refusals_wait_for_a_slow_log_and_are_written_once(station: Station, tmp_path: Path) -> None:
    station.receiver = Receiver(station.claims, Authenticator([WRITER]), RequestLimits(deadline_s=0.05))
    (segment,) = (tmp_path / "log").glob("*.sqlite")

    async def post_while_the_log_is_held_up() -> None:
        for _ in range(3):
            assert (
                await _answer(station.receiver.receive_event, Request("POST", {}, "", _chunks(b"", 1)))
            ).status == 401
        with closing(sqlite3.connect(segment, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            flush = asyncio.create_task(station.receiver.flush_refusals())
            await asyncio.sleep(0)  # the flush starts
            event = Request("POST", {"authorization": "Bearer writer-key"}, "", _chunks(body(run_event()), 4096))
            assert (await station.receiver.receive_event(event)).status == 503, "a caller does not wait that long"
            other.execute("ROLLBACK")
        await flush
        await station.receiver.flush_refusals()

    asyncio.run(post_while_the_log_is_held_up())
    notes = [json.loads(each.body) for each in station.logged() if each.kind is RecordKind.REFUSAL]
    assert sorted((note["reason"], note["count"]) for note in notes) == [("credentials", 3), ("log_unavailable", 1)]


def test_bodies_up_to_the_limit_are_taken_and_one_byte_more_is_413(station: Station) -> None:
    event = body(run_event())
    full = event + b" " * (MAX_BODY - len(event))
    assert station.post(full).status == 200
    assert station.post(gzip.compress(full), {"content-encoding": "gzip"}).status == 200
    for sent, headers in ((full + b" ", {}), (gzip.compress(full + b" "), {"content-encoding": "gzip"})):
        answer = station.post(sent, headers)
        assert answer.status == 413
        assert "spark.logicalPlan" in refused(answer)["fix"]


def test_a_length_that_is_too_large_is_413_before_the_body_is_read(station: Station) -> None:
    assert station.post(b"", {"content-length": str(MAX_BODY + 1)}).status == 413


@pytest.mark.parametrize("length", ["", "abc", "-5", "1e3", "0x10", "\u0663", "9" * 5000, " 12 ", "1_0"])
def test_a_length_that_is_no_number_is_the_servers_business_and_never_an_exception(
    station: Station, length: str
) -> None:
    assert station.post(body(run_event()), {"content-length": length}).status in (200, 400, 413)


GZIP = {"content-encoding": "gzip"}


@pytest.mark.parametrize("chunk", [1, 7, 4096])
def test_gzip_is_read_in_chunks_of_any_size_and_in_several_members(station: Station, chunk: int) -> None:
    data = body(run_event())
    members = gzip.compress(data[:50]) + gzip.compress(b"") + gzip.compress(data[50:])
    assert station.post(members, GZIP, chunk=chunk).status == 200
    assert station.logged()[0].body == data


_WHOLE = gzip.compress(body(run_event()))
BROKEN = {
    "nothing": b"", "only its first bytes": _WHOLE[:2], "cut off early": _WHOLE[:20], "cut off late": _WHOLE[:-1],
    "garbage": b"garbage", "garbage behind": _WHOLE + b"garbage", "garbage within": _WHOLE[:30] + b"\xff" + _WHOLE[31:],
    "a wrong checksum": _WHOLE[:-6] + b"\0\0" + _WHOLE[-4:],
}  # fmt: skip


@pytest.mark.parametrize("stream", BROKEN.values(), ids=BROKEN.keys())
def test_a_broken_gzip_stream_is_400(station: Station, stream: bytes) -> None:
    answer = station.post(stream, GZIP)
    assert answer.status == 400
    assert "gzip" in refused(answer)["error"]
    assert station.logged() == []


def test_an_endless_row_of_empty_gzip_members_is_413_although_it_inflates_to_nothing(station: Station) -> None:
    empty = gzip.compress(b"")
    assert station.post(empty * (MAX_BODY // len(empty) + 1), GZIP).status == 413


# Refused bodies: the fault, the reported field, the body.
BAD: list[tuple[str, str | None, bytes]] = [
    ("empty", None, b""),
    ("blank", None, b"  \n"),
    ("no JSON", None, b"hello"),
    ("cut off", None, body(run_event())[:-1]),
    ("trailing text", None, body(run_event()) + b"x"),
    ("two values", None, body(run_event()) * 2),
    ("a comment", None, body(run_event()).replace(b'"inputs"', b'/* */"inputs"')),
    ("a trailing comma", None, body(run_event())[:-1] + b",}"),
    ("single quotes", None, body(run_event()).replace(b'"', b"'")),
    ("NaN", None, with_raw(run_event(), b"NaN")),
    ("Infinity", None, with_raw(run_event(), b"Infinity")),
    ("-Infinity", None, with_raw(run_event(), b"[-Infinity]")),
    ("a leading zero", None, with_raw(run_event(), b"01")),
    ("a raw line feed in text", None, with_raw(run_event(), b'"a\nb"')),
    ("a bad escape", None, with_raw(run_event(), rb'"\x41"')),
    ("a byte order mark", None, b"\xef\xbb\xbf" + body(run_event())),
    ("UTF-16", None, body(run_event()).decode().encode("utf-16")),
    ("UTF-16 without a mark", None, body(run_event()).decode().encode("utf-16-le")),
    ("UTF-32", None, body(run_event()).decode().encode("utf-32")),
    ("Latin-1 inside a facet", None, with_raw(run_event(), b'"caf\xe9"')),
    ("a surrogate in UTF-8", None, with_raw(run_event(), b'"\xed\xa0\x80"')),
    ("overlong UTF-8", None, with_raw(run_event(), b'"\xc0\xaf"')),
    ("513 levels", None, with_raw(run_event(), b"[" * 510 + b"]" * 510)),
    ("a million levels", None, with_raw(run_event(), b"[" * 30_000 + b"]" * 30_000)),
    ("levels that never close", None, b'{"a":' * 10_000),
    ("an array", None, body([run_event()])),
    ("null", None, b"null"),
    ("a number", None, b"17"),
    ("text", None, b'"event"'),
    ("nothing", "eventTime", b"{}"),
    ("no event time", "eventTime", body({k: v for k, v in run_event().items() if k != "eventTime"})),
    ("no producer", "producer", body({k: v for k, v in run_event().items() if k != "producer"})),
    ("an empty event time", "eventTime", body(run_event(eventTime=""))),
    ("a number as event time", "eventTime", body(run_event(eventTime=1700000000))),
    ("null as producer", "producer", body(run_event(producer=None))),
    ("a list as producer", "producer", body(run_event(producer=["p"]))),
    ("no job", "job", body({k: v for k, v in run_event().items() if k != "job"})),
    ("null as job", "job", body(run_event(job=None))),
    ("a list as job", "job", body(run_event(job=[]))),
    ("no job name", "job.name", body(run_event(job={"namespace": "n"}))),
    ("no job namespace", "job.namespace", body(run_event(job={"name": "n"}))),
    ("an empty job name", "job.name", body(run_event(job={"namespace": "n", "name": ""}))),
    ("an empty run id", "run.runId", body(run_event(run={"runId": ""}))),
    ("no run id", "run.runId", body(run_event(run={}))),
    ("a number as run id", "run.runId", body(run_event(run={"runId": 5}))),
    ("text as run", "run", body(run_event(run="id"))),
    ("neither of the three", "run", body({"eventTime": "t", "producer": "p"})),
    ("a dataset without a name", "dataset.name", body(dataset_event(dataset={"namespace": "n"}))),
    ("a dataset with an empty name", "dataset.name", body(dataset_event(dataset={"namespace": "n", "name": ""}))),
    ("text as dataset", "dataset", body(dataset_event(dataset="d"))),
]


@pytest.mark.parametrize(("field", "data"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_what_is_no_event_is_400_names_the_field_and_leaves_no_trace(
    station: Station, field: str | None, data: bytes
) -> None:
    answer = station.post(data)
    assert answer.status == 400
    assert refused(answer)["field"] == field
    assert station.logged() == []


def test_what_is_no_json_is_read_once_although_it_holds_pairs_of_surrogates(station: Station) -> None:
    """Each attempt at a repair used to start another one, a thousand times."""
    for batch in (False, True):
        data = with_raw(run_event(), rb'["\ud83d\ude00",NaN]')
        answer = station.post(b"[" + data + b"]" if batch else data, batch=batch)
        assert refused(answer)["error"].startswith("The body is not valid JSON")


GOOD: list[tuple[str, bytes]] = [
    ("a job event", body(job_event())),
    ("a dataset event", body(dataset_event())),
    ("null as run", body(job_event(run=None))),
    ("an odd UUID", body(run_event(run={"runId": "abc-123"}))),
    ("no time at all", body(run_event(eventTime="yesterday"))),
    ("512 levels", with_raw(run_event(), b"[" * 509 + b"]" * 509)),
    ("duplicate keys", b'{"producer":"other",' + body(run_event())[1:]),
    ("a lone surrogate", with_raw(run_event(), rb'"\ud83d alone"')),
    ("a number beyond a double", with_raw(run_event(), b"[1e999,-1e999,1" + b"0" * 400 + b"]")),
    ("a NUL character", body(run_event(job={"namespace": "a\0b", "name": "c\0"}))),
    ("inputs that are no list", body(run_event(inputs={"namespace": "n"}))),
    ("facets that are no object", body(run_event(run={"runId": "r", "facets": [1, None]}))),
    ("unknown members", body(run_event(somethingNew={"a": [1]}))),
    ("an unknown type", body(run_event(eventType="PAUSE"))),
    ("space around it", b" \r\n\t" + body(run_event()) + b"\n"),
]


@pytest.mark.parametrize("data", [case[1] for case in GOOD], ids=[case[0] for case in GOOD])
def test_whatever_is_imperfect_inside_an_event_is_taken_as_it_stands(station: Station, data: bytes) -> None:
    assert (answer := station.post(data)).status == 200
    assert answer.body == b"{}"
    assert [record.body for record in station.logged()] == [data]


def test_an_array_of_good_events_is_204_without_a_body(station: Station) -> None:
    answer = station.post(body([run_event(), job_event(), dataset_event()]), batch=True)
    assert (answer.status, answer.body) == (204, b"")
    assert len(station.logged()) == 3


def test_an_empty_array_is_204_and_appends_nothing(station: Station) -> None:
    assert station.post(b" [ ] ", batch=True).status == 204
    assert station.logged() == []


def test_bad_items_are_named_by_index_and_the_good_ones_taken(station: Station) -> None:
    items = [b"{}", body(run_event()), b"7", body(run_event(job={"namespace": "n"})), body(job_event())]
    answer = station.post(b"[" + b",".join(items) + b"]", batch=True)
    assert answer.status == 200
    said = json.loads(answer.body)
    assert said["status"] == "partial_success"
    assert said["summary"] == {"received": 5, "successful": 2, "failed": 3, "retriable": 0, "non_retriable": 3}
    assert [item["index"] for item in said["failed_events"]] == [0, 2, 3]
    assert all(set(item) == {"index", "reason", "retriable"} for item in said["failed_events"])
    assert not any(item["retriable"] for item in said["failed_events"])
    assert [record.body for record in station.logged()] == [items[1], items[4]]


def test_a_batch_of_only_bad_items_is_still_200_partial_success(station: Station) -> None:
    answer = station.post(b"[1,{},[]]", batch=True)
    said = json.loads(answer.body)
    assert (answer.status, said["status"], said["summary"]["successful"]) == (200, "partial_success", 0)
    assert station.logged() == []


def test_a_namespace_that_is_not_allowed_fails_only_its_item(station: Station) -> None:
    job = {"namespace": "allowed", "name": "x"}
    answer = station.post(body([run_event(), run_event(job=job)]), batch=True, key="fenced-key")
    assert [item["index"] for item in json.loads(answer.body)["failed_events"]] == [0]
    assert len(station.logged()) == 1


@pytest.mark.parametrize(
    "data", [b"", b"{}", b"null", b"[", b"[,]", b"[{}", b"[]x", b"\xef\xbb\xbf[]", b"[NaN]", b'"[]"']
)
def test_a_batch_that_is_no_array_is_400_as_a_whole(station: Station, data: bytes) -> None:
    answer = station.post(data, batch=True)
    assert answer.status == 400
    refused(answer)


def test_a_batch_of_ten_thousand_is_taken_and_one_more_refuses_it_whole(tmp_path: Path) -> None:
    for station in _station(tmp_path):
        station.receiver = Receiver(station.log, Authenticator([WRITER]))
        items = [body(run_event()) for _ in range(10_001)]
        assert station.post(b"[" + b",".join(items) + b"]", batch=True, chunk=1 << 16).status == 400
        assert station.logged() == []
        assert station.post(b"[" + b",".join(items[:-1]) + b"]", batch=True, chunk=1 << 16).status == 204
        assert len(station.logged()) == 10_000


def test_a_batch_with_the_log_down_is_503_and_nothing_is_appended(full_disk: Station) -> None:
    assert full_disk.post(body([run_event(), 1]), batch=True).status == 503
    assert full_disk.logged() == []


def test_a_full_disk_gets_no_large_bodies_either(tmp_path: Path) -> None:
    for station in _station(tmp_path, min_free_bytes=ENOUGH):
        assert station.post(with_raw(run_event(), b'"' + b"x" * (40 << 10) + b'"')).status == 503
        assert list((tmp_path / "claims").iterdir()) == []


def test_wrong_paths_are_noted_at_most_once_an_interval_and_few_of_them_by_name() -> None:
    refusals = Refusals()
    for _ in range(3):
        for number in range(1_000):
            refusals.add_wrong_path(wrong_path_refusal(), f"/p{number}", None)
    first = [json.loads(record.body) for record in refusals.take_notes()]
    assert len(first) == WRONG_PATHS + 1
    assert sum(note["count"] for note in first) == 3_000
    for number in range(1_000):
        refusals.add_wrong_path(wrong_path_refusal(), f"/q{number}", None)
        refusals.add_wrong_path(wrong_path_refusal(), f"/p{number}", None)
    assert refusals.take_notes() == []
    last = [json.loads(record.body) for record in refusals.take_notes(is_last=True)]
    assert len(last) == WRONG_PATHS + 1
    assert sum(note["count"] for note in last) == 2_000
