"""SIGTERM with requests in flight: acknowledged events are stored, and requests in progress are answered."""

import contextlib
import http.client
import threading
from pathlib import Path

import pytest

from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from tests.support.cleanup import until_end
from tests.support.data.made_events import body, run_event
from tests.support.http_client import Gateway, Wire, post, running
from tests.support.lake_check import bronze_of

pytestmark = pytest.mark.slow  # each test stops a server under load

CLIENTS = 8


def test_every_event_acknowledged_around_a_stop_is_there_afterwards(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        acknowledged: list[str] = []
        statuses: set[int] = set()
        enough = threading.Event()
        clients = [
            threading.Thread(target=_post_until_it_stops, args=(gateway, acknowledged, statuses, enough))
            for _ in range(CLIENTS)
        ]
        for client in clients:
            client.start()
        assert enough.wait(30)
        gateway.process.terminate()
        assert gateway.process.wait(30) == 0
        for client in clients:
            client.join(30)
    assert statuses <= {200, 503}
    assert len(acknowledged) > 200
    assert _runs(gateway) >= set(acknowledged)


def test_a_body_half_sent_when_the_stop_comes_is_read_to_its_end_and_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway:
        event = run_event()
        request = post(body(event))
        with Wire(gateway.port) as half, Wire(gateway.port) as idle:
            half.send(request[:-50])
            assert idle.send(post(body(run_event()))).status() == 200
            gateway.process.terminate()
            assert idle.closed(), "the shutdown has started"
            assert half.send(request[-50:]).status() == 200
            assert half.closed()
        assert gateway.process.wait(30) == 0
    assert event["run"]["runId"] in _runs(gateway)


def test_a_body_that_never_ends_is_503_when_the_stop_has_waited_long_enough(tmp_path: Path) -> None:
    with running(tmp_path / "data") as gateway, Wire(gateway.port) as half:
        half.send(post(body(run_event()))[:-50])
        gateway.process.terminate()
        assert half.status() == 503
        assert gateway.process.wait(30) == 0
    assert "Traceback" not in gateway.said()


def _post_until_it_stops(
    gateway: Gateway, acknowledged: list[str], statuses: set[int], enough: threading.Event
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=30)
    with contextlib.suppress(OSError, http.client.HTTPException):  # the server has stopped
        while True:
            event = run_event()
            connection.request("POST", "/api/v1/lineage", body(event))
            answer = connection.getresponse()
            answer.read()
            statuses.add(answer.status)
            if answer.status == 200:
                acknowledged.append(event["run"]["runId"])
            if len(acknowledged) > 200:
                enough.set()
    connection.close()


def _runs(gateway: Gateway) -> set[str]:
    """Return the runs in the lake, and the pending ones in the log."""
    bronze, reader = bronze_of(gateway.folder), until_end(SqliteLogReader(gateway.folder / "log"))
    found, watermark = set(), 0
    if bronze.events.exists():
        found = set(bronze.events.run_query("SELECT run_id FROM t").column("run_id").to_pylist())
        watermark = bronze.watermark(reader.source)
    pending = reader.read(watermark, limit=100_000, max_bytes=1 << 40)
    reader.close()
    return found | {record.body.split(b'"runId":"')[1].split(b'"')[0].decode() for record in pending}
