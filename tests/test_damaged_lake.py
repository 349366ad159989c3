"""A damaged file of bronze: events are still acknowledged, and audit, health and metrics name the file."""

import time
from pathlib import Path
from typing import Any

import pytest

from headwater.errors import LakeUnavailable
from tests.commanding import commanded
from tests.gateway import Gateway, running
from tests.made_events import body, run_event
from tests.parsing import World, event

pytestmark = pytest.mark.slow  # each starts `headwater up` twice

ONE = "/api/v1/lineage"


def _audit_with(gateway: Gateway, text: str) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    with gateway.client() as client:
        while True:
            answer = client.get("/api/headwater/v1/audit").json()
            said = f"{answer.get('trouble')} {answer.get('error')}"  # an error where the audit needs the same file
            if text in said and "The parser cannot go on" in said:
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


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (r"\"name\":\"partition\"", r"\"name\":\"paqtition\"", "names no column 'partition'"),
        ('"stats":', '"stat{":', "does not say 'num_records' of each file"),
    ],
    ids=["schema", "statistics"],
)
def test_a_delta_log_that_lost_what_every_writer_notes_is_refused(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    world = World(tmp_path / "data")
    world.append(event(1), event(2))
    world.parser().step()
    events = tmp_path / "data" / "lake" / "bronze" / "events"
    (events / "_headwater" / "checksums").unlink()  # as in a lake of an older version
    for entry in (events / "_delta_log").glob("*.json"):
        entry.write_text(entry.read_text().replace(old, new))
    again = World(tmp_path / "data")
    with pytest.raises(LakeUnavailable, match=told):
        _rows_and_audit(again)


def _rows_and_audit(world: World) -> None:
    world.bronze.events.query("SELECT partition FROM t")
    world.audit()
