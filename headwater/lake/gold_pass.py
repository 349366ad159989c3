"""Reads without Spark which generation of silver and gold is current, and the progress of gold."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from headwater.common.errors import LakeUnavailable
from headwater.lake.bronze_follower import Progress
from headwater.lake.delta_table import LakeTable
from headwater.lake.open_table import newest_version
from headwater.tables import GENERATIONS, STATE
from headwater.tables.last_pass import NOTE_NAME, REFRESH_FOLDER, decode_last_pass

_PROGRESS = """SELECT incarnation, partition, max(sequence) AS sequence FROM t
    WHERE part = 'position' AND sequence IS NOT NULL GROUP BY incarnation, partition"""
"""Selects the newest processed sequence of each partition. Each batch of gold adds a row for each partition."""


class GoldPass(NamedTuple):
    """The last gold pass that processed events: when it ended (us, UTC), and the progress of gold after it."""

    at_us: int
    progress: Progress


class Gold:
    """The progress of gold in one lake."""

    def __init__(self, lake: str, options: Mapping[str, str]):
        """lake: a folder or a URI. Tables are opened when `last_pass` is called."""
        self._lake = lake
        self._options = options
        self._opened: tuple[str, LakeTable] | None = None

    def last_pass(self) -> GoldPass | None:
        """Return the last pass, or None if there was none. Raises LakeUnavailable."""
        generation = current_generation_folder(self._lake, "gold", self._options)
        if generation is None:
            return None
        if self._opened is None or self._opened[0] != generation:
            table = LakeTable(f"{self._lake}/silver/{generation}/{STATE.name}", STATE, self._options)
            if not table.exists():  # written by an older release; the next pass creates the table
                return None
            self._opened = generation, table
        table = self._opened[1]
        rows = table.run_query(_PROGRESS).to_pylist()
        progress = {(row["incarnation"], row["partition"]): row["sequence"] for row in rows}
        written_us = table.newest_file_us()
        return None if written_us is None else GoldPass(written_us, progress)


def is_refreshed(lake: str, rules_hash: str) -> bool:
    """Whether a refresh of silver and gold would certainly find nothing to do.

    This is the case if the last pass began less than `IDLE_S` ago, used these rules and processed everything, and no
    table has a newer version. Otherwise, or if a file cannot be read, the result is False. lake: a local folder.
    """
    try:
        note = decode_last_pass((Path(lake) / REFRESH_FOLDER / NOTE_NAME).read_bytes())
        return (
            note is not None
            and note.rules_hash == rules_hash
            and note.is_recent(time.time())
            and all(newest_version(f"{lake}/{path}") == version for path, version in note.versions.items())
        )
    except (LakeUnavailable, OSError):
        return False


def current_generation_folder(lake: str, layer: str, options: Mapping[str, str]) -> str | None:
    """Return the name of the folder in `LAKE/LAYER` with the layer's current tables; None if they were never built.

    layer: `silver` or `gold`. Raises LakeUnavailable.
    """
    pointer = LakeTable(f"{lake}/{layer}/{GENERATIONS.name}", GENERATIONS, options)
    if not pointer.exists():
        return None
    found: str = pointer.run_query("SELECT generation FROM t").column("generation")[0].as_py()
    return found
