"""The main job on real input: Spark's real listener posts to a real Headwater, then the tables are asked.

python -m demo.run [--data DIR] [--listener 1.53.0]
"""

import argparse
import contextlib
import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console

from demo.report import print_report
from tools.jars import Missing

LISTENS = "Headwater listens on "
READY_S = 60.0
CAUGHT_UP_S = 60.0
STOP_S = 30.0


def main() -> int:
    """Start Headwater, run the pipeline against it, wait until nothing is pending, print what landed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=Path("headwater-data/demo"), help="Headwater's data folder")
    parser.add_argument("--listener", default="1.53.0", help="version of the OpenLineage Spark listener")
    options = parser.parse_args()
    data = options.data.resolve()
    onelake = data.with_name(data.name + "-onelake")
    console = Console(width=None if sys.stdout.isatty() else 110, highlight=False)
    started = time.monotonic()
    try:
        key = secrets.token_urlsafe(24)
        with headwater(data, key) as url:
            console.print(f"Headwater listens on {url}, data in {_short(data)}")
            console.print(f"Spark runs the pipeline with listener {options.listener}, OneLake in {_short(onelake)}")
            run_pipeline(url, key, options.listener, onelake)
            audit = when_caught_up(url, key)
    except (Missing, httpx.HTTPError) as error:
        sys.stderr.write(f"demo: {error}\n")
        return 3
    print_report(console, data, audit)
    console.print(f"\nAll of it took {time.monotonic() - started:.0f} s. What next:")
    console.print(_next_steps(_short(data), _short(onelake)), soft_wrap=True)
    return 0 if audit["balanced"] else 1


@contextlib.contextmanager
def headwater(data: Path, key: str) -> Iterator[str]:
    """Run `headwater up` on a free port; give its address, and stop it in the end."""
    keys = json.dumps([{"name": "demo", "key": key, "roles": ["write", "read"]}])
    command = [str(Path(sys.executable).with_name("headwater")), "up", "--data", str(data), "--port", "0"]
    with subprocess.Popen(
        command, env=os.environ | {"HEADWATER_KEYS": keys}, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            url = _address(process)
            _wait_ready(url)
            yield url
        finally:
            _stop(process)


def run_pipeline(url: str, key: str, listener: str, onelake: Path) -> None:
    """Run the pipeline as a program of its own; raises Missing if it failed, after its own words."""
    command = [sys.executable, "-m", "demo.pipeline", "--url", url, "--listener", listener, "--lake", str(onelake)]
    root = Path(__file__).parents[1]
    done = subprocess.run(command, cwd=root, env=os.environ | {"HEADWATER_KEY": key}, check=False)
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
