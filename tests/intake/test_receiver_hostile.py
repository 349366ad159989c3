"""Malicious bodies: the documented status, constant memory, no lost events, and the next valid request works."""

import functools
import json
import struct
import threading
import zlib
from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.data.made_events import body, run_event, with_raw
from tests.support.http_client import Gateway, Wire, chunked, post, running
from tests.support.lake_check import bronze_of

pytestmark = pytest.mark.slow
GZIP = "Content-Encoding: gzip"
MIB = 1 << 20


@pytest.fixture(scope="module")
def running_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("hostile") / "data") as started:
        yield started


@pytest.fixture
def gateway(running_gateway: Gateway) -> Iterator[Gateway]:
    """Provide the gateway, and check after every test that the next valid request is accepted."""
    pid = running_gateway.serve_pid()
    yield running_gateway
    assert send(running_gateway, post(body(run_event()))) == 200
    assert running_gateway.serve_pid() == pid, "the process was restarted"


def send(gateway: Gateway, request: bytes) -> int:
    """Send a request on a new connection and return the status of its answer."""
    with Wire(gateway.port) as wire:
        return wire.send(request).status()


def send_json(gateway: Gateway, data: bytes, *headers: str, path: str = "/api/v1/lineage") -> tuple[int, str]:
    """Send a body. Returns the status and the error message."""
    with Wire(gateway.port) as wire:
        status, _, answer = wire.send(post(data, *headers, path=path)).reply()
    return status, json.loads(answer).get("error", "") if answer else ""


@functools.cache
def bomb() -> bytes:
    """Return a gibibyte of spaces as about a mebibyte of valid gzip."""
    mebibyte, packer = b" " * MIB, zlib.compressobj(9, zlib.DEFLATED, -15)
    # the block is self-contained, so it can be repeated
    block = packer.compress(mebibyte) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = functools.reduce(lambda sum_, _: zlib.crc32(mebibyte, sum_), range(1024), 0)
    head = b"\x1f\x8b\x08" + bytes(6) + b"\xff"
    return head + block * 1024 + packer.flush() + struct.pack("<II", checksum, 1 << 30)


def test_a_gzip_bomb_is_413_and_memory_stays_flat(gateway: Gateway) -> None:
    packed = bomb()
    assert 0.9 * MIB < len(packed) < 1.1 * MIB
    assert send(gateway, post(body(run_event()))) == 200
    before = gateway.peak_kib()
    parts = [packed[start : start + 5000] for start in range(0, len(packed), 5000)]
    assert send(gateway, post(packed, GZIP)) == 413
    assert send(gateway, post(chunked(*parts), GZIP, "Transfer-Encoding: chunked", length=-1)) == 413
    assert send(gateway, post(packed, GZIP, path="/api/v1/lineage/batch")) == 413
    assert gateway.peak_kib() - before < 64 << 10


def test_a_bomb_delays_nobody_for_long_because_it_inflates_in_turns(gateway: Gateway) -> None:
    packed, answers = bomb(), []
    bombers = [threading.Thread(target=lambda: answers.append(send(gateway, post(packed, GZIP)))) for _ in range(4)]
    for bomber in bombers:
        bomber.start()
    assert [send(gateway, post(body(run_event()))) for _ in range(20)] == [200] * 20
    for bomber in bombers:
        bomber.join()
    assert answers == [413] * 4


DEEP: dict[str, bytes] = {
    "a million arrays": b"[" * 1_000_000,
    "a million closed arrays": b"[" * 1_000_000 + b"]" * 1_000_000,
    "a million objects": b'{"a":' * 1_000_000,
    "in a facet": with_raw(run_event(), b"[" * 1_000_000 + b"]" * 1_000_000),
    "objects in a facet": with_raw(run_event(), b'{"a":' * 1_000_000 + b"1" + b"}" * 1_000_000),
    "in an item of a batch": b"[" + with_raw(run_event(), b"[" * 1_000_000 + b"]" * 1_000_000) + b"]",
}


@pytest.mark.parametrize("data", DEEP.values(), ids=DEEP.keys())
def test_json_a_million_levels_deep_is_400(gateway: Gateway, data: bytes) -> None:
    assert send_json(gateway, data)[0] == 400
    assert send_json(gateway, data, path="/api/v1/lineage/batch")[0] == 400


def _without_half(data: bytes) -> bytes:
    return data.replace(b"HALF", b"\xe2\x82")


NOT_TEXT: dict[str, bytes] = {
    "invalid UTF-8 in a facet": with_raw(run_event(), b'{"a":"\xff"}'),
    "half a character in a facet": _without_half(with_raw(run_event(), b'{"a":"HALF"}')),
    "invalid UTF-8 in a facet's name": with_raw(run_event(), b'{"\xc3\x28":1}'),
    "invalid UTF-8 in an input": body(run_event(inputs=[{"namespace": "n", "name": "HALF"}])).replace(
        b"HALF", b"\xe2\x82"
    ),
    "NaN": with_raw(run_event(), b"NaN"),
    "Infinity": with_raw(run_event(), b"-Infinity"),
    "a byte order mark": b"\xef\xbb\xbf" + body(run_event()),
    "UTF-16 with a mark": body(run_event()).decode().encode("utf-16"),
    "UTF-16 without": body(run_event()).decode().encode("utf-16-be"),
    "zeros": b"\0" * MIB,
    "a picture": b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 100,
    "gzip that is not declared": zlib.compress(body(run_event()), wbits=31),
    "text twice as large as a thread takes": b'"' + b"x" * (2 * MIB),
}


