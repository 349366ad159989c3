"""Load SQL statements with column edges that a person determined, for dialects without recorded events.

Each file `tests/fixtures/sql/dialects/DIALECT.sql` starts with the datasets and continues with statements. The comment
before a statement contains its name (`-- = …`), the tables that it writes, and the source columns of each output
column. `?` marks an indirect edge, `#` a masked edge, and `*` an edge that affects all rows. The edges were written
before the statements were first parsed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from headwater.lineage.names.canonical_names import default_rules
from tests.support.paths import FIXTURES

TRUTH = FIXTURES / "sql" / "dialects"

Edge = tuple[str, str, str, str]
"""Source dataset, source column, target (`DATASET.COLUMN`, or `*` for all rows), and direct, masked or indirect."""

_KINDS = {"": "direct", "#": "masked", "?": "indirect"}
_TABLE = re.compile(r"""(?:["`\[](?P<quoted>[^"`\]]+)["`\]]|(?P<plain>\w+))\((?P<columns>[^)]*)\)""")


class TrueStatement(NamedTuple):
    """A statement, as an event without column lineage, and its true edges."""

    dialect: str
    name: str
    event: dict[str, Any]
    edges: frozenset[Edge]


class _Tables(NamedTuple):
    """The datasets of a file: their namespace, their name prefix, and their columns by dataset name."""

    namespace: str
    prefix: str
    columns: Mapping[str, Sequence[str]]

    def dataset(self, name: str) -> str:
        return f"{self.prefix}.{name}"

    def known(self, name: str) -> str:
        """Return the canonical name of a dataset."""
        return default_rules().canonical(self.namespace, self.dataset(name)).name


def true_statements() -> Iterator[TrueStatement]:
    """Yield the statements of all dialects."""
    for path in sorted(TRUTH.glob("*.sql")):
        head, *rest = path.read_text().split("\n-- = ")
        header = dict(re.findall(r"^-- (namespace|prefix) (.*)$", head, re.MULTILINE))
        tables = _Tables(
            header["namespace"], header["prefix"], _tables(re.findall(r"^-- table (.*)$", head, re.MULTILINE))
        )
        for text in rest:
            yield _statement(path.stem, text, tables)


def _statement(dialect: str, text: str, tables: _Tables) -> TrueStatement:
    name, _, rest = text.partition("\n")
    comments = [line.removeprefix("-- ") for line in rest.splitlines() if line.startswith("-- ")]
    sql = "\n".join(line for line in rest.splitlines() if not line.startswith("-- ")).strip()
    writes = _tables([comments[0].removeprefix("writes ")])
    every = tables._replace(columns={**tables.columns, **writes})
    read = [table for table in tables.columns if table.casefold() in sql.casefold()]
    event = {
        "eventTime": "2026-03-01T00:00:00Z",
        "producer": "https://acme.org/jobs",
        "job": {"namespace": "acme", "name": name, "facets": {"sql": {"query": sql}}},
        "inputs": [_dataset(every, table) for table in read],
        "outputs": [_dataset(every, table) for table in writes],
    }
    return TrueStatement(dialect, name, event, frozenset(_edges(comments[1:], every, list(writes))))


def _dataset(tables: _Tables, name: str) -> dict[str, Any]:
    fields: dict[str, dict[str, Any]] = {}
    for column in tables.columns[name]:
        top, _, nested = column.partition(".")
        field = fields.setdefault(top, {"name": top})
        if nested:
            field.setdefault("fields", []).append({"name": nested})
    schema = {"fields": list(fields.values())}
    return {"namespace": tables.namespace, "name": tables.dataset(name), "facets": {"schema": schema}}


def _tables(texts: Sequence[str]) -> dict[str, list[str]]:
    found = [table for text in texts for table in _TABLE.finditer(text)]
    return {
        table["quoted"] or table["plain"]: [column.strip(' "`[]') for column in table["columns"].split(",")]
        for table in found
    }


def _edges(lines: Sequence[str], tables: _Tables, writes: Sequence[str]) -> Iterator[Edge]:
    columns = {f"{table}.{column}": (table, column) for table in tables.columns for column in tables.columns[table]}
    one = "|".join(re.escape(column) for column in sorted(columns, key=len, reverse=True))
    for line in lines:
        target, _, sources = line.partition(": ")
        output, column = columns.get(target, (writes[0], target))
        wanted = "*" if column == "*" else f"{tables.known(output)}.{column.casefold()}"
        if not re.fullmatch(rf"(({one})[?#]?( |$))+", sources):
            raise ValueError(f"{line!r} contains a source that is not a column of any dataset.")
        for source, mark in re.findall(rf"({one})([?#]?)", sources):
            table, named = columns[source]
            yield tables.known(table), named.casefold(), wanted, _KINDS[mark]
