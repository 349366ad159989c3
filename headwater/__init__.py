"""Headwater ingests OpenLineage events without loss and answers column-level questions about lineage."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headwater.spark.offline.notebook_harness import harness
    from headwater.spark.offline.pipeline_stamp import stamp
    from headwater.spark.offline.plugin_flush import flush

__all__ = ["flush", "harness", "stamp"]

_NOTEBOOK_FUNCTIONS = {
    "flush": "headwater.spark.offline.plugin_flush",
    "harness": "headwater.spark.offline.notebook_harness",
    "stamp": "headwater.spark.offline.pipeline_stamp",
}
"""Functions for notebooks and their modules. They are imported on first use, because only they need Spark."""


def __getattr__(name: str) -> Any:
    if name not in _NOTEBOOK_FUNCTIONS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_NOTEBOOK_FUNCTIONS[name]), name)
