"""Rule 12.1: choose the spelling of columns that lineage names and no schema lists."""

from collections.abc import Callable, Iterable, Iterator, Sequence

import msgspec

from headwater.lineage.edges.facet_contents import SentEdge
from headwater.lineage.edges.schema_columns import column_key
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.run_facts import NO_COLUMN_LINEAGE, EventContent


def sent_spellings(content: EventContent, lines: Callable[[str], Sequence[SentEdge]]) -> Iterator[tuple[Name, str]]:
    """Yield (dataset name, column) for each column in an event's lineage facets that is not in lower case.

    lines: returns the lines of a lineage facet by its hash.
    """
    carried = [(use.name, each) for use in (*content.inputs, *content.outputs) for each in (use.lineage, use.declared)]
    declared, forms = [(None, each) for _, each in content.declared], dict(content.forms)
    for carrier, content_hash in (*carried, *declared):
        if content_hash is None or content_hash in NO_COLUMN_LINEAGE:
            continue
        for line in lines(content_hash):
            for name, column in ((line.target or carrier, line.output), (line.source, line.column)):
                if name is not None and column is not None and column != column.casefold():
                    yield forms.get(name, name), column


def chosen_spellings(columns: Iterable[str]) -> dict[str, str]:
    """Return one spelling of each column, by its key. The order of the input makes no difference.

    Mixed case comes before upper case, because engines may convert any name to upper case. Ties are broken
    alphabetically.
    """
    chosen: dict[str, str] = {}
    for column in sorted(columns, key=_preference):
        chosen.setdefault(column_key(column, ()), column)
    return chosen


def spellings_text(columns: Iterable[str]) -> str:
    """Return the chosen spellings as a JSON list, sorted."""
    return msgspec.json.encode(sorted(chosen_spellings(columns).values())).decode()


def spellings_from(text: str | None) -> list[str]:
    """Return the spellings in a JSON list, or an empty list if there is no text."""
    return msgspec.json.decode(text, type=list[str]) if text else []


def _preference(column: str) -> tuple[bool, str]:
    return column.isupper(), column
