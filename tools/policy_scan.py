"""Run inside checkov's environment by tools/policy.py: scan folders of Bicep, print what was found as JSON.

checkov's command exits with 0 although a file could not be parsed, and loads every other framework: hence its runner.
"""

import json
import logging
import sys
from pathlib import Path
from typing import Any

import checkov.arm.checks.resource  # type: ignore[import-not-found]  # noqa: F401  registers the checks for Bicep too
from checkov.bicep.runner import Runner  # type: ignore[import-not-found]
from checkov.runner_filter import RunnerFilter  # type: ignore[import-not-found]


class Crashes(logging.Handler):
    """Keeps the errors that checkov only logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
        self.found.append(record.getMessage())


def scan(folder: Path) -> dict[str, Any]:
    """Check every template below a folder."""
    crashes, runner = Crashes(), Runner()
    logging.getLogger().handlers = [crashes]
    report = runner.run(root_folder=str(folder), runner_filter=RunnerFilter(framework=["bicep"]))
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


if __name__ == "__main__":
    print(json.dumps([scan(Path(folder)) for folder in sys.argv[1:]]))
