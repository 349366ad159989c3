"""Programs of Debian's that only tests need: Chromium for the dashboard, a C compiler for cuts of the power.

Run by `make setup-test`: `python -m tools.programs`. What is missing is installed where we may install packages (root,
apt); else the message says how.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Choice:
    """By what names one program that will do goes, and Debian's packages of it."""

    names: Sequence[str]
    packages: Sequence[str]

    def find(self) -> str | None:
        """Return the first that is installed."""
        return next((found for name in self.names if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Program:
    """What tests need, and what will do, the best first."""

    needed_for: str
    variable: str
    """Of the environment, where it names the program."""

    choices: Sequence[Choice]

    def find(self) -> str | None:
        """Return what the variable names, else the best that is installed."""
        named = os.environ.get(self.variable)
        return named or next((found for choice in self.choices if (found := choice.find())), None)

    def see_to(self) -> str | None:
        """Return what to use: the best that is installed by now; a better one is asked of apt once."""
        if self.variable in os.environ:
            return self.find()
        for choice in self.choices:
            found = choice.find() or (_may_be_had(choice) and choice.find())
            if found:
                return found
        return None


_FONTS = ("fonts-noto-color-emoji", "fonts-dejavu-core")
_SHELL = Choice(("chromium-headless-shell", "chrome-headless-shell"), ("chromium-headless-shell", *_FONTS))
_WHOLE = Choice(("chromium", "chromium-browser", "google-chrome"), ("chromium", *_FONTS))

CHROMIUM = Program("the tests of the dashboard", "CHROMIUM", (_SHELL, _WHOLE))
"""Its shell without windows draws and runs the same for half the processor: 107 s of all tests in place of 203."""

WHOLE_CHROMIUM = Program("figures of the dashboard", "CHROMIUM", (_WHOLE, _SHELL))
"""What people look with."""

COMPILER = Program(
    "the tests that cut the power", "C_COMPILER", (Choice(("cc", "gcc", "clang"), ("gcc", "libc6-dev")),)
)

_TRIED = Path(__file__).parents[1] / ".cache" / "packages-tried"
"""What apt was asked for, a line each: what it does not have is not asked for each time."""


def main() -> int:
    """See to it that there are all; 3 where one is missing."""
    missing = 0
    for each in (CHROMIUM, COMPILER):
        if found := each.see_to():
            print(f"For {each.needed_for}: {found}")
        else:
            missing = 3
            last = each.choices[-1]
            sys.stderr.write(
                f"{last.names[0]}: {each.needed_for} need it. Debian or Ubuntu: `sudo apt-get install "
                f"{' '.join(last.packages)}`, elsewhere set {each.variable} to the program. Then run `make setup-test` "
                "again.\n"
            )
    return missing


def _may_be_had(choice: Choice) -> bool:
    """Ask apt for a program, where we may and have not yet; tells whether it was installed."""
    tried = _TRIED.read_text().splitlines() if _TRIED.exists() else []
    if os.geteuid() != 0 or not shutil.which("apt-get") or choice.packages[0] in tried:
        return False
    print(f"Installing {' '.join(choice.packages)} with apt-get (up to 400 MB, once)", flush=True)
    _TRIED.parent.mkdir(exist_ok=True)
    _TRIED.write_text("\n".join([*tried, choice.packages[0], ""]))
    _apt("update")
    return _apt("install", "--yes", "--no-install-recommends", *choice.packages)


def _apt(*command: str) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *command], env=environment, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
