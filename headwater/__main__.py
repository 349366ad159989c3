"""Entry points of the commands `headwater` and `headwater-spark`. A missing extra is reported by name."""

import gc
import sys
from importlib import import_module
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from headwater.common.errors import WrongSetting
from headwater.common.extras import require_extra

_HELP = Path(__file__).parent / "cli" / "help.txt"
"""The text of `headwater --help` without the extra `server`; `python -m tools.reference` generates it."""


def main() -> None:
    """Run `headwater`. Without the extra `server`, only `--help` and `--version` work."""
    if sys.argv[1:] in ([], ["--help"], ["--version"]) and find_spec("typer") is None:
        is_version = sys.argv[1:] == ["--version"]
        sys.stdout.write(f"headwater {version('headwater')}\n" if is_version else _HELP.read_text("utf-8"))
        return
    _run("headwater.cli", "server")


def spark_main() -> None:
    """Run `headwater-spark` in the Spark session of a cluster."""
    _run("headwater.spark.__main__", "spark")


def _run(module: str, needs: str) -> None:
    gc.disable()  # imports create no garbage: collecting while importing took a third of the time of a short command
    try:
        with require_extra(needs):
            found = import_module(module)
    except WrongSetting as error:
        sys.stderr.write(f"headwater: {error}\n")
        sys.exit(3)
    gc.freeze()
    gc.enable()
    found.main()


if __name__ == "__main__":
    main()
