"""A lake with many small worlds, each in namespaces of its own, and gold's rows as the reference states them."""

import json
import subprocess
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, TypeVar

from deltalake import DeltaTable
from pyspark.sql import DataFrame, Row, SparkSession

from headwater.common import failpoints
from headwater.lineage.names.canonical_names import default_rules
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.snapshots.whole_rewrites import WINDOW_US
from headwater.spark.delta.spark_delta import TASK_BYTES, TableFolder
from headwater.spark.layer_generations import current_generation
from headwater.spark.layer_positions import LayerPosition, read_position
from headwater.spark.refresh import refresh
from headwater.spark.silver.state import newest_rows
from headwater.tables import (
    BINDINGS,
    COLUMN_EDGES,
    EDGE_RUNS,
    EDGE_SETS,
    MASKING_SURFACE,
    POSITIONS,
    STATE,
    STATE_KEYS,
    TABLE_EDGES,
    UNUSED_COLUMNS,
    Table,
)
from tests.reference import questions
from tests.reference.nesting import ColumnEdge
from tests.reference.records import Delivered
from tests.reference.solver import Column, Reference, TableEdge
from tests.reference.world_events import START
from tests.reference.worlds import prefix, random_world, world_in, world_in_namespace
from tests.support.data.parsing import World
from tests.support.lake_check import rows
from tests.support.running import headwater

RULES = UserRules()
T = TypeVar("T")
Rows = dict[tuple[Any, ...], tuple[Any, ...]]
Pair = tuple[T, T]
"""What was found, and what is wanted."""


class SparkLake:
    """Bronze as the parser writes it, silver and gold as Spark makes them."""

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self.spark = spark
        self.world = World(folder)
        self.uri = str(self.world.folder / "lake")

    def store(self, bodies: Iterable[bytes]) -> None:
        """Let the parser take bodies, received on the day after the worlds began."""
        before = self.world.tail()
        self.world.append(*bodies)
        self.world.age((datetime.now(UTC) - START).days, before)
        self.parse()

    def parse(self) -> None:
        """Let the parser take what is in the log."""
        parser = self.world.parser()
        while parser.commit_next():
            pass

    def build(self, *, rebuild: bool = False, task_bytes: int = TASK_BYTES) -> int:
        """Bring silver and gold up to bronze; returns the number of events taken."""
        return refresh(self.spark, self.uri, RULES, rebuild=rebuild, task_bytes=task_bytes)

    def command(self, *options: str, killed_at: str = "") -> subprocess.CompletedProcess[str]:
        """Do so by the command line, in a process of its own that may be killed at a fail point."""
        environment = {failpoints.VARIABLE: killed_at}
        return headwater(
            "spark", "refresh", "--data", self.world.folder, *options, environment=environment, timeout_s=900
        )

    def delivered(self) -> list[Delivered]:
        """Return bronze's events in the order of the log."""
        found = sorted(rows(self.world.folder, "events"), key=lambda row: row["sequence"])
        return [
            Delivered(json.loads(row["body"]), int(row["received_at"].timestamp() * 1e6), row["event_id"])
            for row in found
        ]

    def newest_us(self) -> int | None:
        """Return where windows end: at the newest event that is not ahead of its receipt."""
        return max((each.time_us for each in self.delivered() if not each.is_ahead), default=None)

    def read(self, layer: str, table: Table) -> DataFrame:
        return self.layer(layer).read(table)

    def candidates(self) -> DataFrame:
        """Return what may count now."""
        return newest_rows(self.read("silver", STATE), EDGE_SETS)

    def position(self) -> LayerPosition:
        return read_position(newest_rows(self.read("silver", STATE), POSITIONS).collect())

    def gold(self, table: Table) -> list[Any]:
        return self.read("gold", table).collect()

    def rows(self, layer: str, table: Table) -> list[dict[str, Any]]:
        """Read a table without Spark, which takes a second of CPU time for a few rows."""
        found = DeltaTable(self.folder(layer, table)).to_pyarrow_table().to_pylist()
        return [{name: row.get(name) for name in table.columns} for row in found]

    def edges(self, table: Table) -> list[dict[str, Any]]:
        """Return edges with all their runs: also those that have only said them once more, which are counted beside."""
        again = {row["group_key"]: row for row in self.rows("gold", EDGE_RUNS)}
        return [_with_runs(edge, again) for edge in self.rows("gold", table)]

    def unused(self) -> list[dict[str, Any]]:
        """Return the verdicts that hold now; `last_used` includes recurring runs."""
        again = {row["group_key"]: row["last_seen"] for row in self.rows("gold", EDGE_RUNS)}
        return [_with_last_used(row, again) for row in self._of_now(UNUSED_COLUMNS)]

    def surface(self) -> list[dict[str, Any]]:
        """Return the rows of surfaces that hold now."""
        return self._of_now(MASKING_SURFACE)

    def _of_now(self, table: Table) -> list[dict[str, Any]]:
        newest = self.newest_us()
        # the start of a past period depends on the pass that wrote the row
        return [
            {**row, "valid_from": None}
            for row in self.rows("gold", table)
            if newest is None or _holds(row["valid_from"], row["valid_to"], newest)
        ]

    def plain(self, layer: str, table: Table) -> list[tuple[Any, ...]]:
        """Return the rows of a table without what may differ from one build to another."""
        found = self.edges(table) if table in EDGES else self.rows(layer, table)
        if table is UNUSED_COLUMNS:
            found = self.unused()
        if table is MASKING_SURFACE:
            found = self.surface()
        if table is STATE:  # its other parts are tables, too, but for the position
            newest: dict[tuple[Any, ...], dict[str, Any]] = {}
            for row in sorted(found, key=lambda row: row["batch"]):
                if row["part"] in ("vote", "facet"):
                    newest[row["part"], *(row[name] for name in STATE_KEYS[row["part"]])] = row
            found = [row for row in newest.values() if not row["gone"]]
        columns = [name for name in table.columns if name != "batch"]
        plain = [tuple(row[name] for name in columns) for row in found]
        return sorted(_without_needless_times(plain) if table is BINDINGS else plain, key=repr)

    def folder(self, layer: str, table: Table) -> Path:
        return Path(self.layer(layer).uri(table))

    def layer(self, layer: str) -> TableFolder:
        found = current_generation(self.spark, self.uri, RULES.rules_hash)
        assert found
        return found[layer]


