"""Finds damaged files of Delta tables on the local disk. Errors of delta-rs often do not name the file."""

import json
from collections.abc import Iterator
from pathlib import Path

from headwater.lake.bronze_tables import Bronze

_LIMIT = 100_000
"""Maximum number of files checked per table."""


def find_damage(bronze: Bronze) -> str | None:
    """Describe the first damaged file of bronze, with the fix; None if none is damaged.

    Checks entries of the Delta log, checkpoints and Parquet footers, but no data pages. Does not check a remote lake.
    """
    for table in bronze.tables.values():
        if "://" in table.uri:
            return None
        for _, path in zip(range(_LIMIT), _data_files(Path(table.uri)), strict=False):
            if why := _find_file_damage(path):
                return (
                    f"The file {path} is damaged: {why}. Events stay in the log until it is repaired. Stop Headwater "
                    "and restore the file from a copy, or run `headwater restore` with a backup into another folder."
                )
    return None


def _data_files(table: Path) -> Iterator[Path]:
    log = table / "_delta_log"
    yield from sorted(path for path in log.glob("*") if path.suffix in (".json", ".parquet"))
    yield from sorted(path for path in table.rglob("*.parquet") if path.parent != log)


def _find_file_damage(path: Path) -> str | None:
    import pyarrow as pa  # noqa: PLC0415 - 26 MB, needed only for a fault
    import pyarrow.parquet as pq  # noqa: PLC0415

    try:
        if path.suffix == ".json":
            for line in path.read_text("utf-8").splitlines():
                json.loads(line)
        else:
            pq.ParquetFile(path).schema_arrow  # noqa: B018 - reads the footer
    except FileNotFoundError:
        return None
    except (OSError, ValueError, pa.ArrowException) as error:
        return " ".join(str(error).split())[:200].rstrip(".")
    return None
