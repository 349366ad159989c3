"""Run inside checkov's environment by tools/policy.py: scan folders of one framework, print what was found as JSON.

checkov's command exits with 0 although a file could not be parsed, and loads every other framework: hence its runner.
"""

import json
import logging
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from checkov.runner_filter import RunnerFilter  # type: ignore[import-not-found]

CHECKS = {"bicep": ["checkov.arm.checks.resource"]}
"""Modules whose import registers a framework's checks, where its runner does not: those of ARM are Bicep's, too."""


class Crashes(logging.Handler):
    """Keeps the errors that checkov only logs."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Keep one line."""
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
