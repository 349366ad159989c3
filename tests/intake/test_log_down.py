"""A log that cannot be written: 503 in time, no acknowledged event is lost, and the log recovers by itself."""

import asyncio
import resource
from collections.abc import Iterator

import httpx
import pytest

from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from tests.support.cleanup import until_end
from tests.support.data.made_events import body, run_event, with_raw
from tests.support.http_client import Gateway, running
from tests.support.lake_check import bronze_of

ONE, BATCH = "/api/v1/lineage", "/api/v1/lineage/batch"
IN_TIME_S = 2.5
ENOUGH = 1 << 60
"""More free bytes than any disk has."""


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with running(tmp_path_factory.mktemp("full") / "data", min_free_bytes=ENOUGH) as started:
        yield started


@pytest.mark.slow
def test_a_disk_that_is_nearly_full_is_503_in_time_and_nothing_is_appended(full: Gateway) -> None:
    large = with_raw(run_event(), b'"' + b"x" * (2 << 20) + b'"')
    with httpx.Client(base_url=full.url, timeout=IN_TIME_S) as client:
        for path, data in ((ONE, body(run_event())), (BATCH, body([run_event()] * 50)), (ONE, large)):
            answer = client.post(path, content=data)
            assert answer.status_code == 503
            assert set(answer.json()) == {"error", "field", "fix"}
            assert "free" in answer.json()["error"]
            assert "retry-after" not in answer.headers
        assert client.post(ONE, content=b"{").status_code == 400, "an invalid event is refused as invalid, not with 503"
        assert client.post(BATCH, content=b"[]").status_code == 204
    assert until_end(SqliteLogReader(full.folder / "log")).tail() == 0
    assert list((full.folder / "claims").iterdir()) == []


@pytest.mark.slow
def test_a_disk_that_is_nearly_full_is_alive_but_not_ready_and_says_why(full: Gateway) -> None:
    with full.client() as client:
        assert client.get("/health/live").status_code == 200
        ready = client.get("/health/ready")
        assert ready.status_code == 503
        assert ready.json()["ready"] is False
        assert "MiB are free" in ready.json()["components"]["log"]
        assert client.get("/metrics").status_code == 200


@pytest.mark.slow
def test_writes_that_fail_are_503_and_when_they_work_again_so_does_everything(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running(tmp_path_factory.mktemp("failing") / "data") as gateway:
        pid, acknowledged = gateway.serve_pid(), []
        with httpx.Client(base_url=gateway.url, timeout=IN_TIME_S * 2) as client:
            acknowledged += [take(client, 200) for _ in range(20)]
            before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            for limit in (0, 64 << 10):
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (limit, before[1]))
                spent = [client.post(ONE, content=body(run_event())).status_code for _ in range(40)]
                assert spent[-1] == 503
                assert set(spent) <= {200, 503}
                assert client.post(BATCH, content=body([run_event()] * 20)).status_code == 503
                assert client.post(ONE, content=with_raw(run_event(), b'"%b"' % (b"x" * (2 << 20)))).status_code == 503
                assert client.get("/health/live").status_code == 200
                assert client.get("/health/ready").status_code == 503
                resource.prlimit(pid, resource.RLIMIT_FSIZE, before)
                acknowledged += [take(client, 200) for _ in range(20)]
                assert client.get("/health/ready").status_code == 200
        assert gateway.serve_pid() == pid, "the process was restarted"
        audit = gateway.settled()
        assert audit["balanced"]
        assert audit["refused"] >= 6
        assert stored_runs(gateway) >= set(acknowledged)


@pytest.mark.slow
def test_the_log_under_a_crowd_loses_nothing_when_writes_fail_in_between(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with running(tmp_path_factory.mktemp("crowd") / "data") as gateway:
        acknowledged = asyncio.run(_crowd(gateway))
        assert len(acknowledged) > 100
        audit = gateway.settled()
        assert audit["balanced"]
        found = stored_runs(gateway)
        assert found >= acknowledged
        assert audit["stored"] == len(found), "an event is stored twice"


async def _crowd(gateway: Gateway) -> set[str]:
    """Post from 8 clients while writes fail three times. Returns the acknowledged runs."""
    pid, acknowledged = gateway.serve_pid(), set()
    reached = {enough: asyncio.Event() for enough in (30, 90, 150)}
    async with httpx.AsyncClient(base_url=gateway.url, timeout=20) as client:

        async def post_many() -> None:
            for _ in range(40):
                event = run_event()
                answer = await client.post(ONE, content=body(event))
                assert answer.status_code in (200, 503)
                if answer.status_code == 200:
                    acknowledged.add(event["run"]["runId"])
                for enough, event_reached in reached.items():
                    if len(acknowledged) >= enough:
                        event_reached.set()

        async def spoil() -> None:
            before = resource.prlimit(pid, resource.RLIMIT_FSIZE)
            for event_reached in reached.values():
                await event_reached.wait()
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, before[1]))
                while (await client.post(ONE, content=body(run_event()))).status_code == 200:
                    pass
                resource.prlimit(pid, resource.RLIMIT_FSIZE, before)

        await asyncio.gather(spoil(), *(post_many() for _ in range(8)))
    return acknowledged


def take(client: httpx.Client, status: int) -> str:
    """Post one event, check its answer and return its run."""
    event = run_event()
    assert client.post(ONE, content=body(event)).status_code == status
    return str(event["run"]["runId"])


def stored_runs(gateway: Gateway) -> set[str]:
    """Return the runs in the lake."""
    found = bronze_of(gateway.folder).events.run_query("SELECT run_id FROM t")
    return set(found.column("run_id").to_pylist())
