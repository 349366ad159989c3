"""`headwater show` displays files on the page, read-only, and leaves no files behind."""

import signal
from pathlib import Path

import httpx
import pytest

from tests.support.commands import commanded
from tests.support.paths import EVENTS
from tests.support.running import LISTENS, started
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # starts Headwater

RECORDED = EVENTS / "compat-spark-dataproc-complete.ndjson"


def test_files_are_served_read_only_and_deleted_afterwards(tmp_path: Path) -> None:
    places = {name: tmp_path / name for name in ("temporary", "data", "lake")}
    places["temporary"].mkdir()
    broken = tmp_path / "broken.ndjson"
    broken.write_text("no event\n")
    environment = {
        "TMPDIR": str(places["temporary"]), "HEADWATER_DATA": str(places["data"]),
        "HEADWATER_LAKE": str(places["lake"]), "HEADWATER_PORT": "5000",
    }  # fmt: skip
    process = started("show", RECORDED, broken, "--no-browser", environment=environment)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert (" events, read-only · stop with Ctrl-C" in line, "1 line is not an event" in line) == (True, False)
        with httpx.Client(base_url=line.split(LISTENS)[1].split()[0]) as client:
            while (answer := client.get("/api/headwater/v1/datasets")).status_code == 503:
                rest()
            assert "warehouse/t2" in answer.text
            for path in ("/api/v1/lineage", "/api/headwater/v1/rejected/retry", "/api/v1/namespaces/x", "/lineage"):
                refused = client.post(path, json={})
                assert (refused.status_code, refused.json()["error"]) == (403, "This server is read-only.")
            assert client.put("/api/v1/namespaces/x", json={"ownerName": "x"}).status_code == 403
            assert client.get("/api/headwater/v1/audit").json()["rejected"] == 1
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, "1 line is not an event" in errors) == (0, True)
    assert [*places["temporary"].iterdir()] == []
    assert not places["data"].exists()
    assert not places["lake"].exists()


def test_a_file_without_events_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("no event\n")
    outcome = commanded("show", file, "--no-browser", cwd=tmp_path)
    assert outcome.returncode == 3
    assert "is an OpenLineage event. Run `headwater validate FILE`" in outcome.stderr
