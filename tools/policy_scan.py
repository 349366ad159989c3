"""Scan folders with checkov and print the results as JSON. `tools/policy.py` runs this in checkov's environment.

This replaces checkov's command, which exits with 0 if a file cannot be parsed, and loads all frameworks.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from checkov.runner_filter import RunnerFilter  # type: ignore[import-not-found]

CHECKS = {"bicep": ["checkov.arm.checks.resource"]}
"""Modules that register a framework's checks when imported, if its runner does not. Bicep uses the checks of ARM."""


class Crashes(logging.Handler):
    """Collects the errors that checkov only logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Collect one message."""
        self.found.append(record.getMessage())


def scan(framework: str, folder: Path) -> dict[str, Any]:
    """Check every file of a framework below a folder."""
    crashes, runner = Crashes(), import_module(f"checkov.{framework}.runner").Runner()
    logging.getLogger().handlers = [crashes]
    report = runner.run(root_folder=str(folder), runner_filter=RunnerFilter(framework=[framework]))
    return {
        "parsed": sorted(_below(folder, path) for path in runner.definitions),
        "unparsed": sorted(_below(folder, path) for path in report.parsing_errors),
        "passed": sorted(_check(record) for record in report.passed_checks),
        "failed": sorted(_check(record) for record in report.failed_checks),
        "crashed": crashes.found,
    }


def _below(folder: Path, path: object) -> str:
    return Path(str(path)).resolve().relative_to(folder.resolve()).as_posix()


def _check(record: Any) -> tuple[str, str, str]:
    return record.check_id, record.file_path.lstrip("/"), record.resource.rpartition(".")[2]


def main(framework: str, *folders: str) -> None:
    """Scan each folder."""
    for name in CHECKS.get(framework, ()):
        import_module(name)
    print(json.dumps([scan(framework, Path(folder)) for folder in folders]))


if __name__ == "__main__":
    main(*sys.argv[1:])
