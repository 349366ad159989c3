"""Install DataHub's package in a separate environment, so that tests can validate metadata for DataHub with it.

`make setup-test` installs it into `.cache/datahub/` (`python -m tools.datahub_env`). The lock file is created by
`uv pip compile tools/datahub.in --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-header
-o locks/datahub.txt`.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/datahub.txt"
HOME = ROOT / ".cache" / "datahub"
JUDGE = ROOT / "tools" / "datahub_judge.py"


def environment() -> Path:
    """Return the interpreter with DataHub's package; installs it if it is missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "DataHub's package")


def judged(proposals: Iterable[Any]) -> tuple[int, list[dict[str, Any]]]:
    """Validate proposals in one process; returns their number, and the invalid ones with their errors."""
    lines = "".join(f"{json.dumps(proposal)}\n" for proposal in proposals)
    *wrong, last = _judge(given=lines)
    return last["judged"], wrong


def file_source(path: Path) -> list[dict[str, Any]]:
    """Return the proposals that DataHub's file source reads from a file, in order."""
    return _judge("--file", str(path))


def topic_schema() -> dict[str, Any]:
    """Return the Avro schema of DataHub's topic for metadata change proposals."""
    (found,) = _judge("--schema")
    return found


def _judge(*arguments: str, given: str = "") -> list[dict[str, Any]]:
    command = [str(environment()), str(JUDGE), *arguments]
    done = subprocess.run(command, check=True, input=given, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Install the environment; does nothing if it is complete."""
    return in_order("datahub", lambda: f"DataHub's package: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
