"""Scenarios of OpenLineage's compatibility suite, laid out as the suite has them, for our entry's validator."""

import json
from pathlib import Path
from typing import Any

from tests.support.data.samples import sample_lines
from tests.support.paths import ROOT

COMPAT = ROOT / "compat"
CONSUMER = COMPAT / "consumer" / "consumers" / "headwater"
VALIDATOR = CONSUMER / "validator" / "validator.py"

RECORDED = {
    "simple_run_event": ("simple-run-event",),
    "spark_dataproc_simple_producer_test": ("spark-dataproc-simple",),
    "spark_dataproc_simple_producer_test_complete": ("spark-dataproc-complete", "spark-dataproc-simple"),
}
"""The suite's events. `tests/fixtures/events` has each once; the last scenario repeats those of the one before."""

STAND_INS = ("CLL", "airflow", "spark_dataproc_bigquery_shakespare")
"""Events of our own, of the suite's names, ids, times and shapes."""


def lay_out(folder: Path) -> None:
    """Write every scenario into a folder: its `config.json`, and each event as a file."""
    for name, files in RECORDED.items():
        _write(folder / name, [line for file in files for line in sample_lines(f"compat-{file}.ndjson")])
    for name in STAND_INS:
        _write(folder / name, (COMPAT / "scenarios" / f"{name}.ndjson").read_bytes().splitlines())


def _write(scenario: Path, events: list[bytes]) -> None:
    (scenario / "events").mkdir(parents=True)
    (scenario / "config.json").write_text("{}")
    for number, event in enumerate(events, 1):
        (scenario / "events" / f"{number:02}.json").write_bytes(event)


def counted(report: list[dict[str, Any]]) -> dict[str, tuple[str, int, dict[str, int]]]:
    """Return of each scenario its status, how many events were taken, and how many of each entity are as expected."""
    (component,) = report
    found = {}
    for scenario in component["scenarios"]:
        held = [test for test in scenario["tests"] if test["status"] == "SUCCESS"]
        taken = sum(test["validation_type"] == "syntax" for test in held)
        entities = {
            test["entity_type"]: _expected(scenario["name"], test["name"])
            for test in held
            if test["validation_type"] == "semantics"
        }
        found[scenario["name"]] = scenario["status"], taken, entities
    return found


def _expected(scenario: str, name: str) -> int:
    return len(json.loads((CONSUMER / "scenarios" / scenario / "validation" / name / f"{name}.json").read_text()))
