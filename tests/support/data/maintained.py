"""A table with small commits, and functions that make it look a day older, in a folder or a bucket."""

import json
from collections.abc import Iterator

from headwater.events.position import Position, Source
from headwater.lake.delta_table import LakeTable
from headwater.lake.object_store import ObjectStore

SOURCE = Source("local", "life", "0")


def append(table: LakeTable, *sequences: int) -> int:
    """Append rows of `duplicates`, in one commit."""
    positions = [Position(SOURCE, sequence, 1_795_000_000_000_000 + sequence) for sequence in sequences]
    rows = [(place.sequence, (*place.cells(), f"{place.sequence:032x}")) for place in positions]
    return table.append_once(SOURCE.app_id, table.prepare(rows), sequences[-1])


def data_files(table: ObjectStore) -> list[str]:
    """Return the names of a table's data files."""
    return [each.name for each in table.files("") if "/" not in each.name and each.name.endswith(".parquet")]


def age_removals(table: ObjectStore, hours: int) -> None:
    """Shift the removal times in the table's JSON log into the past."""
    names = [each.name for each in table.files("_delta_log")]
    table.delete(name for name in names if not name.endswith(".json"))
    for name in names:
        if name.endswith(".json"):
            table.write(name, "".join(_aged(table.read(name) or b"", hours)).encode())
    table.delete(["_headwater/checksums"])  # the checksums do not match the changed entries


def _aged(text: bytes, hours: int) -> Iterator[str]:
    for line in text.splitlines():
        action = json.loads(line)
        if "remove" in action:
            action["remove"]["deletionTimestamp"] -= hours * 3_600_000
        yield json.dumps(action) + "\n"
