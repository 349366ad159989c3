"""Recorded runs of Airflow, dbt and Spark as templates for runs with other ids, names, times and row counts."""

import gzip
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote
from uuid import UUID, uuid5

from tests.support.paths import EVENTS, ROOT

Dataset = tuple[str, str]

_FIXTURES = ROOT / "tests" / "fixtures" / "night"
_DEMO = ROOT / "headwater" / "operations" / "demo" / "events.ndjson.gz"
_SPARK = EVENTS / "spark-3.5.7-listener-1.53.0.ndjson"
AIRFLOW_3, AIRFLOW_2 = "airflow-3.3.2", "airflow-2.11.2"
_IDS = UUID("5b1f2a64-0d0b-4a6e-9a0e-0c47a0b1c0de")

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|\+00:00)")
_ERRORS = (
    "17 orders name products that are not in stock",
    "connection to orders.example timed out",
    "could not convert string to float",
)
_TOKEN = re.compile("⟦([^⟧]*)⟧")


class Template:
    """Recorded events of one run and its parts, with tokens in place of ids, names and times."""

    def __init__(self, events: Sequence[Any], names: Iterable[str], dates: Mapping[str, str] | None = None) -> None:
        events = sorted(events, key=lambda event: str(event["eventTime"]))
        self.start = datetime.fromisoformat(events[0]["eventTime"])
        text = "\n".join(json.dumps(event, separators=(",", ":"), ensure_ascii=False) for event in events)
        for recorded, token in (dates or {}).items():
            text = text.replace(recorded, f"⟦{token}⟧")
        text = _TIME.sub(self._moment, text)
        for run in {event["run"]["runId"] for event in events}:
            text = text.replace(run, f"⟦id {run}⟧")
        for name in sorted(names, key=len, reverse=True):
            text = re.sub(rf"(?<![\w⟦]){re.escape(name)}(?!\w)", f"⟦{name}⟧", text)
        self.parts = _TOKEN.split(text)

    def render(self, start: datetime, key: str, names: Mapping[str, str]) -> list[Any]:
        """Return the events with a different start time and with ids derived from a key."""
        values = {
            **names,
            "date": (date := start.replace(hour=0, minute=0, second=0, microsecond=0).isoformat()),
            "quoted date": quote(date, safe=""),
        }

        def value(token: str) -> str:
            if token.startswith("id "):
                return str(uuid5(_IDS, f"{key}/{token[3:]}"))
            if token.startswith("at "):
                _, offset, zone = token.split()
                moved = (start + timedelta(microseconds=int(offset))).isoformat(timespec="microseconds")
                return moved.replace("+00:00", zone)
            return values.get(token, token)

        text = "".join(value(part) if number % 2 else part for number, part in enumerate(self.parts))
        return [json.loads(line) for line in text.splitlines()]

    def _moment(self, found: re.Match[str]) -> str:
        offset = (datetime.fromisoformat(found[0]) - self.start) // timedelta(microseconds=1)
        return f"⟦at {offset} {'Z' if found[0].endswith('Z') else '+00:00'}⟧"


def dataset_names(recorded: Dataset, own: Dataset) -> dict[str, str]:
    """Return the names that `Template.render` needs to replace a dataset of an Airflow run."""
    uri = "".join(recorded)
    return {f"{uri} namespace": own[0], f"{uri} name": own[1], uri: "".join(own)}


@cache
def airflow_run(recording: str, script: str, outcome: str) -> Template:
    """Return a recorded run of a DAG with the given outcome."""
    days = {"pass": 1, "recover": 2, "fail": 3 if script == "load_table" else 2}
    date = f"2026-11-0{days[outcome]}T00:00:00+00:00"
    events = [
        event
        for event in _lines(_FIXTURES / f"{recording}.ndjson.gz")
        if event["job"]["name"].partition(".")[0] == script
        and event["run"]["facets"]["nominalTime"]["nominalStartTime"] == date
    ]
    names = {script, *(f"s3://shop.example/{table}" for table in ("orders", "customers", "revenue", "report"))}
    for event in events:
        event["job"]["namespace"] = "⟦airflow⟧"
        if "parent" in event["run"]["facets"]:
            parent = event["run"]["facets"]["parent"]
            parent["job"]["namespace"] = parent["root"]["job"]["namespace"] = "⟦airflow⟧"
        for each in (*event["inputs"], *event["outputs"]):
            uri = each["namespace"] + each["name"]
            names.add(uri)
            each["namespace"], each["name"] = f"⟦{uri} namespace⟧", f"⟦{uri} name⟧"
    return Template(events, names, {date: "date", quote(date, safe=""): "quoted date"})


@cache
def dbt_build(outcome: str) -> Template:
    """Return a recorded build: `pass`, `fail_orders` or `fail_customers`."""
    return Template(_lines(_FIXTURES / f"dbt-{outcome}.ndjson.gz"), ())


@cache
def spark_application() -> Template:
    """Return a Spark application that writes a folder and reports its row count."""
    run = "01a1fdd0-47c0-7ebe-9114-a84acc3d50b0"
    jobs = ("nb_mini", "nb_mini.execute_insert_into_hadoop_fs_relation_command.landing_customers_csv")
    events = [event for event in _lines(_SPARK) if _application_run(event) == run and event["job"]["name"] in jobs]
    return Template(events, ("nb_mini", "Files/landing/customers_csv", "landing_customers_csv"))


@cache
def spark_export(outcome: str) -> Template:
    """Return a Spark application with an action that fails in the newest of its recorded runs."""
    events = [event for event in _lines(_DEMO) if event.get("job", {}).get("name", "").startswith("nb_shop_export")]
    failed = {_application_run(event) for event in events if event.get("eventType") == "FAIL"}
    runs = sorted({(event["eventTime"], _application_run(event)) for event in events})
    wanted = next(run for _, run in runs if (run in failed) == (outcome == "fail"))
    return Template(
        [event for event in events if _application_run(event) == wanted], ("nb_shop_export", "silver/stock")
    )


def _application_run(event: Any) -> str:
    """Return the run of the application to which an event belongs."""
    found: str = event["run"]["facets"].get("parent", {}).get("run", {}).get("runId") or event["run"]["runId"]
    return found


def _lines(path: Path) -> list[Any]:
    packed = path.read_bytes()
    text = gzip.decompress(packed) if path.suffix == ".gz" else packed
    return [json.loads(line) for line in text.splitlines()]


def known_error(event: Any) -> dict[str, str]:
    """Return a part of a failed run's error message by run id, if the message names a specific error."""
    text, run = json.dumps(event["run"]["facets"]), str(event["run"]["runId"])
    return next(({run: each} for each in _ERRORS if each in text), {})


def count_rows(event: Any, rows: int) -> None:
    """Replace the row counts of an event, and scale the sizes in proportion."""
    for output in event["outputs"]:
        if (statistics := output.get("outputFacets", {}).get("outputStatistics")) is not None:
            statistics["size"] = round(statistics["size"] * rows / statistics["rowCount"])
            statistics["rowCount"] = rows
