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
        """Return what to use: one that is missing is asked of apt, and once a better one than is there."""
        best = self.choices[0]
        if _may_install() and not self.find():
            any(map(_install, self.choices))  # the first that apt has
        elif _may_install() and self.variable not in os.environ and not best.find() and _is_first_time(best):
            _install(best)
        return self.find()


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


def _may_install() -> bool:
    return os.geteuid() == 0 and shutil.which("apt-get") is not None


def _is_first_time(choice: Choice) -> bool:
    """Tell whether apt was never asked for it from here: what it does not have is not asked for each time."""
    asked = Path(__file__).parents[1] / ".cache" / f"asked-for-{choice.packages[0]}"
    if asked.exists():
        return False
    asked.parent.mkdir(exist_ok=True)
    asked.touch()
    return True


def _install(choice: Choice) -> bool:
    """Install a program; tells whether apt could."""
    print(f"Installing {' '.join(choice.packages)} with apt-get (up to 400 MB, once)", flush=True)
    _apt("update")
    return _apt("install", "--yes", "--no-install-recommends", *choice.packages)


def _apt(*command: str) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *command], env=environment, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
