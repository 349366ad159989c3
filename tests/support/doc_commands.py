"""Run the commands of the documentation in the order of the pages, as a reader would."""

import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import chdir
from pathlib import Path
from threading import Timer
from types import TracebackType
from typing import Any
from urllib.request import urlopen

from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.settings import load_settings
from tests.support.commands import commanded
from tests.support.doc_blocks import Block
from tests.support.paths import FIXTURES, ROOT
from tests.support.waiting import rest

WIDTH = "100"
"""Width of the reader's terminal in columns, which determines the layout of tables."""

PROJECT = {
    "migrations/0042.sql": "ALTER TABLE silver.orders DROP COLUMN quantity;\n",
    "lineage/sheets.yml": "version: 1\njobs: [{name: sheets, outputs: [s3://lake/landing/targets]}]\n",
    "contracts/revenue.yml": "apiVersion: v3.1.0\nkind: DataContract\nid: revenue\nversion: 1.0.0\nstatus: active\n"
    "schema: [{name: revenue, physicalName: gold.revenue, properties: [{name: revenue}]}]\n",
    "machine/var/spark-events/app-20260301120000-0001": '{"Event":"SparkListenerApplicationStart","App Name":"load",'
    '"App ID":"app-20260301120000-0001","Timestamp":1772366400000,"User":"spark"}\n'
    '{"Event":"SparkListenerApplicationEnd","Timestamp":1772366460000}\n',
    "machine/lake/sales/_delta_log/00000000000000000000.json": '{"commitInfo":{"timestamp":1772366430000,'
    '"operation":"WRITE","operationParameters":{"mode":"Append"}}}\n',
}
"""Files of the reader's project that the pages name."""

FIXTURE_OF = {
    "event.json": "events/compat-simple-run-event.ndjson",
    "events.ndjson": "events/spark-docs-quickstart.ndjson",
    "target/manifest.json": "dbt/manifest.json",
    "scan.json": "powerbi/scan.json",
    "measures.csv": "powerbi/measures.csv",
    "columns.csv": "powerbi/columns.csv",
    "partitions.csv": "powerbi/partitions.csv",
    "machine/mnt/lineage/events.ndjson": "events/spark-docs-quickstart.ndjson",
}
"""Further files of the reader's project, with the fixture that each contains."""

_URL = re.compile(r"http://(?:localhost|127\.0\.0\.1):5000")
_FOLDER = re.compile(r"(?<![\w/.~])/(?=(?:srv|mnt|var|lake|etc)/)")
_PLACEHOLDERS = {"WORKSPACE": "Sales"}
_STATUS = re.compile(r"#.*\bexits with (\d)\b(?! if)")
_LATE = "events/compat-simple-run-event.ndjson"
"""Content of a file that arrives while `headwater ingest --follow` runs."""

_PATIENCE_S = 60.0

_NORMALISED = (
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z| UTC)?"), "TIME"),
    (re.compile(r"\b\d+(?:\.\d+)? (?:s|min|h|d)\b(?: \d+ (?:s|min|h|d)\b)?"), "DURATION"),
    (re.compile(r"\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b"), "RUN"),
    (_URL, "URL"),
    (re.compile(r" +$", re.MULTILINE), ""),
)


