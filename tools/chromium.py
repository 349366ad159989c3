"""Chromium, in which the tests look at the dashboard. Run by `make setup-test`: `python -m tools.chromium`.

Where it is missing and we may install packages (root, apt), it is installed; else the message says how.
"""

import os
import shutil
import subprocess
import sys

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_INSTALL = (
    "apt-get",
    "install",
    "--yes",
    "--no-install-recommends",
    "chromium",
    "fonts-noto-color-emoji",
    "fonts-dejavu-core",
)


def find() -> str | None:
    """Return the browser: what CHROMIUM names, else the first that is installed."""
    named = os.environ.get("CHROMIUM")
    return named or next((found for name in _NAMES if (found := shutil.which(name))), None)


def main() -> int:
    """See to it that there is a browser."""
    found = find() or _installed()
    if not found:
        sys.stderr.write(
            "chromium: the tests of the dashboard need it. Debian or Ubuntu: `sudo apt-get install chromium`, "
            "elsewhere set CHROMIUM to the program. Then run `make setup-test` again.\n"
        )
        return 3
    print(f"Browser for the dashboard's tests: {found}")
    return 0


def _installed() -> str | None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return None
    print("Installing Chromium with apt-get (about 400 MB, once)", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (("apt-get", "update"), _INSTALL):
        subprocess.run(command, env=environment, capture_output=True, check=False)
    return find()


if __name__ == "__main__":
    sys.exit(main())
