"""With a damaged file in bronze, events are still acknowledged, and audit, health and metrics report the file."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from headwater.common.errors import LakeUnavailable
from tests.support.commands import commanded
from tests.support.data.made_events import body, run_event
from tests.support.data.parsing import World, event
from tests.support.http_client import Gateway, running

pytestmark = pytest.mark.slow  # each test starts `headwater up` twice

ONE = "/api/v1/lineage"


def _audit_with(gateway: Gateway, text: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    with gateway.client() as client:
        while True:
            answer = client.get("/api/headwater/v1/audit").json()
            # the audit returns an error if it needs the same file
            said = f"{answer.get('trouble')} {answer.get('error')}"
            if text in said and "The parser has stopped" in said:
                return dict(answer)
            assert time.monotonic() < deadline, (answer, gateway.said())
            time.sleep(0.05)


def test_a_damaged_parquet_file_is_named_while_events_are_acknowledged(tmp_path: Path) -> None:
    with running(tmp_path) as gateway, gateway.client() as client:
        client.post(ONE, content=body(run_event())).raise_for_status()
        gateway.settled()
    (file,) = (tmp_path / "lake" / "bronze" / "events").rglob("part-*.parquet")
    whole = file.read_bytes()
    file.write_bytes(whole[:-200] + bytes(each ^ 0x55 for each in whole[-200:-8]) + whole[-8:])
    with running(tmp_path) as gateway, gateway.client() as client:
        client.post(ONE, content=body(run_event())).raise_for_status()
        _audit_with(gateway, f"{file.name} is damaged")
        ready = client.get("/health/ready")
        assert ready.status_code == 200, "the receiver can append to the log"
        assert file.name in ready.json()["components"]["parser"]
        assert "headwater_parser_in_trouble 1.0" in client.get("/metrics").text
        told = commanded("audit", "--data", tmp_path)
        assert (told.returncode, "Traceback" in told.stderr) == (3, False)
        assert f"{file.name} is damaged" in told.stderr.replace("\n", "")
        file.write_bytes(whole)
        audit = gateway.settled()
        assert audit | {"stored": 2, "balanced": True, "trouble": None} == audit


@pytest.mark.parametrize("pattern", ["*/_delta_log/0*1.json", "*/*/part-*.parquet"])
def test_a_silently_damaged_file_is_named_by_parser_index_and_sinks(tmp_path: Path, pattern: str) -> None:
    target = tmp_path / "sent"
    (tmp_path / "sinks.yml").write_text(f"version: 1\nsinks:\n  copy: {{type: file, folder: {target}}}\n")
    with running(tmp_path) as gateway, gateway.client() as client:
        client.post(ONE, content=body(run_event())).raise_for_status()
        gateway.settled()
    (file,) = (tmp_path / "lake" / "bronze").glob(f"events{pattern[1:]}")
    whole = file.read_bytes()
    file.write_bytes(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    shutil.rmtree(tmp_path / "index")  # makes the index read the file again
    with running(tmp_path) as gateway, gateway.client() as client:
        client.post(ONE, content=body(run_event())).raise_for_status()
        _audit_with(gateway, f"{file.name} is damaged")
        _told(gateway, "/health/ready", lambda answer: file.name in answer.json()["components"]["index"])
        assert client.get("/health/ready").status_code == 200, "the receiver can append to the log"
        _told(gateway, "/metrics", lambda answer: "headwater_index_in_trouble 1.0" in answer.text)
        (sink,) = client.get("/api/headwater/v1/sinks").raise_for_status().json()["items"]
        assert (sink["state"], file.name in sink["trouble"]) == ("waiting", True)
        shown = commanded("sinks", "--json", "--data", tmp_path)
        assert (shown.returncode, file.name in shown.stdout) == (0, True), shown.stderr
        file.write_bytes(whole)
        gateway.settled()
        _told(gateway, "/metrics", lambda answer: "headwater_index_in_trouble 0.0" in answer.text)


def _told(gateway: Gateway, path: str, is_so: Callable[[httpx.Response], bool]) -> None:
    deadline = time.monotonic() + 30
    with gateway.client() as client:
        while not is_so(answer := client.get(path)):
            assert time.monotonic() < deadline, (answer.text, gateway.said())
            time.sleep(0.05)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"\"name\":\"partition\"", r"\"name\":\"paqtition\"", "has no column 'partition'"),
        ('"stats":', '"stat{":', "lacks 'num_records' of some files"),
    ],
    ids=["schema", "statistics"],
)
def test_a_delta_log_that_lost_what_every_writer_notes_is_refused(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    world = World(tmp_path / "data")
    world.append(event(1), event(2))
    world.parser().commit_next()
    events = tmp_path / "data" / "lake" / "bronze" / "events"
    (events / "_headwater" / "checksums").unlink()  # as in a lake of an older version
    for entry in (events / "_delta_log").glob("*.json"):
        entry.write_text(entry.read_text().replace(old, new))
    again = World(tmp_path / "data")
    with pytest.raises(LakeUnavailable, match=told):
        _rows_and_audit(again)


def _rows_and_audit(world: World) -> None:
    world.bronze.events.run_query("SELECT partition FROM t")
    world.audit()