class Reader:
    """Runs blocks in `home`, which the pages show as `/home/you`, with the variables that earlier blocks exported.

    Folders of the machine, such as /srv, are below `home/machine`. Use it as a context manager, which stops the demo
    and the servers that pages start.
    """

    def __init__(self, home: Path) -> None:
        self.home = home
        self.demo = ""
        self._url = ""
        self._demo_url = ""
        self._folder = home
        self._environment: dict[str, str] = {}
        self._processes: list[subprocess.Popen[str]] = []

    def __enter__(self) -> "Reader":
        self.open_page()
        for folder in ("var/lib/headwater", "srv/headwater"):
            prepare_folder(load_settings({"data": self.home / "machine" / folder}, environment={})[0])
        self.demo = self._start(["headwater", "demo", "--data", "shop"], "how to send lineage")
        self._demo_url = self._url
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        while self._processes:
            self._stop(self._processes.pop())

    def open_page(self, blocks: Sequence[Block] = ()) -> None:
        """Start a page in its own folder, which contains the files of the reader's project and those that the page
        shows.
        """
        while len(self._processes) > 1:  # the first one is the demo
            self._stop(self._processes.pop())
        self._url = self._demo_url
        self._environment = {"COLUMNS": WIDTH, "HOME": str(self.home), "XDG_STATE_HOME": str(self.home / "state")}
        if self._url:
            self._environment["HEADWATER_URL"] = self._url
        if not blocks:
            return
        self._folder = self.home / blocks[0].page.stem
        if "how-to" not in blocks[0].page.parts:
            self._folder.mkdir()
            return
        files = {path: (FIXTURES / fixture).read_text("utf-8") for path, fixture in FIXTURE_OF.items()}
        for path, text in (PROJECT | files).items():
            self._write(path, text)
        for block in blocks:
            if block.path:
                self._write(block.path, block.text)

    def _write(self, path: str, text: str) -> None:
        of_data = path.startswith("rules/")
        folder = self.home / "shop" if of_data else self.home if path.startswith("machine/") else self._folder
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")

    def run(self, block: Block) -> str:
        """Run the commands or the program of a block, and return what it prints."""
        if block.language == "python":
            with chdir(self._folder):
                exec(compile(self._placed(block.text), block.where, "exec"), {})
            return ""
        printed = "".join(self._shown(self._run(block, each)) for each in _split_commands(block.text))
        if re.search(r"\bcurl\b.*/lineage\b", block.text):
            self._wait_until_answered()
        return printed

    def _wait_until_answered(self) -> None:
        """Wait until the answers of the demo contain all events."""
        self._wait_for(lambda: not self._ask("freshness")["events"])

    def _ask(self, question: str) -> Any:
        with urlopen(f"{self._url}/api/headwater/v1/{question}") as answer:
            return json.load(answer)

    def _wait_for(self, is_so: Callable[[], bool]) -> None:
        deadline = time.monotonic() + _PATIENCE_S
        while not is_so():
            assert time.monotonic() < deadline, f"{self._url} has not received or indexed all events"
            rest()

    def _follow(self, words: Sequence[str]) -> str:
        """Run a command until a file that arrives late has been sent, then press Ctrl-C. Returns what it prints."""
        before = self._ask("audit")["received"]
        with self._popen(words) as process:
            try:
                self._write("machine/mnt/lineage/late.ndjson", (FIXTURES / _LATE).read_text("utf-8"))
                self._wait_for(lambda: self._ask("audit")["received"] > before)
            finally:
                process.send_signal(signal.SIGINT)
                printed = process.communicate(timeout=_PATIENCE_S)[0]
        assert process.returncode in (0, 130), printed
        return printed

    def _run(self, block: Block, command: str) -> str:
        expected = _STATUS.search(command)
        placed = self._placed(command)
        words = shlex.split(placed, comments=True)
        if not words:
            return ""
        if words[:2] == ["headwater", "demo"]:
            return self.demo
        if words[0] == "export" and "$" not in placed:
            self._environment.update(dict(each.split("=", 1) for each in words[1:]))
            return ""
        if words[:2] == ["headwater", "up"]:
            return self._start(words, "Headwater listens on")
        if "--follow" in words:
            return self._follow(words)
        if words[0] == "headwater" and words[1] != "mcp" and not re.search(r"[|&;<>*?$]", re.sub(r"#.*", "", command)):
            done = commanded(*words[1:], environment=self._environment, cwd=self._folder)
        else:
            done = subprocess.run(
                ["bash", "-c", placed], cwd=self._folder, env=self._all_variables(), stdin=subprocess.DEVNULL,
                capture_output=True, text=True, check=False,
            )  # fmt: skip
        assert done.returncode == int(expected[1] if expected else 0), (
            f"{block.where}: `{command}` exits with {done.returncode}: {done.stdout}{done.stderr}"
        )
        return done.stdout + (done.stderr if words[0] == "headwater" else "")  # curl reports its progress

    def _placed(self, text: str) -> str:
        """Replace the ports, folders and names of the pages with those of this machine."""
        for name, value in _PLACEHOLDERS.items():
            text = re.sub(rf"\b{name}\b", value, text)
        if "headwater run RUN" in text:
            text = text.replace("run RUN", f"run {self._ask('runs?limit=1')['items'][0]['id']}")
        text = _FOLDER.sub(f"{self.home}/machine/", _URL.sub(self._url, text))
        return text.replace("--port 5000", f"--port {_free_port()}")

    def _shown(self, text: str) -> str:
        """Replace the ports and folders of this machine in an output with those of the pages."""
        text = text.replace(self._url, "http://127.0.0.1:5000").replace(f"{self.home}/machine", "")
        return text.replace(str(self._folder), "/home/you").replace(str(self.home), "/home/you")

    def _all_variables(self) -> dict[str, str]:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **self._environment}

    def _start(self, words: Sequence[str], ready: str) -> str:
        """Start a command that runs until Ctrl-C, and return what it prints until it is ready."""
        more = ["--no-browser", "--port", "0"] if words[1] == "demo" else []
        process = self._popen([*words, *more])
        impatience = Timer(_PATIENCE_S, process.kill)
        impatience.start()
        self._processes.append(process)
        lines = []
        for line in process.stdout or ():
            lines.append(line)
            if found := re.search(r"Headwater listens on (\S+)", line):
                self._url = self._environment["HEADWATER_URL"] = found[1]
            if ready in line:
                impatience.cancel()
                return "".join(lines)
        raise AssertionError(f"`{shlex.join(words)}` was not ready: {''.join(lines)}")

    def _popen(self, words: Sequence[str]) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [sys.executable, "-m", *words], cwd=self._folder, env=self._all_variables(),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )  # fmt: skip

    def _stop(self, process: "subprocess.Popen[str]") -> None:
        process.send_signal(signal.SIGINT)
        _, _ = process.communicate(timeout=_PATIENCE_S)
        assert process.returncode in (0, 130), f"{process.args!r} exits with {process.returncode}"


def differences(expected: str, found: str) -> str | None:
    """Return the normalised output if it differs from a block, in which a line `…` stands for any lines."""
    for pattern, name in _NORMALISED:
        expected, found = pattern.sub(name, expected), pattern.sub(name, found)
    lines = [r"(?:.*\n)*?" if line.strip() == "…" else re.escape(f"{line}\n") for line in expected.strip().split("\n")]
    return None if re.fullmatch("".join(lines), found.strip() + "\n") else found


def _split_commands(text: str) -> Iterator[str]:
    """Yield the commands of a block. A command continues after a backslash and within quotes."""
    command = ""
    for line in text.splitlines():
        command += line + "\n"
        try:
            shlex.split(command, comments=True)
        except ValueError:
            continue
        if not line.endswith("\\"):
            yield command
            command = ""
    assert not command, f"unfinished: {command}"


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])
