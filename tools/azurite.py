"""Azurite, the emulator of Azure's blob storage that the tests talk to: installed once with npm into `.cache/npm/`.

Run by `make setup-test`. The lock file holds the hash of every package; npm checks them.
"""

import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "tools" / "npm"
CACHE = ROOT / ".cache" / "npm"
BLOB_SERVER = CACHE / "node_modules" / "azurite" / "dist" / "src" / "blob" / "main.js"

_LOCK = "package-lock.json"
_INSTALL = "Debian or Ubuntu: `sudo apt-get install nodejs npm`. Then run `make setup-test` again."


class Missing(Exception):
    """Something of this machine is missing or wrong; the message is one line and names the fix."""


def blob_command() -> list[str]:
    """Return the command that starts the blob server, installed if it is not; raises Missing."""
    _install()
    return [_tool("node"), str(BLOB_SERVER)]


def main() -> int:
    """Bring the cache in order; does nothing when it already is."""
    try:
        installed = _install()
    except Missing as error:
        sys.stderr.write(f"azurite: {error}\n")
        return 3
    print(f"Azurite {'installed' if installed else 'checked'} in {CACHE.relative_to(ROOT)}.")
    return 0


def _install() -> bool:
    """Install what the lock file says, once per state of it; False if it is there."""
    wanted, stamp = (SOURCE / _LOCK).read_text(), CACHE / "installed.json"
    if BLOB_SERVER.exists() and stamp.exists() and stamp.read_text() == wanted:
        return False
    npm = _tool("npm")
    print("Installing Azurite with npm (about 190 MB, once)", flush=True)
    CACHE.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", _LOCK):
        shutil.copyfile(SOURCE / name, CACHE / name)
    command = [npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier"]
    done = subprocess.run(command, cwd=CACHE, capture_output=True, text=True, check=False)
    if done.returncode or not BLOB_SERVER.exists():
        errors = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        raise Missing(f"npm could not install Azurite: {errors[0] if errors else f'status {done.returncode}'}")
    stamp.write_text(wanted)
    return True


def _tool(name: str) -> str:
    found = shutil.which(name)
    if not found:
        raise Missing(f"There is no `{name}` on this machine, which the emulator of Azure storage needs. {_INSTALL}")
    return found


if __name__ == "__main__":
    sys.exit(main())
