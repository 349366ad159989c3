"""What the demo prints: events by kind, the audit, and where `customer_email` goes."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from headwater.lake.bronze import Bronze
from headwater.runtime import open_bronze
from headwater.tables import COLUMN_LINEAGE, EVENTS

COLUMN = "customer_email"


def print_report(console: Console, data: Path, audit: dict[str, Any]) -> None:
    """Read the tables of a data folder and print them, with an audit that was asked over HTTP."""
    bronze = open_bronze(data)
    console.print(_table("Events landed", ("kind", "type", "events"), _by_kind(bronze)))
    console.print(_table("Audit", tuple(audit), [tuple(audit.values())]))
    rows, facets = _mentions(bronze)
    title = f"column_lineage: {COLUMN}, {len(rows)} edges in {facets} facets"
    console.print(_table(title, ("from", "to", "how", "masked"), rows))


def _by_kind(bronze: Bronze) -> list[tuple[Any, ...]]:
    sql = "SELECT event_kind, event_type, count(*) AS n FROM t GROUP BY event_kind, event_type ORDER BY 1, 2 DESC"
    return [tuple(row.values()) for row in bronze.tables[EVENTS.name].query(sql).to_pylist()]


def _mentions(bronze: Bronze) -> tuple[list[tuple[str, ...]], int]:
    """Return the distinct edges of the column, with the datasets that carry them, and how many facets say so."""
    sql = f"SELECT * FROM t WHERE input_field = '{COLUMN}' OR output_field = '{COLUMN}'"
    edges = bronze.tables[COLUMN_LINEAGE.name].query(sql).to_pylist()
    outputs = _outputs(bronze)
    rows = {_edge(edge, output) for edge in edges for output in outputs.get(edge["lineage_hash"], ())}
    return sorted(rows, key=_medallion), len({edge["lineage_hash"] for edge in edges})


def _outputs(bronze: Bronze) -> dict[str, set[str]]:
    """Map each lineage hash to the datasets that events gave it to: the facet itself does not name its dataset."""
    found: dict[str, set[str]] = {}
    for row in bronze.tables[EVENTS.name].query("SELECT outputs FROM t").to_pylist():
        for output in row["outputs"] or ():
            if output["lineage_hash"]:
                found.setdefault(output["lineage_hash"], set()).add(output["name"])
    return found


def _edge(edge: dict[str, Any], output: str) -> tuple[str, ...]:
    how = " ".join(filter(None, (edge["transformation_type"], edge["transformation_subtype"]))).lower()
    target = edge["output_field"] or "(all columns)"
    source = f"{_short(edge['input_name'])}.{edge['input_field']}"
    return source, f"{_short(output)}.{target}", how, "yes" if edge["masking"] else ""


def _short(name: str) -> str:
    """Leave out what all names of the demo share: the lakehouse and its area."""
    return name.partition("Shop.Lakehouse/")[2].removeprefix("Tables/").removeprefix("Files/") or name


def _medallion(edge: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
    layers = ("bronze", "silver", "gold", "platinum")
    return next((place for place, layer in enumerate(layers) if edge[1].startswith(layer)), len(layers)), edge


def _table(title: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    return table
