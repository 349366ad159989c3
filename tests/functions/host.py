"""A running Function App, unpacked from its package into its own environment and driven as by the Functions host."""

import base64
import json
import os
import subprocess
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from headwater.intake.event_log import LoggedRecord
from tests.support.servers.event_hub import Stored
from tools.function_zip import write_package
from tools.functions_env import environment
from tools.locked_environment import Missing

WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer to a client of the app."""

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
        """Empty if the app does not start."""

    def logged(self) -> str:
        return self._log.read_text()

    def request(
        self, function: str, body: bytes = b"", *, method: str = "POST", target: str = "", **headers: str
    ) -> Reply:
        """Send a request as a client does.

        target: path and query, if the route leaves them open. `_` in header names becomes `-`.
        """
        assert self.functions, self.index
        sent = {"content_length": str(len(body)), "content_type": "application/json"} | headers
        path = target if target.startswith("/") else f"/{self.functions[function]['bindings'][0]['route']}{target}"
        answer = self._invoke(
            function, kind="http", method=method, url=f"https://app.example{path}",
            headers={name.replace("_", "-"): text for name, text in sent.items()}, body=_text(body),
        )  # fmt: skip
        assert answer["result"], answer
        return Reply(answer["status"], answer["headers"], base64.b64decode(answer["body"]))

    def deliver(
        self, records: Sequence[LoggedRecord | Stored], *, partition: str = "0", offset: str = "{}"
    ) -> str | None:
        """Deliver records as the Event Hubs trigger does.

        Returns the failure after which the trigger would repeat the delivery.
        """
        events = [_event(record, offset) for record in records]
        return self._invoke("parser", kind="events", partition=partition, events=events).get("error")

    def tick(self, function: str) -> str | None:
        """Fire a timer trigger. Returns its failure, if any."""
        return self._invoke(function, kind="timer").get("error")

    def stop(self) -> None:
        """Let the worker exit when its event loop ends. A killed worker would lose unwritten data."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait()

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


def _event(record: LoggedRecord | Stored, offset: str) -> dict[str, Any]:
    """Return a record in the form of the trigger. A hub counts from 0, and the host's times have no time zone."""
    if isinstance(record, Stored):
        sequence, received_us = record.sequence, record.enqueued_ms * 1000
        properties = {_property(name): _property(value) for name, value in record.properties.items()}
    else:
        sequence, received_us = record.sequence - 1, record.received_us
        properties = {"k": int(record.kind), "h": record.http}
    enqueued = datetime.fromtimestamp(received_us / 1e6, UTC).replace(tzinfo=None).isoformat()
    return {
        "sequence": sequence, "offset": offset.format(sequence), "enqueued": enqueued, "properties": properties,
        "body": _text(record.body),
    }  # fmt: skip


def _property(value: Any) -> Any:
    return value.decode() if isinstance(value, bytes) else value


@contextmanager
def running(package: Path, output: Path, /, *, hidden: Iterable[str] = (), **settings: Any) -> Iterator[App]:
    """Start a worker with an unpacked package. Settings become HEADWATER_* variables, as in an app's settings.

    hidden: packages of the worker's environment that the app must not find.
    """
    try:
        python = environment()
    except Missing as error:
        pytest.skip(str(error))
    given = {f"HEADWATER_{name.upper()}": _setting(value) for name, value in settings.items()}
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("HEADWATER_", "PYTHON"))}
    with output.open("w") as errors:
        process = subprocess.Popen(
            [str(python), "-I", "-X", "utf8", str(WORKER), str(package), *hidden],
            cwd=package, env=kept | given, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
        )  # fmt: skip
    with process:
        try:
            yield App(process, output)
        finally:
            process.kill()


def unpacked(folder: Path, write: Callable[[Path], object] = write_package) -> Path:
    """Build a deployment package and unpack it as the platform does."""
    write(folder / "app.zip")
    with zipfile.ZipFile(folder / "app.zip") as package:
        package.extractall(folder / "wwwroot")
    return folder / "wwwroot"


def _setting(value: Any) -> str:
    return json.dumps(value) if isinstance(value, list | dict) else str(value)


def _text(body: bytes) -> str:
    return base64.b64encode(body).decode()