def bodies(seeds: Iterable[int]) -> Iterator[list[bytes]]:
    """Yield the events of each world in its own namespaces; other answers than their order's must not follow."""
    for seed in seeds:
        yield [json.dumps(each.event).encode() for each in world_in_namespace(random_world(seed), prefix(seed))]


class References:
    """The reference's answers about each world."""

    def __init__(self, delivered: Iterable[Delivered], **limits: Any) -> None:
        worlds: dict[str, list[Delivered]] = {}
        delivered = list(delivered)
        newest_us = max((each.time_us for each in delivered if not each.is_ahead), default=None)
        limits = {"window_us": WINDOW_US, "window_end_us": newest_us, **limits}
        for each in delivered:
            worlds.setdefault(world_of(json.dumps(each.event)), []).append(each)
        names = default_rules()
        self.of: Mapping[str, Reference] = {
            world: Reference(events, canonical=lambda *sent: names.canonical(*sent).parts, **limits)
            for world, events in worlds.items()
        }

    def among(self, rows: Iterable[Any], namespace: str) -> Iterator[Any]:
        """Yield the rows of gold that are about these worlds, as a column with a namespace says."""
        return (row for row in rows if world_in(row[namespace]) in self.of)

    def column_edges(self) -> set[ColumnEdge]:
        return {edge for one in self.of.values() for edge in one.column_edges}

    def table_edges(self) -> set[TableEdge]:
        return {edge for one in self.of.values() for edge in one.table_edges}

    def surface(self) -> dict[Column, str]:
        elsewhere: Column = ("s3://elsewhere", "tagged", "x")  # in another world of the lake
        return {
            column: exposure
            for one in self.of.values()
            for answer in (questions.surface, questions.tagged_states)
            for column, exposure in answer(one, {*questions.tagged(one, "pii"), elsewhere}).items()
        }

    def unused(self) -> dict[Column, str]:
        return {column: verdict for one in self.of.values() for column, verdict in questions.unused(one).items()}

    def is_dropped(self, edge: Any) -> bool:
        """Tell whether one end of an edge, a row of gold, is in a generation that is not there."""
        sides = ("source", "target")
        ends = [tuple(edge[f"{side}_{part}"] for part in ("namespace", "dataset", "generation")) for side in sides]
        return any(self.of[world_of(edge.target_namespace)].generations.is_dropped(end) for end in ends)

    def key(self, namespace: str, name: str, column: str | None) -> Column:
        """Return a column by its key, in the newest generation that has a schema."""
        one = self.of[world_of(namespace)]
        every = one.generations.of_dataset((namespace, name))
        dataset = next((each for each in reversed(every) if one.schemas.columns(each)), every[-1])
        return (namespace, name, None if column is None else one.schemas.key(dataset, column))

    def judged_key(self, namespace: str, name: str, column: str) -> Column:
        """Return the same where a verdict spells the column: also by the lists of other locations (rule 9)."""
        one, dataset = self.of[world_of(namespace)], (namespace, name)
        others = (each for other in one.names.others(dataset, now=True) for each in one.generations.meant_back(other))
        meant = [one.generations.newest(dataset), *one.generations.meant_back(dataset), *others]
        spelt = next((each for each in meant if one.schemas.columns(each)), meant[-1])
        return (namespace, name, one.schemas.key(spelt, column))


