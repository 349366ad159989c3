"""Measure what importing a trigger adds to a cold start, in new processes of the Function App's Python 3.13.

The package is unpacked as on the platform: its own modules have no bytecode, the installed packages have it.
"""

import os
import subprocess
import tempfile
import zipfile
from pathlib import Path

from bench.figures import ROUNDS, Figure, middle
from tools.function_zip import write_package
from tools.functions_env import environment

_TIMED = """
import sys, time
sys.path.insert(0, sys.argv[1])
began = time.perf_counter()
{}
print(time.perf_counter() - began, time.process_time())
"""
_FLOOR = "import azure.functions"
_APP = "import function_app"

_AZURE = {
    "HEADWATER_LOG": "event_hub",
    "HEADWATER_HUB_NAMESPACE": "example.servicebus.windows.net",
    "HEADWATER_LAKE": "abfss://lake@example.dfs.core.windows.net",
    "HEADWATER_CLAIMS_URL": "https://example.blob.core.windows.net/claims",
    "HEADWATER_KEYS": '[{"name": "bench", "key": "bench-key"}]',
}


def run(rounds: int = ROUNDS) -> list[Figure]:
    """Import each app with its Azure settings. The floor is the import of `azure.functions`, which every app needs.

    CPU time includes the start of Python; other work on the machine does not affect it.
    """
    with tempfile.TemporaryDirectory() as folder:
        package = _unpacked(Path(folder))
        floor = _measured(package, _FLOOR, "[]", rounds)
        figures = []
        for name, triggers, goal in (
            ("receiver trigger", '["receiver"]', 1.0),
            ("parser trigger", '["parser"]', 1.5),
            ("parser, maintenance and api", '["parser", "maintenance", "api"]', None),
        ):
            wall, cpu = _measured(package, _APP, triggers, rounds)
            figures.append(Figure(f"{name}: import", wall, "s", goal, floor=floor[0], ratio=wall / floor[0]))
            figures.append(Figure(f"{name}: CPU", cpu, "s", floor=floor[1], ratio=cpu / floor[1]))
        return figures


def _measured(package: Path, statement: str, triggers: str, rounds: int) -> tuple[float, float]:
    """Return the median wall time and the median CPU time."""
    found = [_seconds(package, statement, triggers) for _ in range(rounds)]
    return middle([wall for wall, _ in found]), middle([cpu for _, cpu in found])


def _seconds(package: Path, statement: str, triggers: str) -> tuple[float, float]:
    given = {**_AZURE, "HEADWATER_TRIGGERS": triggers, "HEADWATER_DATA": str(package.parent / "data")}
    command = [str(environment()), "-I", "-B", "-c", _TIMED.format(statement), str(package)]
    done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    wall, cpu = map(float, done.stdout.split())
    return wall, cpu


def _unpacked(folder: Path) -> Path:
    write_package(folder / "app.zip")
    with zipfile.ZipFile(folder / "app.zip") as package:
        package.extractall(folder / "wwwroot")
    return folder / "wwwroot"


if __name__ == "__main__":
    from bench.figures import show

    show("Function App", run())
