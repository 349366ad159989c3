"""Run the demo: Spark's OpenLineage listener sends events to a new Headwater, which then answers questions.

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
LINEAGE = Path(__file__).parent / "lineage.yml"
KEY = "of-the-demo"
"""The key that the listener sends. A Headwater on loopback without configured keys accepts any key."""


class Up(NamedTuple):
    """The process and the address of a running Headwater."""

    process: subprocess.Popen[str]
    url: str


def main() -> int:
    """Start Headwater, run the pipeline, wait until no event is pending, and print the results.

    On a terminal, Headwater continues to run until Ctrl-C.
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
            declare_lineage(up.url)
            console.print(f"Spark runs the pipeline with listener {options.listener}, OneLake in {_short(onelake)}")
            run_pipeline(up.url, options.listener, onelake)
            audit = when_caught_up(up.url, KEY)
            print_report(console, data, audit)
            console.print(f"\nThe demo took {time.monotonic() - started:.0f} s. Next steps:")
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
    """Copy the demo's rules files to the rules folder of a data folder; existing files are not replaced."""
    folder = data / "rules"
    folder.mkdir(parents=True, exist_ok=True)
    for file in RULES.iterdir():
        if not (folder / file.name).exists():
            shutil.copyfile(file, folder / file.name)


def declare_lineage(url: str) -> None:
    """Declare what the listener does not report of some stages; raises Missing if Headwater does not accept it."""
    command = [str(Path(sys.executable).with_name("headwater")), "declare", str(LINEAGE), "--server", url]
    done = subprocess.run(command, env=os.environ | {"HEADWATER_KEY": KEY}, check=False)
    if done.returncode:
        raise Missing(f"Headwater did not accept {_short(LINEAGE)}. Its reasons are above.")


@contextlib.contextmanager
def headwater(data: Path) -> Iterator[Up]:
    """Run `headwater up` on a free port without keys; yields it, and stops it afterwards."""
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
    """Print the address of the dashboard and pages to try, and wait for Ctrl-C; raises Missing if Headwater exits."""
    console.print(f"\nThe dashboard is at {up.url}/ (stop with Ctrl-C). Three things to try:")
    for title, address in TO_TRY.items():
        console.print(f"  {title}\n    {up.url}{address}", soft_wrap=True)
    with contextlib.suppress(KeyboardInterrupt):
        raise Missing(f"Headwater exited with status {up.process.wait()}. Its output above contains the reason.")
    console.print("\nHeadwater is stopping.")


TO_TRY = {
    "follow an e-mail address from the landing zone to where it is readable": "/lineage?"
    + urlencode({"dataset": SOURCE["dataset"], "column": SOURCE["column"]}),
    "see where personal data is exposed, masked, or unknown": "/surface?" + urlencode(SOURCE),
    "send events from your Spark, Airflow or dbt, or send a test event": "/connect",
}
"""What to try -> the address of the page."""


def run_pipeline(url: str, listener: str, onelake: Path) -> None:
    """Run the pipeline in a separate process; raises Missing if it fails."""
    command = [sys.executable, "-m", "demo.pipeline", "--url", url, "--listener", listener, "--lake", str(onelake)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=os.environ | {"HEADWATER_KEY": KEY}, check=False)
    if done.returncode:
        raise Missing(f"The pipeline exited with status {done.returncode}. See above and {onelake}/spark.log.")


def when_caught_up(url: str, key: str) -> dict[str, Any]:
    """Wait until no acknowledged event is pending, then return the audit."""
    deadline = time.monotonic() + CAUGHT_UP_S
    headers = {"authorization": f"Bearer {key}"}
    while True:
        answer = httpx.get(f"{url}/api/headwater/v1/audit", headers=headers, timeout=30)
        audit: dict[str, Any] = answer.raise_for_status().json()
        if audit["pending"] == 0:
            return audit
        if time.monotonic() > deadline:
            raise Missing(
                f"{audit['pending']} events are still pending after {CAUGHT_UP_S:.0f} s. See the output above."
            )
        time.sleep(0.1)


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout  # it is a pipe
    for line in process.stdout:
        if LISTENS in line:
            return line.split(LISTENS)[1].split()[0]
    raise Missing("Headwater did not start. The line above contains the reason.")


def _wait_ready(url: str) -> None:
    deadline = time.monotonic() + READY_S
    while httpx.get(f"{url}/health/ready", timeout=30).status_code != 200:
        if time.monotonic() > deadline:
            raise Missing(f"Headwater is not ready after {READY_S:.0f} s. See {url}/health/ready.")
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
        f".venv/bin/headwater impact landing/customers customer_email --data {data}": "show where the column ends up",
        f".venv/bin/headwater events --data {data}": "list the received events, newest first",
        f".venv/bin/headwater audit --data {data}": "check that every acknowledged event is stored exactly once",
        f".venv/bin/headwater up --data {data}": "start Headwater again, for example for your own Spark",
        f"{data}/lake/bronze/": "Delta tables: events, column_lineage, schemas and others",
        f"{onelake}/": "the pipeline's tables and spark.log",
    }
    width = max(map(len, steps))
    return "\n".join(f"  {step:<{width}}  {what}" for step, what in steps.items())


if __name__ == "__main__":
    sys.exit(main())
