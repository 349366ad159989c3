"""DataHub's own package in an environment of its own: tests let it read what we would send.

`make setup-test` installs it (`python -m tools.datahub_env`); it lies in `.cache/datahub/`. The lock file is made by
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
    """Return the interpreter that has it, which is installed if it is not there or the lock has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "DataHub's own package")


def judged(proposals: Iterable[Any]) -> tuple[int, list[dict[str, Any]]]:
    """Return how many proposals it read, and those that it would not take, each with what is wrong; one process."""
    lines = "".join(f"{json.dumps(proposal)}\n" for proposal in proposals)
    *wrong, last = _judge(given=lines)
    return last["judged"], wrong


def file_source(path: Path) -> list[dict[str, Any]]:
    """Return the proposals that DataHub's own file source reads of a file, in order."""
    return _judge("--file", str(path))


def topic_schema() -> dict[str, Any]:
    """Return the Avro schema of its topic of proposals."""
    (found,) = _judge("--schema")
    return found


def _judge(*arguments: str, given: str = "") -> list[dict[str, Any]]:
    command = [str(environment()), str(JUDGE), *arguments]
    done = subprocess.run(command, check=True, input=given, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def main() -> int:
    """Bring the environment in order; does nothing when it already is."""
    return in_order("datahub", lambda: f"DataHub's own package: {environment().relative_to(ROOT)}")


if __name__ == "__main__":
    sys.exit(main())