@pytest.mark.parametrize("data", NOT_TEXT.values(), ids=NOT_TEXT.keys())
def test_what_is_no_json_text_is_400(gateway: Gateway, data: bytes) -> None:
    assert send_json(gateway, data)[0] == 400
    assert send_json(gateway, b"[" + data + b"]", path="/api/v1/lineage/batch")[0] in (200, 400)


STREAMS: dict[str, bytes] = {
    "cut off": zlib.compress(body(run_event()), wbits=31)[:-9],
    "without its trailer": zlib.compress(body(run_event()), wbits=31)[:-8],
    "zlib instead of gzip": zlib.compress(body(run_event())),
    "garbage": b"\x1f\x8b\x08\x00" + bytes(range(256)),
    "empty": b"",
    "plain": body(run_event()),
}


@pytest.mark.parametrize("data", STREAMS.values(), ids=STREAMS.keys())
def test_a_gzip_stream_that_is_none_is_400(gateway: Gateway, data: bytes) -> None:
    status, said = send_json(gateway, data, GZIP)
    assert (status, "gzip" in said) == (400, True)


def wide_event(columns: int, inputs: int) -> dict[str, Any]:
    """Return an event whose output has `columns` columns, each made from one column of every input."""
    sources = [{"namespace": "n", "name": f"input-{number}", "field": "c"} for number in range(inputs)]
    fields = {f"column-{number}": {"inputFields": sources} for number in range(columns)}
    lineage = {"_producer": "p", "_schemaURL": "u", "fields": fields}
    output = {"namespace": "n", "name": "wide", "facets": {"columnLineage": lineage}}
    return run_event(
        inputs=[{"namespace": "n", "name": f"input-{number}"} for number in range(inputs)], outputs=[output]
    )


def test_five_thousand_columns_of_twenty_inputs_land_as_a_hundred_thousand_edges(gateway: Gateway) -> None:
    event = wide_event(5_000, 20)
    assert send(gateway, post(body(event))) == 200
    gateway.settled()
    bronze = bronze_of(gateway.folder)
    stored = bronze.events.run_query(
        f"SELECT outputs[1]['lineage_hash'] AS hash, body FROM t WHERE run_id = '{event['run']['runId']}'"
    ).to_pylist()
    assert len(stored) == 1
    assert stored[0]["body"].encode() == body(event)
    edges = bronze.tables["column_lineage"].run_query(
        "SELECT count(*) AS n, count(DISTINCT output_field) AS columns, count(DISTINCT input_name) AS inputs "
        f"FROM t WHERE lineage_hash = '{stored[0]['hash']}'"
    )
    assert edges.to_pylist() == [{"n": 100_000, "columns": 5_000, "inputs": 20}]


def test_ten_thousand_inputs_are_taken_and_all_are_there(gateway: Gateway) -> None:
    event = run_event(inputs=[{"namespace": "n", "name": f"input-{number}"} for number in range(10_000)])
    assert send(gateway, post(body(event))) == 200
    gateway.settled()
    found = bronze_of(gateway.folder).events.run_query(
        f"SELECT array_length(inputs) AS n FROM t WHERE run_id = '{event['run']['runId']}'"
    )
    assert found.to_pylist() == [{"n": 10_000}]


def test_a_body_of_31_mib_lands_whole_and_one_of_33_mib_is_413(gateway: Gateway) -> None:
    large = with_raw(event := run_event(), b'{"plan":"' + b"x" * (31 * MIB) + b'"}')
    before = set((gateway.folder / "claims").iterdir())
    assert send(gateway, post(large)) == 200
    (claim,) = set((gateway.folder / "claims").iterdir()) - before
    assert claim.stat().st_size == len(large)
    assert send(gateway, post(large + b" " * (2 * MIB))) == 413
    spread = [large[start : start + MIB] for start in range(0, len(large), MIB)]
    too_large = post(chunked(*spread, b" " * (2 * MIB)), "Transfer-Encoding: chunked", length=-1)
    assert send(gateway, too_large) == 413
    gateway.settled()
    found = bronze_of(gateway.folder).events.run_query(
        f"SELECT octet_length(body) AS n FROM t WHERE run_id = '{event['run']['runId']}'"
    )
    assert found.to_pylist() == [{"n": len(large)}]


def test_at_the_end_everything_acknowledged_is_stored_and_every_refusal_counted(gateway: Gateway) -> None:
    audit = gateway.settled()
    assert audit["balanced"]
    assert audit["received"] == audit["stored"] + audit["duplicates"]
    assert (audit["duplicates"], audit["rejected"], audit["pending"]) == (0, 0, 0)
    said = gateway.said()
    assert "Traceback" not in said
    assert "Exception" not in said
