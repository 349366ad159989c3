"""Entry points of the commands `headwater` and `headwater-spark`. A missing extra is reported by name."""

import gc
import sys
from importlib import import_module

from headwater.common.errors import WrongSetting
from headwater.common.extras import extra


def main() -> None:
    """Run `headwater`."""
    _run("headwater.cli", "server")


def spark_main() -> None:
    """Run `headwater-spark` in the Spark session of a cluster."""
    _run("headwater.spark.__main__", "spark")


def _run(module: str, needs: str) -> None:
    gc.disable()  # imports create no garbage: collecting while importing took a third of the time of a short command
    try:
        with extra(needs):
            found = import_module(module)
    except WrongSetting as error:
        sys.stderr.write(f"headwater: {error}\n")
        sys.exit(3)
    gc.freeze()
    gc.enable()
    found.main()


if __name__ == "__main__":
    main()
