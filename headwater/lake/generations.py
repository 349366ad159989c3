"""Reads the current generation of silver or gold, without Spark."""

from collections.abc import Mapping

from headwater.lake.delta_table import LakeTable
from headwater.tables import GENERATIONS


def generation_in_force(lake: str, layer: str, options: Mapping[str, str]) -> str | None:
    """Return the folder in `LAKE/LAYER` with a layer's current tables; None before its first run.

    layer: `silver` or `gold`. Raises LakeUnavailable.
    """
    pointer = LakeTable(f"{lake}/{layer}/{GENERATIONS.name}", GENERATIONS, options)
    if not pointer.exists():
        return None
    found: str = pointer.query("SELECT generation FROM t").column("generation")[0].as_py()
    return found
