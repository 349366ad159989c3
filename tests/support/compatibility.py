"""Write the scenarios of OpenLineage's compatibility suite to a folder in the layout that its validator expects."""

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
"""The suite's events.

`tests/fixtures/events` contains each event once; the last scenario repeats events of its predecessor.
"""

STAND_INS = ("CLL", "airflow", "spark_dataproc_bigquery_shakespare")
"""Our own events with the suite's names, ids, times and shapes."""


def lay_out(folder: Path) -> None:
    """Write every scenario to a folder: its `config.json`, and one file for each event."""
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
    """Return for each scenario its status, its number of valid events, and how many entities of each type match."""
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
