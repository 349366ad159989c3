"""Addresses of tables and files as drivers write them, and the names that OpenLineage's extractors give them."""

from collections.abc import Iterator
from dataclasses import dataclass

from headwater.lineage.names.dataset_name import Name
from tests.support.paths import FIXTURES

FILE = FIXTURES / "names" / "addresses.tsv"
EXTRACTED = ("jdbc", "file")
"""Kinds of addresses that an extractor reads. A `spec` is a name as the naming specification writes it."""


@dataclass(frozen=True)
class Address:
    """One spelling of a table's address.

    kind: `jdbc`, `file` or `spec`. table: the table at the address, which may be empty for a file. means: the canonical
    name of the table. extracted: the name that the extractor returns. reason: why the extracted name leads to a
    different canonical name, as a key of the table in docs/explanation/benchmarks.md, or empty if it does not.
    """

    kind: str
    address: str
    table: str
    means: Name
    extracted: Name | None
    reason: str


def lines() -> list[str]:
    """Return the lines of the file: comments, `table` lines, and the addresses of the table above them."""
    return FILE.read_text().splitlines()


def addresses() -> Iterator[Address]:
    """Yield every spelling of every table, in the order of the file."""
    means = Name("", "")
    for line in lines():
        kind, *cells = line.split("\t")
        if kind == "table":
            means = Name(*cells)
        elif not line.startswith("#"):
            address, table, namespace, name, reason = [*cells, "", "", ""][:5]
            yield Address(kind, address, table, means, Name(namespace, name) if kind in EXTRACTED else None, reason)


def version() -> str:
    """Return the version of openlineage-spark that produced the recorded names."""
    return lines()[0].rpartition(" ")[2]