class Gold:
    """What gold says of worlds, beside what the reference says."""

    def __init__(self, lake: SparkLake, references: References) -> None:
        self._lake = lake
        self._references = references

    def column_edges(self) -> Pair[set[ColumnEdge]]:
        found: set[ColumnEdge] = {
            (row.source_namespace, row.source_dataset, row.source_generation, row.source_column,
             row.target_namespace, row.target_dataset, row.target_generation, row.target_column,
             "DIRECT" if row.direct else "INDIRECT", row.masked)
            for row in self._open(COLUMN_EDGES)
        }  # fmt: skip
        return found, self._references.column_edges()

    def table_edges(self) -> Pair[set[TableEdge]]:
        opaque: dict[tuple[str, ...], bool] = {}
        for row in self._open(TABLE_EDGES):
            ends = (row.source_namespace, row.source_dataset, row.source_generation,
                    row.target_namespace, row.target_dataset, row.target_generation)  # fmt: skip
            opaque[ends] = opaque.get(ends, True) and row.opaque
        found: set[Any] = {(*ends, each) for ends, each in opaque.items()}
        return found, self._references.table_edges()

    def ended_edges(self) -> Pair[set[tuple[str, str]]]:
        """Return namespaces and keys of edges that are not current, as one end of them is not there."""
        rows = [row for table in EDGES for row in self._open(table)]
        found = {(row.target_namespace, row.edge_key) for row in rows if row.valid_to is not None or not row.current}
        return found, {(row.target_namespace, row.edge_key) for row in rows if self._references.is_dropped(row)}

    def surface(self) -> Pair[dict[Column, str]]:
        rows = self._references.among((Row(**row) for row in self._lake.surface()), "namespace")
        found = {self._column(row): row.exposure for row in rows if row.tag == "pii"}
        return found, self._references.surface()

    def verdicts(self) -> Pair[dict[Column, str]]:
        """Return those on datasets that the reference knows: a name from before a RENAME may have columns here."""
        wanted = self._references.unused()
        datasets = {column[:2] for column in wanted}
        rows = self._references.among((Row(**row) for row in self._lake.unused()), "namespace")
        found = {self._references.judged_key(row.namespace, row.dataset, row.column): row.verdict for row in rows}
        return {column: verdict for column, verdict in found.items() if column[:2] in datasets}, wanted

    def _open(self, table: Table) -> Iterator[Any]:
        rows = self._references.among(self._lake.gold(table), "target_namespace")
        return (row for row in rows if row.part == "open")

    def _column(self, row: Any) -> Column:
        return self._references.key(row.namespace, row.dataset, row.column)


def world_of(text: str) -> str:
    found = world_in(text)
    assert found, text
    return found


EDGES = (COLUMN_EDGES, TABLE_EDGES)


def _with_runs(edge: dict[str, Any], again: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    more = again.get(edge["group_key"]) if edge["part"] == "open" else None
    if more is None:
        return edge
    times = (row["last_seen"] for row in (edge, more))
    last = max((time for time in times if time is not None), default=None)
    return {**edge, "runs": edge["runs"] + more["runs"], "last_seen": last}


def _with_last_used(verdict: dict[str, Any], again: Mapping[str, datetime | None]) -> dict[str, Any]:
    times = (verdict["last_used"], *map(again.get, json.loads(verdict["group_keys"])))
    return {**verdict, "last_used": max((time for time in times if time), default=None)}


def _holds(since: datetime | None, until: datetime | None, at_us: int) -> bool:
    at = START + timedelta(microseconds=at_us - round(START.timestamp() * 1_000_000))
    return (since is None or since <= at) and (until is None or at < until)


def _without_needless_times(rows: list[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """A name of one location needs one moment only: any one of those at which it was said is kept."""
    locations: dict[tuple[Any, ...], set[tuple[Any, ...]]] = {}
    for row in rows:
        locations.setdefault(row[:3], set()).add(row[3:5])
    single = {alias for alias, found in locations.items() if alias[0] == "binding" and len(found) == 1}
    return [(*row[:5], None, *row[6:]) if row[:3] in single else row for row in rows]
