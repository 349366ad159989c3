"""Print the results of the demo: events by kind, the audit, and three answers about columns."""

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from msgspec import to_builtins
from rich.console import Console
from rich.table import Table

from headwater.index.reading.view_opener import ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.operations.runtime.index import open_view_opener
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import load_settings
from headwater.questions import definitions as declared
from headwater.questions.declaring import Question
from headwater.tables import EVENTS

SOURCE = {"dataset": "landing/customers", "column": "customer_email"}
METRIC = {"dataset": "platinum/revenue", "column": "revenue"}
JUDGED = {"dataset": "platinum/top_customers"}

Rows = list[tuple[Any, ...]]


def print_report(console: Console, data: Path, audit: dict[str, Any]) -> None:
    """Print the tables of a data folder, and an audit that the caller got over HTTP."""
    settings = load_settings({"data": data})[0]
    console.print(_table("Events landed", ("kind", "type", "events"), _by_kind(open_bronze(settings))))
    left_out = "removed", "index", "lost_ranges", "trouble"
    counts = {name: found for name, found in audit.items() if name not in left_out}
    console.print(_table("Audit", tuple(counts), [tuple(counts.values())]))
    open_views = open_view_opener(settings, data)
    title = f"Where does {_name(SOURCE)} end up?"
    console.print(_table(title, ("readable?", "column", "from", "how"), _surface(open_views)))
    title = f"Which columns does {_name(METRIC)} come from?"
    console.print(_table(title, ("away", "column", "into", "how"), _upstream(open_views)))
    title = f"Which columns of {JUDGED['dataset']} can be dropped?"
    console.print(_table(title, ("verdict", "column", "why"), _unused(open_views)))
    open_views.close()


def _by_kind(bronze: Bronze) -> Rows:
    sql = "SELECT event_kind, event_type, count(*) AS n FROM t GROUP BY event_kind, event_type ORDER BY 1, 2 DESC"
    return [tuple(row.values()) for row in bronze.tables[EVENTS.name].run_query(sql).to_pylist()]


def _ask(open_views: ViewOpener, question: Question, asked: dict[str, str]) -> Any:
    return to_builtins(question.ask(SimpleNamespace(open_views=open_views), asked))


def _surface(open_views: ViewOpener) -> Rows:
    items = _ask(open_views, declared.surface, SOURCE)["items"]
    return [(item["exposure"], _name(item), _from(item), _how(item["how"])) for item in items]


def _upstream(open_views: ViewOpener) -> Rows:
    found = _ask(open_views, declared.upstream, METRIC)
    steps = [
        (item["distance"], _name(item), _name(item["via"]), _how(item["via"]["transformation"]))
        for item in found["columns"]
    ]
    return steps + [("", _short(stop["dataset"]), "", "only table-level lineage continues") for stop in found["stops"]]


def _unused(open_views: ViewOpener) -> Rows:
    return [
        (item["verdict"], _name(item), item["reason"]) for item in _ask(open_views, declared.unused, JUDGED)["items"]
    ]


def _from(item: dict[str, Any]) -> str:
    return _name(item["via"]) if item["via"] and "column" in item["via"] else ""


def _how(how: dict[str, Any] | str) -> str:
    if isinstance(how, str):
        return how
    return " ".join(filter(None, (how["type"], how["subtype"], "masks" if how["masking"] else ""))).lower()


def _name(item: dict[str, Any]) -> str:
    return f"{_short(item['dataset'])}.{item['column'] or '(any column)'}"


def _short(name: str) -> str:
    """Return a dataset name without the prefix that all names of the demo share: the lakehouse and its area."""
    return name.rpartition("Shop.Lakehouse/")[2].removeprefix("Tables/").removeprefix("Files/")


def _table(title: str, columns: Iterable[str], rows: Iterable[tuple[Any, ...]]) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*("" if value is None else str(value) for value in row))
    return table
