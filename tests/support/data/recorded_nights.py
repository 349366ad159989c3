"""Recorded events of Airflow and dbt (`tests/fixtures/night`), and hand-drawn graphs of their jobs."""

import gzip
import json
from functools import cache
from pathlib import Path
from typing import Any

from tests.reference.world_events import Json

_FOLDER = Path(__file__).parents[2] / "fixtures" / "night"


@cache
def recorded(name: str) -> tuple[Json, ...]:
    """Return the events of a recording, such as `airflow-3.3.2` or `dbt-pass`."""
    with gzip.open(_FOLDER / f"{name}.ndjson.gz", "rt", encoding="utf-8") as lines:
        return tuple(json.loads(line) for line in lines)


def drawing(part: str) -> Any:
    """Return the graph of `airflow` or `dbt`, which was drawn before Headwater read the recordings."""
    return json.loads((_FOLDER / "drawings.json").read_text())[part]
