"""Headwater: an ingestion pipeline for OpenLineage that loses nothing and answers column-level questions."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.spark.doors.notebook_harness import harness
    from headwater.spark.doors.pipeline_stamp import stamp

__all__ = ["harness", "stamp"]

_DOORS = {
    "harness": "headwater.spark.doors.notebook_harness",
    "stamp": "headwater.spark.doors.pipeline_stamp",
}
"""What notebooks call, and where it is: looked up when it is called, because nothing else here needs Spark."""


def __getattr__(name: str) -> Any:
    if name not in _DOORS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_DOORS[name]), name)
