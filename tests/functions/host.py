"""A Function App that runs: unpacked from its package, in its own environment, driven like by the Functions host."""

import base64
import json
import os
import subprocess
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.eventlog import LoggedRecord
from tools.function_zip import write_package
from tools.functions_env import Missing, environment

WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Reply:
    """What a client of the app sees."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class App:
    """One worker process."""

    def __init__(self, process: subprocess.Popen[str], log: Path):
        self._process = process
        self._log = log
        self.index = self._answer()
        self.functions: dict[str, Any] = self.index.get("functions", {})

    def logged(self) -> str:
        return self._log.read_text()

    def request(
        self, function: str, body: bytes = b"", *, method: str = "POST", target: str = "", **headers: str
    ) -> Reply:
        """Ask as a client does; target: path and query where the route leaves them open; `_` is `-` in header names."""
        sent = {"content_length": str(len(body)), "content_type": "application/json"} | headers
        path = target if target.startswith("/") else f"/{self.functions[function]['bindings'][0]['route']}{target}"
        answer = self._invoke(
            function, kind="http", method=method, url=f"https://app.example{path}",
            headers={name.replace("_", "-"): text for name, text in sent.items()}, body=_text(body),
        )  # fmt: skip
        assert answer["result"], answer
        return Reply(answer["status"], answer["headers"], base64.b64decode(answer["body"]))

    def deliver(self, records: Sequence[LoggedRecord], *, partition: str = "0", offset: str = "{}") -> str | None:
        """Deliver records as the Event Hubs trigger does; returns the failure after which it would deliver again."""
        events = [
            {
                "sequence": record.sequence - 1, "offset": offset.format(record.sequence * 100),
                "enqueued": datetime.fromtimestamp(record.received_us / 1e6, UTC).replace(tzinfo=None).isoformat(),
                "properties": {"k": int(record.kind), "h": record.http}, "body": _text(record.body),
            }
            for record in records
        ]  # fmt: skip
        return self._invoke("parser", kind="events", partition=partition, events=events).get("error")

    def tick(self, function: str) -> str | None:
        """Let a timer trigger fire; returns its failure."""
        return self._invoke(function, kind="timer").get("error")

    def _invoke(self, function: str, **call: Any) -> dict[str, Any]:
        parameter = self.functions[function]["bindings"][0]["name"]
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"function": function, "parameter": parameter, **call}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        line = self._process.stdout.readline()
        assert line, f"The worker has died:\n{self.logged()[-3000:]}"
        found: dict[str, Any] = json.loads(line)
        return found


@contextmanager
def running(package: Path, log: Path, **settings: Any) -> Iterator[App]:
    """Start a worker on an unpacked package; settings become HEADWATER_* as in an app's settings."""
    try:
        python = environment()
    except Missing as error:
        pytest.skip(str(error))
    given = {f"HEADWATER_{name.upper()}": _setting(value) for name, value in settings.items()}
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("HEADWATER_", "PYTHON"))}
    with log.open("w") as errors:
        process = subprocess.Popen(
            [str(python), "-I", "-X", "utf8", str(WORKER), str(package)],
            cwd=package, env=kept | given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    with process:
        try:
            yield App(process, log)
        finally:
            process.kill()


def unpacked(folder: Path) -> Path:
    """Build the deployment package and unpack it, as the platform does."""
    write_package(folder / "app.zip")
    with zipfile.ZipFile(folder / "app.zip") as package:
        package.extractall(folder / "wwwroot")
    return folder / "wwwroot"


def _setting(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str) if isinstance(value, list) else str(value)


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()
