"""Sinks of a running Headwater: started from the file, updated as it changes, killed and restarted, and displayed."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from headwater.operations.runtime.sinks import open_ledger
from headwater.operations.settings import load_settings
from tests.reference.world_events import at
from tests.support.commands import commanded
from tests.support.data.made_events import run_event
from tests.support.data.shop import EVENTS, MAILING, Asker
from tests.support.data.sink_world import events, runs
from tests.support.lake_check import rows
from tests.support.running import Running
from tests.support.servers.azurite import KEY, Storage
from tests.support.servers.sink_target import SinkServer, eventually, sink_server

pytestmark = pytest.mark.slow

TICK = ["--tick", "50ms"]


@pytest.fixture
def data(tmp_path: Path) -> Path:
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path / "data"


def write(data: Path, **sinks: Any) -> None:
    (data / "sinks.yml").write_text(json.dumps({"version": 1, "sinks": sinks}))


def started(data: Path, environment: dict[str, str] | None = None) -> Running:
    return Running(data, options=TICK, cwd=data.parent, environment=environment or {})


def post(running: Running, made: list[Any]) -> None:
    with Asker(running.url) as asker:
        assert asker.client.post("/api/v1/lineage/batch", json=made).status_code == 204


def shown(data: Path) -> dict[str, Any]:
    found = commanded("sinks", "--data", data, "--json", cwd=data.parent)
    assert found.returncode == 0, found.stderr
    return {item["name"]: item for item in json.loads(found.stdout)["items"]}


def test_sinks_come_and_go_with_the_file_and_cost_no_process_where_there_are_none(
    data: Path, server: SinkServer
) -> None:
    made = events(4)
    with started(data) as running, sink_server() as other:
        post(running, made[:2])
        assert len(running.children()) == 3
        write(data, one={"type": "openlineage", "url": server.url})
        server.wait(lambda: len(server.taken) == 2)
        write(data, one={"type": "openlineage", "url": server.url}, two={"type": "openlineage", "url": other.url})
        other.wait(lambda: len(other.taken) == 2)
        write(data, two={"type": "openlineage", "url": other.url})
        eventually(lambda: [*json.loads((data / "run" / "sinks.json").read_text())["sinks"]] == ["two"])
        post(running, made[2:])
        other.wait(lambda: len(other.taken) == 4)
        (data / "sinks.yml").write_text("version: 1\nsinks: {two: {type: openlinage}}")
        eventually(lambda: "sinks.yml, line 2" in running.stderr)
        listed = commanded("sinks", "--data", data, cwd=data.parent)
        assert (listed.returncode, "sinks.yml, line 2" in listed.stderr, " two " in listed.stdout) == (0, True, True)
        post(running, more := events(1))
        other.wait(lambda: other.taken == made + more)
        write(data)
        eventually(lambda: len(running.children()) == 3)
    assert server.taken == made[:2]
    assert runs(other.taken) == runs(made + more)


def test_a_file_at_an_address_is_looked_at_while_it_is_not_there_yet(
    data: Path, server: SinkServer, storage: Storage
) -> None:
    container = storage.container()
    options = storage.lake(container.container_name, account_key=KEY)["lake_options"]
    address = f"abfss://{container.container_name}@devstoreaccount1.dfs.core.windows.net/sinks.yml"
    environment = {"HEADWATER_SINKS": address, "HEADWATER_LAKE_OPTIONS": json.dumps(options)}
    with started(data, environment) as running:
        post(running, made := events(2))
        running.wait_pid("sinks")
        text = json.dumps({"version": 1, "sinks": {"out": {"type": "openlineage", "url": server.url}}})
        container.get_blob_client("sinks.yml").upload_blob(text)
        server.wait(lambda: server.taken == made)

        def counted() -> list[int]:
            listed = commanded("sinks", "--data", data, "--json", cwd=data.parent, environment=environment)
            return [item["delivered"] for item in json.loads(listed.stdout)["items"]]

        eventually(lambda: counted() == [2])  # the delivery is recorded after the target has accepted the event


def delivered(data: Path, name: str = "out") -> int:
    """Return how many events a sink has delivered, from its ledger. A command would cost half a second per call."""
    settings = load_settings({"data": data}, folder=data, environment={})[0]
    return open_ledger(settings).sink_counts(name).delivered


@pytest.mark.parametrize(("point", "repeated"), [("sinks.delivered", True), ("sinks.committed", False)])
def test_a_kill_repeats_one_batch_at_most(data: Path, server: SinkServer, point: str, *, repeated: bool) -> None:
    write(data, out={"type": "openlineage", "url": server.url})
    made = events(6)
    with started(data, {"HEADWATER_FAILPOINT": f"{point}:2"}) as running:
        post(running, made[:3])
        server.wait(lambda: len(server.taken) == 3)
        post(running, made[3:])
        running.wait_line("sinks exited with status -9")
        server.wait(lambda: len(server.taken) >= 6)
        eventually(lambda: delivered(data) == 6)
        assert shown(data)["out"]["behind"] == {"events": 0, "seconds": 0.0}
    again = [run for run in runs(made) if runs(server.taken).count(run) > 1]
    assert again == (runs(made[3:]) if repeated else [])


@pytest.mark.parametrize("point", ["sinks.delivered", "sinks.committed"])
def test_a_kill_repeats_nothing_in_a_delta_table(data: Path, tmp_path: Path, point: str) -> None:
    table = str(tmp_path / "runs")
    write(data, out={"type": "delta", "table": table, "every": "1ms"})
    made = events(6)
    with started(data, {"HEADWATER_FAILPOINT": f"{point}:2"}) as running:
        post(running, made[:3])
        eventually(lambda: delivered(data) == 3)
        post(running, made[3:])
        running.wait_line("sinks exited with status -9")
        eventually(lambda: delivered(data) >= 6)
        eventually(lambda: shown(data)["out"]["behind"] == {"events": 0, "seconds": 0.0})
    assert sorted(DeltaTable(table).to_pyarrow_table().column("run_id").to_pylist()) == sorted(runs(made))


def test_another_headwater_gives_the_same_answers(data: Path, tmp_path: Path) -> None:
    (tmp_path / "second").mkdir(mode=0o700)
    with started(tmp_path / "second") as second, started(data) as first:
        write(data, second={"type": "openlineage", "url": second.url, "batch": 500, "compress": True})
        asked: list[tuple[str, dict[str, str]]] = [
            ("coverage", {}), ("unused", {}), ("surface", {}), ("diff", {"from": at(25)}),
            ("impact", {"dataset": "landing/customers", "mode": "any", "paths": "true"}),
            ("upstream", {"dataset": MAILING[1]}),
        ]  # fmt: skip
        with Asker(first.url) as mine, Asker(second.url) as theirs:
            mine.post(*EVENTS)
            theirs.wait_for(f"runs/{EVENTS[-1]['run']['runId']}/lineage")
            eventually(lambda: theirs.ask("freshness")["seconds"] == 0)
            for question, parameters in asked:
                assert theirs.ask(question, **parameters) == mine.ask(question, **parameters), question
        assert ids(tmp_path / "second") == ids(data)


def ids(data: Path) -> list[str]:
    """Return the ids of a lake's events."""
    return sorted(row["event_id"] for row in rows(data, "events", ["event_id"]))


