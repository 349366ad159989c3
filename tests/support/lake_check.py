"""The producers' own list against a direct read of the Delta tables: nothing missing, nothing twice."""

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
    """What the Delta tables hold, read without any code of ours."""

    positions: list[tuple[str, str, int]] = field(default_factory=list)
    events: Counter[str] = field(default_factory=Counter)
    digests: dict[str, bytes] = field(default_factory=dict)
    runs: dict[str, str] = field(default_factory=dict)
    duplicates: Counter[str] = field(default_factory=Counter)
    rejected: Counter[str] = field(default_factory=Counter)
    refused: int = 0
    facets: dict[tuple[str, str], Any] = field(default_factory=dict)


def audit_over_http(url: str) -> dict[str, Any]:
    """Ask a running Headwater for its audit; returns nothing while it does not answer."""
    try:
        answer = httpx.get(f"{url}/api/headwater/v1/audit", timeout=30)
    except httpx.TransportError:
        return {}
    return dict(answer.json()) if answer.status_code == 200 else {}


def check_lake(folder: Path, ledger: Ledger) -> Found:
    """Hold every event of the ledger, every sequence of the log and every facet against the lake."""
    found = read_lake(folder, ledger.sabotaged)
    for key, sent in ledger.events.items():
        landed = found.events[key] + found.duplicates[key] + found.rejected[key]
        assert sent.acknowledged <= landed <= sent.posted, (key, sent, landed)
        assert found.events[key] == 1 or found.rejected[key], f"{key} was acknowledged and is not in events"
        assert found.digests.get(key, sent.digest) == sent.digest, f"{key} is not stored as it was sent"
    assert max(found.events.values()) == 1
    assert found.events.keys() <= ledger.events.keys()
    assert 0 < found.refused <= ledger.bad_requests, (found.refused, ledger.bad_requests)
    check_positions(folder, found)
    check_facets(folder, found)
    return found


def check_audit(folder: Path, found: Mapping[str, Any]) -> None:
    """The audit accounts for every record, and counts as lost exactly those whose bodies were taken away."""
    taken = [row["sequence"] for row in rows(folder, "rejected") if row["reason"] == "claim_missing"]
    places = ("stored", "removed", "duplicates", "rejected", "pending", "lost")
    assert found["received"] == sum(found[place] for place in places), found
    assert (found["trouble"], found["pending"], found["lost"]) == (None, 0, len(taken))
    assert {each["from_sequence"] for each in found["lost_ranges"]} == set(taken)
    assert found["balanced"] is (not taken)


def check_positions(folder: Path, found: Found) -> None:
    """Every sequence number of the log is in exactly one table."""
    lives = {(epoch, partition) for epoch, partition, _ in found.positions}
    assert len(lives) == 1
    counted, tail = Counter(sequence for _, _, sequence in found.positions), log_tail(folder)
    missing = sorted(set(range(1, tail + 1)) - counted.keys())
    more_than_one = {sequence: count for sequence, count in counted.items() if count > 1 or sequence > tail}
    assert not missing, f"in no table, of {tail}: {missing}"
    assert not more_than_one, f"there more than once, or beyond {tail}: {more_than_one}"


def check_facets(folder: Path, found: Found) -> None:
    """Every hash that an event names has exactly the rows of its facet, each (hash, ordinal) counted once."""
    stored = {
        **_contents(folder, "schemas", "schema_hash", ["field_path", "type"]),
        **_contents(folder, "column_lineage", "lineage_hash", _EDGE),
    }
    for key, expected in found.facets.items():
        assert stored[key] == expected, key


def read_lake(folder: Path, claims: Mapping[str, str]) -> Found:
    """Read all tables; claims: which run an unreadable large body belonged to, by its key."""
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
    """Read a bronze table with delta-rs alone, batch by batch."""
    yield from rows_at(str(folder / "lake"), table, columns)


def rows_at(
    lake: str, table: str, columns: list[str] | None = None, options: dict[str, str] | None = None
) -> Iterator[dict[str, Any]]:
    """Read a bronze table of a lake anywhere."""
    dataset = DeltaTable(f"{lake}/bronze/{table}", storage_options=options).to_pyarrow_dataset()
    batch: pa.RecordBatch
    for batch in dataset.to_batches(columns=columns, batch_size=5000):
        yield from batch.to_pylist()


def log_tail(folder: Path) -> int:
    """Read the newest sequence number from the log's newest file."""
    newest = max((folder / "log").glob("*.sqlite"))
    connection = sqlite3.connect(f"{newest.as_uri()}?mode=ro", uri=True)
    created = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone()  # or killed amid it
    tail = connection.execute("SELECT max(sequence) FROM records").fetchone()[0] if created else None
    connection.close()
    return int(newest.stem) - 1 if tail is None else int(tail)


def _facets(row: dict[str, Any]) -> dict[tuple[str, str], Any]:
    """Work out, from the body as sent, the rows that the hashes of an event must stand for."""
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
