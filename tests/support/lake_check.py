"""Compare the producers' ledger with the Delta tables: each event must be stored exactly once."""

import hashlib
import json
import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pyarrow as pa
from deltalake import DeltaTable

from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import load_settings
from tests.support.producers import Ledger

_EVENT_COLUMNS = ["event_id", "incarnation", "partition", "sequence", "run_id", "body", "inputs", "outputs"]
_EDGE = ["output_field", "input_namespace", "input_name", "input_field"]


@dataclass(slots=True)
class Found:
    """The content of the Delta tables, read without Headwater's code."""

    positions: list[tuple[str, str, int]] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    digests: dict[str, bytes] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    duplicates: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    facets: dict[tuple[str, str], Any] = field(default_factory=dict)


def audit_over_http(url: str) -> dict[str, Any]:
    """Request the audit of a running Headwater. Returns an empty dict if it does not answer."""
    try:
        answer = httpx.get(f"{url}/api/headwater/v1/audit", timeout=30)
    except httpx.TransportError:
        return {}
    return dict(answer.json()) if answer.status_code == 200 else {}


def check_lake(folder: Path, ledger: Ledger) -> Found:
    """Compare the lake with every event of the ledger, every sequence number of the log and every facet."""
    found = read_lake(folder, ledger.sabotaged)
    for key, sent in ledger.events.items():
        landed = found.events[key] + found.duplicates[key] + found.rejected[key]
        assert sent.acknowledged <= landed <= sent.posted, (key, sent, landed)
        assert found.events[key] == 1 or found.rejected[key], f"{key} was acknowledged but is not in events"
        assert found.digests.get(key, sent.digest) == sent.digest, (
            f"The stored body of {key} differs from the sent body"
        )
    assert max(found.events.values()) == 1
    assert found.events.keys() <= ledger.events.keys()
    assert 0 < found.refused <= ledger.bad_requests, (found.refused, ledger.bad_requests)
    check_positions(folder, found)
    check_facets(folder, found)
    return found


def check_audit(folder: Path, found: Mapping[str, Any]) -> None:
    """Check that the audit accounts for every record, and reports as lost exactly those whose bodies were deleted."""
    taken = [row["sequence"] for row in rows(folder, "rejected") if row["reason"] == "claim_missing"]
    places = ("stored", "removed", "duplicates", "rejected", "pending", "lost")
    assert found["received"] == sum(found[place] for place in places), found
    assert (found["trouble"], found["pending"], found["lost"]) == (None, 0, len(taken))
    assert {each["from_sequence"] for each in found["lost_ranges"]} == set(taken)
    assert found["balanced"] is (not taken)


def check_positions(folder: Path, found: Found) -> None:
    """Check that every sequence number of the log is in exactly one table."""
    lives = {(epoch, partition) for epoch, partition, _ in found.positions}
    assert len(lives) == 1
    counted, tail = Counter(sequence for _, _, sequence in found.positions), log_tail(folder)
    missing = sorted(set(range(1, tail + 1)) - counted.keys())
    more_than_one = {sequence: count for sequence, count in counted.items() if count > 1 or sequence > tail}
    assert not missing, f"of {tail} sequence numbers, no table contains {missing}"
    assert not more_than_one, f"stored more than once, or greater than {tail}: {more_than_one}"


def check_facets(folder: Path, found: Found) -> None:
    """Check that the rows of every facet hash that an event refers to are complete, with each (hash, ordinal) stored
    once.
    """
    stored = {
        **_contents(folder, "schemas", "schema_hash", ["field_path", "type"]),
        **_contents(folder, "column_lineage", "lineage_hash", _EDGE),
    }
    for key, expected in found.facets.items():
        assert stored[key] == expected, key


def read_lake(folder: Path, claims: Mapping[str, str]) -> Found:
    """Read all tables. claims: the run of each unreadable large body, by the body's key."""
    found = Found()
    for row in rows(folder, "events", _EVENT_COLUMNS):
        found.positions.append((row["incarnation"], row["partition"], row["sequence"]))
        found.events[row["run_id"]] += 1
        found.digests[row["run_id"]] = hashlib.sha256(row["body"].encode()).digest()
        found.runs[row["event_id"]] = row["run_id"]
        found.facets.update(_facets(row))
    for row in rows(folder, "duplicates"):
        found.positions.append((row["incarnation"], row["partition"], row["sequence"]))
        found.duplicates[found.runs.get(row["event_id"], row["event_id"])] += 1
    for row in rows(folder, "rejected"):
        for sequence in range(row["sequence"], row["to_sequence"] + 1):
            found.positions.append((row["incarnation"], row["partition"], sequence))
        found.rejected[claims[row["body"]]] += 1
    for row in rows(folder, "refused"):
        found.positions.append((row["incarnation"], row["partition"], row["sequence"]))
        found.refused += row["count"]
    return found


def bronze_of(folder: Path) -> Bronze:
    """Open the bronze tables of a data folder."""
    return open_bronze(load_settings({"data": folder}, folder=folder, environment={})[0])


def rows(folder: Path, table: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Read a bronze table with delta-rs only, batch by batch."""
    yield from rows_at(str(folder / "lake"), table, columns)


def rows_at(
    lake: str, table: str, columns: list[str] | None = None, options: dict[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Read a bronze table of a lake in local or cloud storage."""
    dataset = DeltaTable(f"{lake}/bronze/{table}", storage_options=options).to_pyarrow_dataset()
    batch: pa.RecordBatch
    for batch in dataset.to_batches(columns=columns, batch_size=5000):
        yield from batch.to_pylist()


def log_tail(folder: Path) -> int:
    """Read the newest sequence number from the newest segment of the log."""
    newest = max((folder / "log").glob("*.sqlite"))
    connection = sqlite3.connect(f"{newest.as_uri()}?mode=ro", uri=True)
    # a kill can leave a segment without its table
    created = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone()
    tail = connection.execute("SELECT max(sequence) FROM records").fetchone()[0] if created else None
    connection.close()
    return int(newest.stem) - 1 if tail is None else int(tail)


def _facets(row: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Compute the rows that the hashes of an event must refer to, from the body as sent."""
    found: dict[tuple[str, str], Any] = {}
    sent = json.loads(row["body"])
    for side in ("inputs", "outputs"):
        for dataset, original in zip(row[side], sent[side], strict=True):
            facets = original.get("facets", {})
            assert bool(dataset["schema_hash"]) == ("schema" in facets)
            assert bool(dataset["lineage_hash"]) == ("columnLineage" in facets)
            if dataset["schema_hash"]:
                fields = [([part["name"]], part["type"]) for part in facets["schema"]["fields"]]
                found["schemas", dataset["schema_hash"]] = dict(enumerate(fields))
            if dataset["lineage_hash"]:
                edges = [
                    (name, source["namespace"], source["name"], source["field"])
                    for name, entry in facets["columnLineage"]["fields"].items()
                    for source in entry["inputFields"]
                ]
                found["column_lineage", dataset["lineage_hash"]] = dict(enumerate(edges))
    return found


def _contents(folder: Path, table: str, hash_column: str, columns: list[str]) -> dict[tuple[str, str], Any]:
    found: dict[tuple[str, str], dict[int, Any]] = defaultdict(dict)
    for row in rows(folder, table, [hash_column, "ordinal", *columns]):
        value = tuple(row[name] for name in columns)
        assert found[table, row[hash_column]].setdefault(row["ordinal"], value) == value
    return dict(found)
