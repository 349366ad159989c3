"""Programs for Node that tests run, installed once with npm into `.cache/npm/`: `tools/npm/package.json` says which.

Run by `make setup-test`. The lock file holds the hash of every package; npm checks them.
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
    """Return the command that runs a program of the packages, which are installed if they are not; raises Missing."""
    install()
    return [_tool("node"), str(program)]


def install() -> bool:
    """Install what the lock file says, once per state of it; False if it is there. Raises Missing."""
    wanted, stamp = (SOURCE / _LOCK).read_text(), CACHE / "installed.json"
    CACHE.mkdir(parents=True, exist_ok=True)
    with (CACHE / "installing.lock").open("w") as alone:  # tests start several processes
        fcntl.flock(alone, fcntl.LOCK_EX)
        if stamp.exists() and stamp.read_text() == wanted:
            return False
        npm = _tool("npm")
        print("Installing Azurite and the analyser of Kusto queries with npm (about 220 MB, once)", flush=True)
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
    """Bring the cache in order; does nothing when it already is."""
    return in_order(
        "npm packages",
        lambda: f"Programs for Node {'installed' if install() else 'checked'} in {CACHE.relative_to(ROOT)}.",
    )


def _tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Missing(f"There is no `{name}` on this machine, which tests of Azure's storage need. {_INSTALL}")
    return found


if __name__ == "__main__":
    sys.exit(main())