def test_commands_show_and_order_what_a_running_headwater_does(data: Path, server: SinkServer) -> None:
    write(data, out={"type": "openlineage", "url": server.url})
    with started(data) as running:
        post(running, [run_event()])
        server.wait(lambda: len(server.taken) == 1)
        assert commanded("sinks", "pause", "out", "--data", data, cwd=data.parent).returncode == 0
        eventually(lambda: shown(data)["out"]["state"] == "paused")
        post(running, [run_event()])
        with Asker(running.url) as asker:
            eventually(lambda: 'headwater_sink_behind_events{sink="out"} 1.0' in asker.client.get("/metrics").text)
        eventually(lambda: shown(data)["out"]["behind"]["events"] == 1)
        assert len(server.taken) == 1
        assert commanded("sinks", "resume", "out", "--data", data, cwd=data.parent).returncode == 0
        server.wait(lambda: len(server.taken) == 2)
        assert commanded("sinks", "reset", "out", "--to", "start", "--data", data, cwd=data.parent).returncode == 0
        server.wait(lambda: len(server.taken) == 4)
    item = shown(data)["out"]
    assert (item["state"], item["delivered"], item["failed"], item["trouble"]) == ("not running", 4, 0, None)
    wrong = commanded("sinks", "reset", "out", "--to", "0:x", "--data", data, cwd=data.parent)
    assert (wrong.returncode, "a position such as 0:2" in wrong.stderr) == (3, True)
    unknown = commanded("sinks", "check", "outt", "--data", data, cwd=data.parent)
    assert (unknown.returncode, "No sink 'outt'" in unknown.stderr) == (3, True)


def test_killed_again_and_again_under_load_each_event_arrives_and_a_second_headwater_equals_the_first(
    data: Path, tmp_path: Path, server: SinkServer
) -> None:
    (tmp_path / "second").mkdir(mode=0o700)
    made = [run_event(eventType=state, run=start["run"]) for start in events(60) for state in ("START", "COMPLETE")]
    with started(tmp_path / "second") as second, started(data) as running:
        write(
            data,
            out={"type": "openlineage", "url": server.url, "rate": 200},
            second={"type": "openlineage", "url": second.url, "batch": 10, "rate": 200},
        )
        pid = running.wait_pid("sinks")
        for number in range(6):
            post(running, made[number * 20 : number * 20 + 20])
            server.wait(lambda number=number: len({*map(str, server.taken)}) > number * 20)  # type: ignore[misc]
            os.kill(pid, signal.SIGKILL)
            pid = running.wait_pid("sinks", other_than=pid)
        server.wait(lambda: len({*map(str, server.taken)}) == len(made))
        eventually(lambda: delivered(data, "second") >= len(made))
        with Asker(second.url) as asker:
            eventually(lambda: asker.ask("audit")["stored"] == len(made))
            assert asker.ask("audit")["rejected"] == 0
    for run in {*runs(made)}:
        states = [event["eventType"] for event in server.taken if event["run"]["runId"] == run]
        assert states.index("START") < states.index("COMPLETE")
