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


@dataclass(frozen=True)
class Program:
    """One program, by what names it goes, and Debian's packages of it."""

    needed_for: str
    variable: str
    """Of the environment, where it names the program."""

    names: Sequence[str]
    packages: Sequence[str]

    def find(self) -> str | None:
        """Return what the variable names, else the first that is installed."""
        named = os.environ.get(self.variable)
        return named or next((found for name in self.names if (found := shutil.which(name))), None)


CHROMIUM = Program(
    "the tests of the dashboard",
    "CHROMIUM",
    ("chromium", "chromium-browser", "google-chrome"),
    ("chromium", "fonts-noto-color-emoji", "fonts-dejavu-core"),
)
COMPILER = Program("the tests that cut the power", "C_COMPILER", ("cc", "gcc", "clang"), ("gcc", "libc6-dev"))


def main() -> int:
    """See to it that there are all; 3 where one is missing."""
    programs = (CHROMIUM, COMPILER)
    missing = [each for each in programs if not each.find()]
    if missing:
        _install([package for each in missing for package in each.packages])
    for each in programs:
        found = each.find()
        if found:
            print(f"For {each.needed_for}: {found}")
        else:
            sys.stderr.write(
                f"{each.names[0]}: {each.needed_for} need it. Debian or Ubuntu: `sudo apt-get install "
                f"{' '.join(each.packages)}`, elsewhere set {each.variable} to the program. Then run `make setup-test` "
                "again.\n"
            )
    return 0 if all(each.find() for each in programs) else 3


def _install(packages: Sequence[str]) -> None:
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        return
    print(f"Installing {' '.join(packages)} with apt-get (Chromium is about 400 MB, once)", flush=True)
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", *command], env=environment, capture_output=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
