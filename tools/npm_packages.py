"""Install Node programs for tests with npm into `.cache/npm/`; `tools/npm/package.json` lists them.

`make setup-test` runs this. npm checks the hash of every package in the lock file.
"""

import fcntl
import shutil
import subprocess
import sys
from pathlib import Path

from tools.locked_environment import ROOT, Missing, in_order

SOURCE = ROOT / "tools" / "npm"
CACHE = ROOT / ".cache" / "npm"

_LOCK = "package-lock.json"
_INSTALL = "Debian or Ubuntu: `sudo apt-get install nodejs npm`. Then run `make setup-test` again."


def node(program: Path) -> list[str]:
    """Return the command that runs a program of the packages; installs them if they are missing. Raises Missing."""
    install()
    return [_tool("node"), str(program)]


def install() -> bool:
    """Install the packages of the lock file; returns False if they are already installed. Raises Missing."""
    wanted, stamp = (SOURCE / _LOCK).read_text(), CACHE / "installed.json"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "installing.lock").open("w") as lock:  # several test processes may install at the same time
        fcntl.flock(lock, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return False
        npm = _tool("npm")
        print("Installing Azurite and the Kusto analyser with npm (about 220 MB, once)", flush=True)
        for name in ("package.json", _LOCK):
            shutil.copyfile(SOURCE / name, CACHE / name)
        command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
        done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
        if done.returncode:
            errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
            why = errors[0] if errors else f"status {done.returncode}"
            raise Missing(f"npm could not install {SOURCE.relative_to(ROOT)}: {why}")
        stamp.write_text(wanted)
    return True


def main() -> int:
    """Install the packages; does nothing if they are complete."""
    return in_order(
        "npm packages",
        lambda: f"Programs for Node {'installed' if install() else 'checked'} in {CACHE.relative_to(ROOT)}.",
    )


def _tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Missing(f"`{name}`, which the tests of Azure Storage need, is missing. {_INSTALL}")
    return found


if __name__ == "__main__":
    sys.exit(main())
