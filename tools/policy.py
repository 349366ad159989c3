"""Install checkov, the policy linter of the templates and the chart, in a separate environment.

Its dependencies conflict with those of the project. `make setup-test` installs it into `.cache/checkov/`
(`python -m tools.policy`). The lock file is created by `uv pip compile tools/checkov.in --universal --python-version
3.11 --generate-hashes --no-emit-index-url --no-header -o locks/checkov.txt`.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from tools.locked_environment import ROOT, in_order, locked_environment

LOCK = ROOT / "locks/checkov.txt"
HOME = ROOT / ".cache" / "checkov"
SCAN = ROOT / "tools" / "policy_scan.py"

Framework = Literal["bicep", "kubernetes"]


@dataclass(frozen=True)
class Report:
    """The result of checkov for one folder.

    parsed, unparsed: files; passed, failed: check, file and resource; crashed: error messages of crashed checks.
    """

    parsed: list[str]
    unparsed: list[str]
    passed: list[tuple[str, str, str]]
    failed: list[tuple[str, str, str]]
    crashed: list[str]


def environment() -> Path:
    """Return the interpreter with checkov; installs it if it is missing or the lock file has changed."""
    return locked_environment(HOME, LOCK, sys.executable, "checkov, the linter of the Bicep files and the chart,")


def lint(framework: Framework, folders: Sequence[Path]) -> list[Report]:
    """Check all files of a framework below each folder in one process; returns one report per folder."""
    command = [str(environment()), str(SCAN), framework, *map(str, folders)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return [_report(found) for found in json.loads(done.stdout)]


def main() -> int:
    """Install the environment; does nothing if it is complete."""
    return in_order("policy", lambda: f"Linter of the Bicep files: {environment().relative_to(ROOT)}")


def _report(found: dict[str, Any]) -> Report:
    passed, failed = ([(item[0], item[1], item[2]) for item in found.pop(part)] for part in ("passed", "failed"))
    return Report(**found, passed=passed, failed=failed)


if __name__ == "__main__":
    sys.exit(main())
