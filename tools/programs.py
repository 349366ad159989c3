"""Install Debian programs that only tests need: Chromium for the dashboard, and a C compiler for power-cut tests.

`make setup-test` runs this (`python -m tools.programs`). It installs missing programs if it may (as root, with apt);
otherwise it prints the command.
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
    """The executable names of one suitable program, and its Debian packages."""

    names: Sequence[str]
    packages: Sequence[str]

    def find(self) -> str | None:
        """Return the first name that is installed, or None."""
        return next((found for name in self.names if (found := shutil.which(name))), None)


@dataclass(frozen=True)
class Program:
    """A program that tests need, with the suitable choices in order of preference."""

    needed_for: str
    variable: str
    """The environment variable that can contain the path of the program."""

    choices: Sequence[Choice]

    def find(self) -> str | None:
        """Return the path in the environment variable, or the first installed choice."""
        named = os.environ.get(self.variable)
        return named or next((found for choice in self.choices if (found := choice.find())), None)

    def see_to(self) -> str | None:
        """Return the program to use; installs a missing one, and once tries to install a better one."""
        best = self.choices[0]
        if _may_install() and not self.find():
            any(map(_install, self.choices))  # stops at the first choice that apt can install
        elif _may_install() and self.variable not in os.environ and not best.find() and _is_first_time(best):
            _install(best)
        return self.find()


_FONTS = ("fonts-noto-color-emoji", "fonts-dejavu-core")
_SHELL = Choice(("chromium-headless-shell", "chrome-headless-shell"), ("chromium-headless-shell", *_FONTS))
_WHOLE = Choice(("chromium", "chromium-browser", "google-chrome"), ("chromium", *_FONTS))

CHROMIUM = Program("the tests of the dashboard", "CHROMIUM", (_SHELL, _WHOLE))
"""The headless shell renders and runs the same as Chromium with half the CPU time (107 s, not 203 s, for all tests)."""

WHOLE_CHROMIUM = Program("figures of the dashboard", "CHROMIUM", (_WHOLE, _SHELL))
"""The browser that users have."""

COMPILER = Program(
    "the tests that cut the power", "C_COMPILER", (Choice(("cc", "gcc", "clang"), ("gcc", "libc6-dev")),)
)


def main() -> int:
    """Find or install all programs; returns 3 if one is missing."""
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
    """Return whether the program was never requested from apt, so that a failed request is not repeated every time."""
    asked = Path(__file__).parents[1] / ".cache" / f"asked-for-{choice.packages[0]}"
    if asked.exists():
        return False
    asked.parent.mkdir(exist_ok=True)
    asked.touch()
    return True


def _install(choice: Choice) -> bool:
    """Install a program with apt; returns whether it succeeded."""
    print(f"Installing {' '.join(choice.packages)} with apt-get (up to 400 MB, once)", flush=True)
    _apt("update")
    return _apt("install", "--yes", "--no-install-recommends", *choice.packages)


def _apt(*command: str) -> bool:
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    return subprocess.run(["apt-get", *command], env=environment, capture_output=True, check=False).returncode == 0


if __name__ == "__main__":
    sys.exit(main())
