"""The spelling of a column in answers (docs/reference/lineage.md: columns)."""

from collections.abc import Iterator

from tests.reference.records import Facets, facets_of
from tests.reference.solver import Reference


def spelling(lineage: Reference, name: tuple[str, str], key: str) -> str:
    """Return the spelling of the newest schema, else that of column lineage about this exact name, else the key."""
    dataset = (*name, "")
    listed = {lineage.schemas.key(dataset, path): path for path in map(".".join, lineage.schemas._newest(dataset))}
    if key in listed:
        return listed[key]
    sent = {column for other, column in _sent(lineage) if other == name and lineage.schemas.key(dataset, column) == key}
    mixed = {column for column in sent if column != column.lower() and column != column.upper()}
    upper = {column for column in sent if column != column.lower()}
    return min(mixed or upper or {key})


def _sent(lineage: Reference) -> Iterator[tuple[tuple[str, str], str]]:
    for event in lineage.events:
        for each in event.datasets("inputs", "outputs", "dataset"):
            facet = facets_of(each).get("columnLineage") or {}
            sources: list[Facets] = list(facet.get("dataset") or [])
            for column, told in (facet.get("fields") or {}).items():
                yield (each["namespace"], each["name"]), column
                sources += told["inputFields"]
            yield from (((source["namespace"], source["name"]), source["field"]) for source in sources)
