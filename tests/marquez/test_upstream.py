"""Run Marquez's own integration tests, unchanged, against Headwater (`jvm/marquez-tests/README.md`)."""

import os
import queue
import shutil
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.support.data.shop import Asker
from tests.support.running import Running
from tools import jars

pytestmark = [pytest.mark.slow, pytest.mark.producers]

NAME = "marquez-tests"
SOURCES = jars.JVM / NAME
LISTED = (SOURCES / "README.md").read_text().partition("## Results")[2]
"""The README lists each test that does not pass, with the reason."""

Test = tuple[str, str]


@pytest.mark.timeout(1800)
def test_marquezs_own_tests_pass_but_for_those_that_the_page_lists(tmp_path: Path) -> None:
    passed, failed = run_them(tmp_path, {"HEADWATER_MARQUEZ_STRICT": "true"})
    unlisted = sorted(f"{of}.{name}" for of, name in failed if f"`{name.partition('(')[0]}`" not in LISTED)
    assert unlisted == []
    assert len(passed) >= 90


def run_them(folder: Path, environment: dict[str, str]) -> tuple[set[Test], set[Test]]:
    """Run all tests. Returns the passed and the failed tests, each by class and name."""
    class_path = compiled(folder / "classes")
    reports = folder / "reports"
    with servers(folder, environment) as control:
        subprocess.run(
            [
                "java", "-XX:TieredStopAtLevel=1", f"-Dcontrol={control}",
                "-Dorg.slf4j.simpleLogger.defaultLogLevel=error", "-cp", class_path,
                "org.junit.platform.console.ConsoleLauncher", "execute", f"--scan-classpath={folder / 'classes'}",
                "--include-classname=.*IntegrationTest", "--config=junit.jupiter.extensions.autodetection.enabled=true",
                "--details=none", "--disable-banner", f"--reports-dir={reports}",
            ],
            check=False,
        )  # fmt: skip
    cases = ElementTree.parse(reports / "TEST-junit-jupiter.xml").getroot().findall("testcase")
    named = {(case.get("classname", ""), case.get("name", "")): case for case in cases}
    failed = {
        name for name, case in named.items() if case.find("failure") is not None or case.find("error") is not None
    }
    return named.keys() - failed, failed


def compiled(classes: Path) -> str:
    """Compile the tests with our stand-ins for Marquez and its database. Returns the class path."""
    jars.fetch(NAME)
    class_path = os.pathsep.join(map(str, [classes, *sorted((jars.CACHE / NAME).glob("*.jar"))]))
    classes.mkdir()
    sources = [str(path) for path in SOURCES.rglob("*.java")]
    command = ["javac", "-J-XX:TieredStopAtLevel=1", "-nowarn", "-parameters", "-d", str(classes), "-cp", class_path]
    subprocess.run([*command, *sources], check=True)
    for resources in (SOURCES / "upstream" / "resources", SOURCES / "standins" / "resources"):
        shutil.copytree(resources, classes, dirs_exist_ok=True)
    return class_path


@contextmanager
def servers(folder: Path, environment: dict[str, str]) -> Iterator[str]:
    """Provide a URL at which each GET starts an empty Headwater and returns its port. One instance is started ahead."""
    ready: queue.Queue[Running] = queue.Queue(1)
    begun: list[Running] = []
    current: list[Running] = []
    is_over = threading.Event()

    def begin() -> None:
        while not is_over.is_set():
            data = folder / f"data {len(begun)}"
            begun.append(Running(data, environment=environment, options=["--tick", "50ms"], cwd=folder))
            with Asker(begun[-1].url) as asker:
                asker.wait_for("coverage")  # the index of the new lake exists
            ready.put(begun[-1])

    class Control(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if current:
                current.pop().kill()
            current.append(ready.get())
            port = str(current[0].port).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(port)))
            self.end_headers()
            self.wfile.write(port)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Control)
    ahead = threading.Thread(target=begin)
    for thread in (threading.Thread(target=server.serve_forever, daemon=True), ahead):
        thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/"
    finally:
        is_over.set()
        with_room = threading.Thread(target=lambda: [ready.get() for _ in range(2)], daemon=True)
        with_room.start()  # removes an instance that is waiting in the queue
        ahead.join()
        server.shutdown()
        server.server_close()
        for each in begun:
            if each.process.poll() is None:
                each.kill()
