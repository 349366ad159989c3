"""The OneLake transport under Spark's real listener, two versions of it: what is emitted lands, whatever happens."""

import json
import os
import re
import signal
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.spark.onelake_session import JOBS, LAKEHOUSE, Session
from tools.jars import listeners

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

AGAIN = pytest.mark.long
NEWEST = "1.53.0"
OLDER = tuple(version for version in listeners() if version != NEWEST)  # for Spark 4 there is none
LISTENERS = (
    pytest.param(NEWEST, marks=pytest.mark.producers),
    *(pytest.param(version, marks=AGAIN) for version in OLDER),
)
NAME = re.compile(r"\d{13}-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}-(\d+)events\.ndjson")
ENDS = ("stop", "exit")
LOUD = "LINEAGE CANNOT BE STORED"


@pytest.mark.long  # `test_notebook_doors` has it shorter
@pytest.mark.parametrize(("listener", "end"), [(NEWEST, "stop"), *((older, end) for older in OLDER for end in ENDS)])
def test_what_the_listener_emits_lands_whole_and_once(listener: str, end: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    session.run(end, session.witnessed(**LAKEHOUSE, batchSize="4"))

    assert session.landed() == session.emitted()
    assert session.emitted().total() > JOBS
    are_named_by_what_they_hold(session)
    assert not list(session.folder.rglob("*.tmp"))


def are_named_by_what_they_hold(session: Session) -> None:
    for file in session.files():
        named = NAME.fullmatch(file.name)
        assert named
        assert int(named[2]) == len(file.read_text("utf-8").splitlines()) <= 4
        day = time.strftime("%Y-%m-%d", time.gmtime(int(file.name[:13]) / 1000))
        assert file.parent == session.folder / f"onelake/Sales/Shop.Lakehouse/Files/lineage/dt={day}"


# that all lands `test_notebook_doors` holds, and the transport's own tests what is in its queue and how files are named
@pytest.mark.parametrize("listener", LISTENERS)
def test_a_kill_loses_at_most_what_is_in_the_queue(listener: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    settings = session.witnessed(**LAKEHOUSE, batchSize="4", flushIntervalSeconds="3600")
    with session.start("wait", settings) as process:
        assert process.stdout
        java = int(process.stdout.readline())
        whole = session.emitted().total() // 4 * 4
        while session.landed().total() < whole:
            time.sleep(0.1)
        os.kill(java, signal.SIGKILL)
        process.kill()

    lost = session.emitted() - session.landed()
    assert not session.landed() - session.emitted()
    assert session.landed().total() >= 4
    assert lost.total() < 4
    are_named_by_what_they_hold(session)


@pytest.mark.long  # the transport's own tests fill its queue and hold its store up; `test_spark_ingest` takes losses
def test_a_full_queue_drops_and_counts_and_the_count_arrives_when_the_store_is_back(tmp_path: Path) -> None:
    session = Session(tmp_path / "session", NEWEST)
    store = session.folder / "onelake"
    with session.start("again", session.witnessed(**LAKEHOUSE, batchSize="2", queueCapacity="3")) as process:
        store.write_text("a store that takes nothing: no folder can be made below it")
        assert process.stdout
        process.stdout.readline()
        assert session.emitted().total() > 3
        store.unlink()
        while not session.files():
            time.sleep(0.1)
        process.communicate("\n", timeout=600)
    assert process.returncode == 0, session.errors.read_text()

    losses = [json.loads(line)["headwater"] for line in session.landed() if line.startswith('{"headwater"')]
    events = Counter({line: n for line, n in session.landed().items() if not line.startswith('{"headwater"')})
    lost = session.emitted() - events
    assert not events - session.emitted()
    assert sum(told["dropped"] for told in losses) == lost.total() > 0
    assert {(told["applicationName"], told["namespace"]) for told in losses} == {("nightly", "fabric/Sales")}
    assert list(session.emitted())[-1] in events  # what comes after the outage lands
    assert not list(session.folder.rglob("*.tmp"))


@pytest.mark.long  # what is refused the transport's own tests hold
@pytest.mark.parametrize("listener", [NEWEST, *OLDER])
def test_names_and_guids_mixed_are_refused_with_the_reason_and_no_job_is_harmed(listener: str, tmp_path: Path) -> None:
    session = Session(tmp_path / "session", listener)
    mixed = {"workspace": "Sales", "lakehouse": "7c1d5b20-0000-4000-8000-0000000000c1"}
    session.run("stop", {"type": "onelake", **mixed})
    said = session.errors.read_text()
    assert said.count("one is a name and one a GUID, which OneLake does not resolve") == 1
    assert "NO LINEAGE IS WRITTEN" in said
    assert not session.files()


@pytest.mark.long  # what is said then the transport's own tests hold
def test_a_store_out_of_reach_is_said_once_and_loudly_and_no_job_is_harmed(tmp_path: Path) -> None:
    session = Session(tmp_path / "session", "1.53.0")
    session.run("stop", {"type": "onelake", "location": "s3a://bucket-without-a-token", "closeTimeoutSeconds": "1"})
    said = session.errors.read_text()
    assert said.count(LOUD) == 1
    assert re.search(r"ERROR.*LINEAGE CANNOT BE STORED at s3a://bucket-without-a-token/lineage\. .* The reason: ", said)
    assert re.search(r"\d+ LINEAGE EVENTS ARE LOST", said)
