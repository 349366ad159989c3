"""docs/reference/silver-and-gold.md lists every table of silver and gold."""

import re

import pytest

from headwater.tables import GOLD, SILVER, ListOf, StructOf, Table
from tests.support.paths import ROOT

_PAGE = (ROOT / "docs/reference/silver-and-gold.md").read_text("utf-8")
_LAYERS = {"Silver": SILVER, "Gold": GOLD}


@pytest.mark.parametrize("layer", _LAYERS)
def test_the_page_lists_the_tables(layer: str) -> None:
    section = _PAGE.partition(f"## {layer}\n")[2].partition("\n## ")[0]
    listed = re.findall(r"^\| `(\w+)` \| ", section, re.MULTILINE)
    assert sorted(listed) == sorted(table.name for table in _LAYERS[layer])


@pytest.mark.parametrize("table", [*SILVER, *GOLD], ids=lambda table: table.name)
def test_columns_are_flat(table: Table) -> None:
    assert not [kind for kind in table.columns.values() if isinstance(kind, ListOf | StructOf)]
