"""`headwater doctor` on a machine: settings, data folder, port, Java, and servers with wrong answers."""

import json
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from headwater.operations.diagnosis.finding import Finding, run_checks
from headwater.operations.diagnosis.machine import checks_without_server, folder_checks, machine_checks
from headwater.operations.diagnosis.service import asking_once, event_checks, server_checks
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings
from headwater.questions.declaring import Question
from tests.support.commands import commanded
from tests.support.data.keyed import READ_KEY

CLOSED = "http://127.0.0.1:9"


def prepared(folder: Path) -> Path:
    prepare_folder(load_settings({"data": folder}, folder=folder, environment={})[0])
    return folder


def found(outcome: subprocess.CompletedProcess[str]) -> dict[str, dict[str, Any]]:
    return {each["check"]: each for each in json.loads(outcome.stdout)["items"]}


def test_a_machine_without_headwater_gets_one_warning_with_the_next_step(tmp_path: Path) -> None:
    outcome = commanded("doctor", cwd=tmp_path, environment={"HEADWATER_PORT": "9"})
    first, last = outcome.stdout.splitlines()
    assert first.startswith("warning: data folder: There is no data folder and no running Headwater. Start `headwater")
    assert (outcome.returncode, outcome.stderr, last) == (0, "", "4 checks: 0 problems, 1 warning.")


def test_a_wrong_setting_is_a_problem_and_the_other_checks_go_on(tmp_path: Path) -> None:
    outcome = commanded("doctor", "--json", cwd=tmp_path, environment={"HEADWATER_PROT": "9"})
    assert (outcome.returncode, outcome.stderr) == (1, "")
    assert "HEADWATER_PORT" in found(outcome)["settings"]["message"]
    assert "data folder" in json.loads(outcome.stdout)["checks"]


def test_a_named_server_that_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    outcome = commanded("doctor", "--server", CLOSED, "--json", cwd=tmp_path)
    assert outcome.returncode == 1
    assert f"No answer from {CLOSED}" in found(outcome)["server"]["message"]


def test_a_data_folder_is_checked_while_headwater_is_stopped(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data")

    def problems(**values: int) -> dict[str, Finding]:
        settings = load_settings({"data": folder, "port": 0, **values}, folder=tmp_path, environment={})[0]
        return {each.check: each for each in run_checks([*folder_checks(settings), *checks_without_server(settings)])}

    assert {*problems(retain_bytes=0)} == {"running"}
    folder.chmod(0o755)
    found = problems(retain_bytes=1 << 60)
    assert str(folder) in found["permissions"].message
    assert "chmod" in found["permissions"].remedy
    assert found["running"].remedy == f"Start `headwater up --data {folder}`."
    assert "retain_bytes" in found["disk"].remedy
    (folder / "run" / "parser.trouble").write_text("The lake is full.")
    assert problems(min_free_bytes=1 << 60)["disk"].message.startswith("Only ")
    (folder / "format").write_text("99\n")
    assert "format 99" in problems()["data folder"].message


@pytest.mark.slow  # reads bronze
def test_a_service_that_had_stopped_is_named_without_a_server(tmp_path: Path) -> None:
    folder = prepared(tmp_path / "data")
    (folder / "run" / "parser.trouble").write_text("The lake is full.")
    outcome = commanded("doctor", "--data", folder, cwd=tmp_path, environment={"HEADWATER_PORT": "9"})
    assert outcome.returncode == 1
    assert "problem: running: The service parser had stopped: The lake is full." in outcome.stdout


@pytest.mark.slow  # starts Headwater
def test_a_missing_key_is_one_problem(keyed_to_read: str, tmp_path: Path) -> None:
    (access,) = json.loads(commanded("doctor", "--server", keyed_to_read, "--json", cwd=tmp_path).stdout)["items"]
    assert access["check"] == "access"
    assert "--key or HEADWATER_KEY" in access["remedy"]
    with_key = commanded("doctor", "--server", keyed_to_read, "--key", READ_KEY, "--json", cwd=tmp_path)
    problems = json.loads(with_key.stdout)["items"]
    assert [each for each in problems if each["check"] == "access"] == []


class _Stranger(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-length", "2")
        self.end_headers()
        self.wfile.write(b"hi")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def taken_port() -> Iterator[int]:
    with HTTPServer(("127.0.0.1", 0), _Stranger) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def test_a_port_of_another_program_is_named(tmp_path: Path, taken_port: int) -> None:
    settings = load_settings({"data": tmp_path, "port": taken_port}, folder=tmp_path, environment={})[0]
    (port,) = run_checks(checks_without_server(settings)[:1])
    assert f"Cannot listen on 127.0.0.1:{taken_port}" in port.message
    url = f"http://127.0.0.1:{taken_port}"
    other = found(commanded("doctor", "--server", url, "--json", cwd=tmp_path))
    assert "is not a Headwater server" in other["server"]["message"]


@pytest.mark.parametrize(
    ("version", "words"),
    [('openjdk version "21.0.4" 2024-07-16', "is Java 21"), ('java version "1.8.0_392"', ""), ("", "no working Java")],
)
def test_java_is_one_that_the_installed_spark_supports(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, words: str
) -> None:
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho '{version}' >&2\n")
    java.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    problems = [each for each in run_checks(machine_checks()) if each.check == "java"]
    assert [words in each.message and "Install a JDK 8 or 11 or 17" in each.remedy for each in problems] == (
        [True] if words else []
    )


def on_server(clock_s: float = 0, ready: Mapping[str, Any] | None = None, version: str | None = "1") -> list[Finding]:
    def ask(*_: object) -> Any:
        return {"window": {"to": datetime.fromtimestamp(time.time() + clock_s, UTC).isoformat()}}

    return [*run_checks(server_checks("http://h", ready or {"components": {}}, (version, "1"), ask))]


def test_a_server_is_asked_each_question_once() -> None:
    paths = []

    def ask(question: Question, _: Mapping[str, str], /) -> Any:
        paths.append(question.path)
        return {"seconds": 0.0} if question.path == "freshness" else {}

    asked_once = asking_once(ask)
    checks = [*server_checks("http://h", {}, ("1", "1"), asked_once), *event_checks("", 0, asked_once)]
    for check in checks:
        with suppress(KeyError):  # the fake answers are empty
            [*check.find()]
    assert paths.count("freshness") == 1
    assert len(paths) == len({*paths}) > 5


def test_a_server_is_compared_with_this_machine() -> None:
    assert on_server(clock_s=2) == []
    (ahead,), (behind,) = on_server(clock_s=3600), on_server(clock_s=-3600)
    assert "3600 s ahead of the clock of this machine" in ahead.message
    assert "3600 s behind the clock of this machine" in behind.message
    assert on_server(version=None) == []
    (other,) = on_server(version="2")
    assert other.remedy == "Install the same version: pip install 'headwater[server]==2'."


def test_each_stopped_service_is_named_with_its_reason_but_a_lag_is_not() -> None:
    lag = "the oldest event that is not in the lake yet is 3.0 s old"
    states = {"log": "ok", "lake": lag, "index": "not here", "parser": "A file is damaged."}
    (stopped,) = on_server(ready={"components": states})
    assert (stopped.check, stopped.level) == ("services", "problem")
    assert "The parser of http://h has stopped: A file is damaged." in stopped.message
