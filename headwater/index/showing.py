"""Datasets, columns and edges as answers show them."""

from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

from headwater.lineage.contents import How
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot

_EPOCH = datetime(1970, 1, 1)  # UTC; without a zone it is written in half the time


def dataset_json(name: Name) -> dict[str, str]:
    """Return a dataset."""
    return {"namespace": name.namespace, "dataset": name.name}


def job_json(name: Name) -> dict[str, str]:
    """Return a job."""
    return {"namespace": name.namespace, "name": name.name}


def column_json(moment: Snapshot, dataset: Name, key: str | None) -> dict[str, Any]:
    """Return a column as the newest schema spells it."""
    shown = None if key is None else moment.columns(dataset).shown(key)
    return {**dataset_json(dataset), "column": shown}


def how_json(how: How) -> dict[str, Any]:
    """Return a transformation."""
    return {
        "type": "DIRECT" if how.direct else "INDIRECT",
        "subtype": how.subtype,
        "masking": how.masked,
        "description": how.description,
    }


@lru_cache(16_384)
def iso(time_us: int | None) -> str | None:
    """Return a time as text, UTC."""
    if time_us is None:
        return None
    moment = _EPOCH + timedelta(microseconds=time_us)
    return moment.isoformat(timespec="milliseconds") + "Z"
