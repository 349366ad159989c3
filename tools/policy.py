"""checkov, the policy linter of the Bicep files, in an environment of its own: it wants an older parser than ours.

`make setup` installs it once for each state of tools/checkov.lock; `lint` runs it.
"""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
LOCK = ROOT / "tools" / "checkov.lock"
ENVIRONMENT = ROOT / ".cache" / "checkov"
STAMP = ENVIRONMENT / "installed"


@dataclass(frozen=True)
class Report:
    """What checkov says about one folder.

    parsed, unparsed: files; passed, failed: check, file and resource; crashed: checks that could not judge.
    """

    parsed: list[str]
    unparsed: list[str]
    passed: list[tuple[str, str, str]]
    failed: list[tuple[str, str, str]]
    crashed: list[str]


def main() -> int:
    """Bring the environment in order; does nothing but hash when it already is."""
    try:
        install()
    except subprocess.CalledProcessError as error:
        sys.stderr.write(f"policy: checkov could not be installed: {(error.stderr or '').strip()[-300:]}\n")
        return 3
    return 0


def install() -> None:
    """Install what the lock file names, unless that is what is there."""
    state = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if STAMP.exists() and STAMP.read_text() == state:
        return
    print("Installing checkov, the linter of the Bicep files (a minute or two, once)", flush=True)
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)
    _run([sys.executable, "-m", "venv", str(ENVIRONMENT)])
    pip = [_python(), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--require-hashes", "--no-deps", "--requirement", str(LOCK)])
    STAMP.write_text(state)


def lint(folders: Sequence[Path]) -> list[Report]:
    """Check all templates below each folder; one process, one report a folder."""
    install()
    done = _run([_python(), str(ROOT / "tools" / "policy_scan.py"), *map(str, folders)])
    return [_report(found) for found in json.loads(done.stdout)]


def _report(found: dict[str, Any]) -> Report:
    checks = {part: [tuple(item) for item in found.pop(part)] for part in ("passed", "failed")}
    return Report(**found, **checks)


def _python() -> str:
    return str(ENVIRONMENT / "bin" / "python")


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT)


if __name__ == "__main__":
    sys.exit(main())
