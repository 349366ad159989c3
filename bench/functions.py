"""What a cold start pays for importing a trigger, in fresh processes of the Function App's own Python 3.13.

The package is unpacked as the platform unpacks it: its own modules have no byte code, those of packages do.
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
print(time.perf_counter() - began)
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
    """Import each app as its settings in Azure make it; `azure.functions` is what no app goes without."""
    with tempfile.TemporaryDirectory() as folder:
        package = _unpacked(Path(folder))
        floor = middle([_seconds(package, _FLOOR, "") for _ in range(rounds)])
        return [
            _figure("receiver trigger: import", package, '["receiver"]', 1.0, floor, rounds),
            _figure("parser trigger: import", package, '["parser"]', 1.5, floor, rounds),
            _figure("parser, maintenance and api: import", package, '["parser", "maintenance", "api"]', None, floor, rounds),
        ]


def _figure(name: str, package: Path, triggers: str, goal: float | None, floor: float, rounds: int) -> Figure:
    value = middle([_seconds(package, _APP, triggers) for _ in range(rounds)])
    return Figure(name, value, "s", goal, floor=floor, ratio=value / floor)


def _seconds(package: Path, statement: str, triggers: str) -> float:
    given = {**_AZURE, "HEADWATER_TRIGGERS": triggers, "HEADWATER_DATA": str(package.parent / "data")}
    command = [str(environment()), "-I", "-B", "-c", _TIMED.format(statement), str(package)]
    done = subprocess.run(command, env={**os.environ, **given}, capture_output=True, text=True, check=True)
    return float(done.stdout)


def _unpacked(folder: Path) -> Path:
    write_package(folder / "app.zip")
    with zipfile.ZipFile(folder / "app.zip") as package:
        package.extractall(folder / "wwwroot")
    return folder / "wwwroot"


if __name__ == "__main__":
    from bench.figures import show

    show("Function App", run())
