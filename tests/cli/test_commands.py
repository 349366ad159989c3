"""The command line from a new user's view: errors in one clear line, and the documented exit statuses."""

import json
import socket
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from headwater.common.durations import parse_duration_s
from headwater.common.errors import InvalidEvent, WrongSetting
from headwater.intake.parser.bronze_batch import build_rejection_batch
from tests.support.commands import commanded
from tests.support.data.parsing import World
from tests.support.data.samples import body, run_event
from tests.support.paths import EVENTS, ROOT
from tests.support.running import Running
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # starts Headwater and runs commands


@contextmanager
def up(folder: Path) -> Iterator[str]:
    with Running(folder, options=["--tick", "100ms"], cwd=folder.parent) as running:
        yield running.url


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Provide a running Headwater for tests that can share one. One of the tests posts events."""
    folder = tmp_path_factory.mktemp("here")
    with Running(folder / "data", options=["--tick", "100ms"], cwd=folder) as running:
        yield running


def fails_in_one_line(outcome: subprocess.CompletedProcess[str], *words: str, status: int = 3) -> None:
    assert outcome.returncode == status, outcome
    lines = [line for line in outcome.stderr.splitlines() if line]
    assert len(lines) == 1, outcome.stderr
    assert all(word in lines[0] for word in words), lines[0]


def test_one_command_takes_an_event_and_the_next_ones_find_it(tmp_path: Path) -> None:
    data = tmp_path / "data"
    with up(data) as url:
        sent = commanded("send", EVENTS / "spec-full-event.ndjson", "--server", url, "--json", cwd=tmp_path)
        assert (sent.returncode, json.loads(sent.stdout)["accepted"]) == (0, 5)
        with httpx.Client(base_url=url) as client:
            while client.get("/api/headwater/v1/audit").json()["pending"]:
                rest()
            assert client.get("/api/headwater/v1/freshness").json()["log"] == 0
            found = client.get("/api/headwater/v1/events", params={"limit": 2}).json()
        assert (len(found["items"]), found["totalCount"], found["truncated"]) == (2, 5, True)
    audit = commanded("audit", "--data", data, "--json", cwd=tmp_path)
    books = json.loads(audit.stdout)
    counted = {"received": 5, "stored": 5, "removed": 0, "duplicates": 0, "rejected": 0, "refused": 0, "pending": 0}
    assert (audit.returncode, books) == (0, books | counted | {"lost": 0, "balanced": True, "trouble": None})
    shown = commanded("events", "--data", data, "--limit", "2", cwd=tmp_path)
    assert "Events: 2 of 5" in shown.stdout
    log = json.loads(commanded("log", "show", "--data", data, "--json", cwd=tmp_path).stdout)
    item = log["items"][0]
    assert (item["head"], item["tail"], item["passed"], item["pending"], log["past"]) == (1, 5, 5, 0, [])


def test_events_are_found_by_run_and_job_and_time_whatever_quotes_they_hold(here: Running) -> None:
    name = 'it\'s "odd" -- ; drop'
    with httpx.Client(base_url=here.url) as client:
        client.post("/api/v1/lineage", content=body(run_event(job={"namespace": "n'1", "name": name})))
        client.post("/api/v1/lineage", content=body(run_event(run_id="AAAA")))
        while client.get("/api/headwater/v1/audit").json()["pending"]:
            rest()

        def count(**query: str) -> int:
            found: int = client.get("/api/headwater/v1/events", params=query).json()["totalCount"]
            return found

        assert (count(job=name), count(job=f"n'1/{name}"), count(job="nothing")) == (1, 1, 0)
        assert (count(run="aaaa"), count(since="2999-01-01"), count(since="2020-01-01T00:00:00Z")) == (1, 0, 2)
        for query in ({"limit": "0"}, {"limit": "many"}, {"limit": "99999"}, {"since": "yesterday"}):
            answer = client.get("/api/headwater/v1/events", params=query)
            assert (answer.status_code, set(answer.json())) == (400, {"error", "field", "fix"})
        assert client.get("/api/headwater/v1/nothing").json()["fix"]


def test_a_second_up_on_one_folder_is_told_so(here: Running, tmp_path: Path) -> None:
    outcome = commanded("up", "--data", here.folder, "--port", "0", cwd=tmp_path)
    fails_in_one_line(outcome, "Another `headwater` uses", "--data")
    outcome = commanded("log", "new-epoch", "--data", here.folder, cwd=tmp_path)
    fails_in_one_line(outcome, "Another `headwater` uses")


def test_a_port_in_use_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        outcome = commanded("up", "--data", tmp_path / "data", "--port", port, cwd=tmp_path)
        fails_in_one_line(outcome, f"127.0.0.1:{port}", "--port")


@pytest.mark.parametrize("place", ["/proc/headwater", "file/below"])
def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    outcome = commanded("up", "--data", tmp_path / place, "--port", "0", cwd=tmp_path)
    fails_in_one_line(outcome, "Cannot use the data folder", "--data")


def test_a_folder_of_a_newer_version_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "format").write_text("99\n")
    outcome = commanded("up", "--data", tmp_path, "--port", "0", cwd=tmp_path)
    fails_in_one_line(outcome, "format 99", "newer Headwater")


def test_wrong_settings_and_missing_folders_are_one_line(tmp_path: Path) -> None:
    fails_in_one_line(commanded("audit", cwd=tmp_path), "has no Headwater data", "headwater up")
    fails_in_one_line(
        commanded("check", cwd=tmp_path, environment={"HEADWATER_PORT": "x"}), "HEADWATER_PORT", "integer"
    )
    misspelt = commanded("up", "--port", "0", cwd=tmp_path, environment={"HEADWATER_PROT": "1"})
    fails_in_one_line(misspelt, "HEADWATER_PROT;", "HEADWATER_PORT.", "remove it")
    fails_in_one_line(commanded("up", "--host", "0.0.0.0", cwd=tmp_path), "Other machines can reach host", "[[keys]]")
    fails_in_one_line(commanded("validate", "missing.json", cwd=tmp_path), "missing.json")
    closed = "http://127.0.0.1:9"
    nobody = commanded("send", EVENTS / "spec-full-event.ndjson", "--server", closed, "--json", cwd=tmp_path)
    fails_in_one_line(nobody, "No response from http://127.0.0.1:9", "--server")
    for wrong in ("localhost:5000", "http://", "http://[::1", "http://127.0.0.1:99999", "http://127.0.0.1:0"):
        none = commanded("send", EVENTS / "spec-full-event.ndjson", "--server", wrong, cwd=tmp_path)
        fails_in_one_line(none, "is not ", "Write it like http://127.0.0.1:5000")


def test_the_version_is_that_of_the_project(tmp_path: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert commanded("--version", cwd=tmp_path).stdout == f"headwater {project['version']}\n"


def test_check_shows_settings_and_sources_but_no_key(tmp_path: Path) -> None:
    keys = '[{"name": "spark", "key": "very-secret-key"}]'
    outcome = commanded("check", "--json", cwd=tmp_path, environment={"HEADWATER_KEYS": keys})
    found = {item["setting"]: item for item in json.loads(outcome.stdout)["items"]}
    assert (found["keys"]["from"], found["port"]["from"]) == ("HEADWATER_KEYS", "default")
    assert "very-secret-key" not in outcome.stdout + outcome.stderr


def test_validate_says_where_and_what_and_its_status(tmp_path: Path) -> None:
    good = commanded("validate", EVENTS / "compat-spark-dataproc-simple.ndjson", "--json", cwd=tmp_path)
    bad = commanded("validate", EVENTS / "spec-full-event.ndjson", cwd=tmp_path)
    assert (good.returncode, bad.returncode) == (0, 1)
    assert "5 events checked, 3 invalid" in bad.stdout


def test_keys_guard_every_route_but_health(tmp_path: Path) -> None:
    (tmp_path / "headwater.toml").write_text(
        "[[keys]]\nname='w'\nkey='write-key'\n[[keys]]\nname='r'\nkey='read-key-1'\nroles=['read']\n"
    )
    with up(tmp_path / "data") as url, httpx.Client(base_url=url) as client:
        write, read = ({"authorization": f"Bearer {key}"} for key in ("write-key", "read-key-1"))
        event = body(run_event())
        assert client.get("/health/live").status_code == client.get("/health/ready").status_code == 200
        assert client.get("/api/headwater/v1/audit").status_code == 401
        assert client.get("/api/headwater/v1/audit", headers=write).status_code == 403
        assert client.get("/api/headwater/v1/audit", headers=read).status_code == 200
        for question in ("impact?dataset=x", "surface", "rules", "names?name=x", "runs/x/lineage", "diff", "coverage"):
            asked = f"/api/headwater/v1/{question}"
            assert client.get(asked).status_code == 401
            assert client.get(asked, headers=write).status_code == 403
            assert client.get(asked, headers=read).status_code in (200, 400, 404, 503)
        assert client.get("/api/headwater/v1/rules", params={"code": "read-key-1"}).status_code == 200
        assert client.post("/api/v1/lineage", content=event).status_code == 401
        assert client.post("/api/v1/lineage", content=event, headers=read).status_code == 403
        assert client.post("/api/v1/lineage", content=event, headers=write).status_code == 200
        sent = commanded(
            "send", EVENTS / "spec-full-event.ndjson", "--server", url, "--key", "wrong", "--json", cwd=tmp_path
        )
        fails_in_one_line(sent, "key is missing or wrong", "HEADWATER_KEY")


def test_what_was_rejected_can_be_sent_again_and_lands_once(tmp_path: Path) -> None:
    world = World(tmp_path / "data")
    world.append(b"not read", body(run_event()))
    world.parser()
    source = world.reader().source
    [_, good] = world.records(1, 2)
    batch = build_rejection_batch(source, good, 1, InvalidEvent("unstorable", "No row fits it.", "Report it."))
    world.parser().reject_next(InvalidEvent("kills_parser", "It died.", "Send it smaller."))
    world.bronze.commit(source, batch.rows, batch.last)
    with up(tmp_path / "data") as url:
        listed = commanded("rejected", "--data", tmp_path / "data", cwd=tmp_path)
        assert "kills_parser" in listed.stdout
        assert "unstorable" in listed.stdout
        for _ in range(2):
            both = ("--server", url, "--data", tmp_path / "data")
            sent = commanded("rejected", "--retry", *both, "--json", cwd=tmp_path)
            assert (sent.returncode, json.loads(sent.stdout)["accepted"]) == (0, 1)
        with httpx.Client(base_url=url) as client:
            while client.get("/api/headwater/v1/audit").json()["pending"]:
                rest()
    audit = json.loads(commanded("audit", "--data", tmp_path / "data", "--json", cwd=tmp_path).stdout)
    assert (audit["stored"], audit["duplicates"], audit["rejected"], audit["balanced"]) == (1, 1, 2, True)


@pytest.mark.parametrize(("text", "wanted"), [("250ms", 0.25), ("30", 30), ("1.5s", 1.5), ("5m", 300), ("1h", 3600)])
def test_durations_are_read_as_people_write_them(text: str, wanted: float) -> None:
    assert parse_duration_s(text) == wanted


@pytest.mark.parametrize("text", ["", "s", "0", "0s", "-5", "inf", "nan", "1e300d", "36501d", "soon", "30 w"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(WrongSetting, match="is not a duration"):
        parse_duration_s(text)


def test_a_wrong_duration_is_said_before_spark_starts(tmp_path: Path) -> None:
    fails_in_one_line(commanded("spark", "refresh", "--data", tmp_path, "--every", "soon"), "'soon'", "30s")


def test_a_rebuild_is_one_pass(tmp_path: Path) -> None:
    refused = commanded("spark", "refresh", "--data", tmp_path, "--every", "30s", "--rebuild")
    fails_in_one_line(refused, "--rebuild runs one pass")
