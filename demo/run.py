"""The main job on real input: Spark's real listener posts to a real Headwater, then the tables are asked.

python -m demo.run [--data DIR] [--listener 1.53.0]
"""

import argparse
import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlencode

import httpx
from rich.console import Console

from demo.report import SOURCE, print_report
from tools.locked_environment import Missing

LISTENS = "Headwater listens on "
READY_S = 60.0
CAUGHT_UP_S = 60.0
STOP_S = 30.0
RULES = Path(__file__).parent / "rules"
KEY = "of-the-demo"
"""What the listener sends; a Headwater on loopback that was given no keys asks for none."""


class Up(NamedTuple):
    """A running Headwater: its process and its address."""

    process: subprocess.Popen[str]
    url: str


def main() -> int:
    """Start Headwater, run the pipeline against it, wait until nothing is pending, print what landed.

    On a terminal it goes on serving until Ctrl-C.
    """
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("headwater-data/demo"), help="Headwater's data folder")
    parser.add_argument("--listener", default="1.53.0", help="version of the OpenLineage Spark listener")
    options = parser.parse_args()
    data = options.data.resolve()
    onelake = data.with_name(data.name + "-onelake")
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    started = time.monotonic()
    add_rules(data)
    try:
        with headwater(data) as up:
            console.print(f"Headwater listens on {up.url}, data in {_short(data)}")
            console.print(f"Spark runs the pipeline with listener {options.listener}, OneLake in {_short(onelake)}")
            run_pipeline(up.url, options.listener, onelake)
            audit = when_caught_up(up.url, KEY)
            print_report(console, data, audit)
            console.print(f"\nAll of it took {time.monotonic() - started:.0f} s. What next:")
            console.print(_next_steps(_short(data), _short(onelake)), soft_wrap=True)
            if sys.stdout.isatty():
                keep_serving(console, up)
    except (Missing, httpx.HTTPError) as error:
        sys.stderr.write(f"demo: {error}\n")
        return 3
    except KeyboardInterrupt:
        return 130
    return 0 if audit["balanced"] else 1


def add_rules(data: Path) -> None:
    """Copy the demo's rules files into the folder of rules of a data folder; files that are there stay."""
    folder = data / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    for file in RULES.iterdir():
        if not (folder / file.name).exists():
            shutil.copyfile(file, folder / file.name)


@contextlib.contextmanager
def headwater(data: Path) -> Iterator[Up]:
    """Run `headwater up` on a free port and without keys; give it, and stop it in the end."""
    command = [str(Path(sys.executable).with_name("headwater")), "up", "--data", str(data), "--port", "0"]
    environment = os.environ | {"HEADWATER_KEYS": "[]"}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        try:
            url = _address(process)
            _wait_ready(url)
            yield Up(process, url)
        finally:
            _stop(process)


def keep_serving(console: Console, up: Up) -> None:
    """Say where the page is and what to try, and wait for Ctrl-C; raises Missing if Headwater ends by itself."""
    console.print(f"\nThe page is open: {up.url}/ (Ctrl-C ends it). Three things to try:")
    for title, address in TO_TRY.items():
        console.print(f"  {title}\n    {up.url}{address}", soft_wrap=True)
    with contextlib.suppress(KeyboardInterrupt):
        raise Missing(f"Headwater ended by itself, with status {up.process.wait()}. Its reasons are above.")
    console.print("\nHeadwater stops.")


TO_TRY = {
    "follow an address from the landing zone to where it is readable": "/lineage?"
    + urlencode({"dataset": SOURCE["dataset"], "column": SOURCE["column"]}),
    "see where personal data is exposed, masked, or unknown": "/surface?" + urlencode(SOURCE),
    "point your own Spark, Airflow or dbt at it, or send a test event": "/connect",
}
"""What to look at → its address."""


def run_pipeline(url: str, listener: str, onelake: Path) -> None:
    """Run the pipeline as a program of its own; raises Missing if it failed, after its own words."""
    command = [sys.executable, "-m", "demo.pipeline", "--url", url, "--listener", listener, "--lake", str(onelake)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=os.environ | {"HEADWATER_KEY": KEY}, check=False)
    if done.returncode:
        raise Missing(f"The pipeline ended with status {done.returncode}; see above and {onelake}/spark.log.")


def when_caught_up(url: str, key: str) -> dict[str, Any]:
    """Wait until no acknowledged event is pending; return the audit."""
    deadline = time.monotonic() + CAUGHT_UP_S
    headers = {"authorization": f"Bearer {key}"}
    while True:
        answer = httpx.get(f"{url}/api/headwater/v1/audit", headers=headers, timeout=30)
        audit: dict[str, Any] = answer.raise_for_status().json()
        if audit["pending"] == 0:
            return audit
        if time.monotonic() > deadline:
            raise Missing(
                f"{audit['pending']} events are still pending after {CAUGHT_UP_S:.0f} s. See the lines above."
            )
        time.sleep(0.1)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout  # it is a pipe
    for line in process.stdout:
        if LISTENS in line:
            return line.split(LISTENS)[1].split()[0]
    raise Missing("Headwater did not start; its reason is the line above.")


def _wait_ready(url: str) -> None:
    deadline = time.monotonic() + READY_S
    while httpx.get(f"{url}/health/ready", timeout=30).status_code != 200:
        if time.monotonic() > deadline:
            raise Missing(f"Headwater is not ready after {READY_S:.0f} s: ask {url}/health/ready.")
        time.sleep(0.1)


def _stop(process: subprocess.Popen[str]) -> None:
    process.terminate()
    try:
        process.wait(STOP_S)
    except subprocess.TimeoutExpired:
        process.kill()


def _short(path: Path) -> str:
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)


def _next_steps(data: str, onelake: str) -> str:
    steps = {
        f".venv/bin/headwater impact landing/customers customer_email --data {data}": "where does it end up, and how?",
        f".venv/bin/headwater events --data {data}": "what was sent, newest first",
        f".venv/bin/headwater audit --data {data}": "is every acknowledged event in exactly one table?",
        f".venv/bin/headwater up --data {data}": "start it again, and point your own Spark at it",
        f"{data}/lake/bronze/": "Delta tables: events, column_lineage, schemas and others",
        f"{onelake}/": "the pipeline's own tables, and spark.log",
    }
    width = max(map(len, steps))
    return "\n".join(f"  {step:<{width}}  {what}" for step, what in steps.items())


if __name__ == "__main__":
    sys.exit(main())
