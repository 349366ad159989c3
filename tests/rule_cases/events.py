"""Short functions for the events of rule cases:

`done(2, 10, writes("b", {"x": "a.x"}), of="a")` completes run 2 at 10 s.

A source is `dataset.column`, optionally followed by a mark: `#` masks, `?` is INDIRECT (a filter), `-` has no
transformation, `=` copies the column (IDENTITY). Without a mark, the source shows the value. Several sources are
separated by spaces. An empty string means no source.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from tests.reference import small_events
from tests.reference.world_events import (
    Json,
    at,
    column_lineage,
    dataset,
    dataset_event,
    facet,
    job_event,
    parent,
    source,
    step,
    uuid,
)

Named = tuple[str, str]

LAKE = "s3://lake"
STEPS = {
    "#": [step("DIRECT", masking=True)],
    "?": [step("INDIRECT")],
    "-": [],
    "=": [step("DIRECT") | {"subtype": "IDENTITY"}],
}
STREAM = small_events.STREAM


def t(name: str) -> Named:
    return LAKE, name


def table(name: str | Named, columns: str = "", **facets: Any) -> Json:
    """Return a dataset without lineage, for an input or an output. `columns` become its schema."""
    told = {"schema": schema_of(columns)} if columns else {}
    return dataset(t(name) if isinstance(name, str) else name, **told, **facets)


def writes(
    name: str | Named,
    fields: Mapping[str, str],
    whole: str = "",
    columns: str | None = None,
    says: str = "",
    **facets: Any,
) -> Json:
    """Return an output with column lineage. Its schema contains the names in `fields`, unless `columns` is given.

    `whole`: sources of the whole dataset. `says`: a lifecycle change.
    """
    lineage = column_lineage({field: sources(told) for field, told in fields.items()}, sources(whole))
    facets |= change(says) if says else {}
    return table(name, " ".join(fields) if columns is None else columns, columnLineage=lineage, **facets)


def sources(told: str) -> list[Json]:
    return [_source(each) for each in told.split()]


def _source(told: str) -> Json:
    name, _, column = told.rstrip("#?-=").partition(".")
    return source(t(name), column, *STEPS.get(told[-1], [step("DIRECT")]))


def schema_of(columns: str) -> Json:
    """Return a schema facet: `s.t` is nested in `s`, which may be omitted. `=s.t` is one name with a dot."""
    tree: dict[str, Any] = {}
    for column in columns.split():
        place = tree
        for part in [column[1:]] if column.startswith("=") else column.split("."):
            place = place.setdefault(part, {})
    return facet(fields=_fields(tree))


def _fields(tree: Mapping[str, Any]) -> list[Json]:
    return [
        {"name": name, "type": "struct", "fields": _fields(below)} if below else {"name": name, "type": "string"}
        for name, below in tree.items()
    ]


def done(number: int, second: float, *outputs: Json, of: str | Iterable[Json] = "", **more: Any) -> Json:
    """Return an event of run `number`, COMPLETE unless `kind` is given. Each run has its own job.

    of: inputs, as names or datasets. more: kind, job, under (the facets of `below`), job_facets, run_facets.
    """
    inputs = [table(name) for name in of.split()] if isinstance(of, str) else list(of)
    facets = {**more.pop("run_facets", {}), **more.pop("under", {})}
    more.setdefault("job", f"job{number}")
    return small_events.run(number, second, *outputs, reads=inputs, run_facets=facets, **more)


def begun(number: int, second: float, *outputs: Json, **more: Any) -> Json:
    return done(number, second, *outputs, kind="START", **more)


def going(number: int, second: float, *outputs: Json, **more: Any) -> Json:
    """Return an event of a running stream."""
    return done(number, second, *outputs, kind="RUNNING", job_facets=STREAM, **more)


def below(number: int, root: int | None = None) -> dict[str, Json]:
    """Return the facets of a run whose parent is run `number`."""
    return {"parent": parent(uuid(number), ("jobs", f"job{number}"), None if root is None else uuid(root))}


def changes(name: str | Named, what: str, columns: str = "") -> Json:
    return table(name, columns, **change(what))


def change(what: str) -> dict[str, Json]:
    """Return a lifecycle facet with DROP, CREATE, OVERWRITE or another change."""
    return {"lifecycleStateChange": facet(lifecycleStateChange=what)}


def drop(number: int, second: float, name: str | Named, **more: Any) -> Json:
    return done(number, second, changes(name, "DROP"), **{"job": f"drop {name}", **more})


def rename(number: int, second: float, old: str, new: str, **more: Any) -> Json:
    return done(number, second, small_events.renamed(t(old), t(new)), **{"job": f"rename {old}", **more})


def tagging(
    second: float, column: str, tag: str = "pii", value: str = "true", *, by: str = "https://example.org/tags"
) -> Json:
    """Return a DatasetEvent that puts a tag on `dataset.column`. The value `false` removes it. by: its producer."""
    name, _, field = column.partition(".")
    told = facet(tags=[{"key": tag, "value": value, "source": "USER", **({"field": field} if field else {})}])
    return dataset_event(at(second), dataset(t(name), tags=told), by)


def declared(second: float, output: Json, of: str | Iterable[Json] = "", job: str = "declared") -> Json:
    inputs = [table(name) for name in of.split()] if isinstance(of, str) else list(of)
    return job_event(at(second), ("jobs", job), inputs, [output])


def entry(name: str, fields: Mapping[str, str], whole: str = "") -> Json:
    """Return an entry of a `lineage` facet. In `whole`, a source may be a dataset without a column."""
    told = {field: {"inputs": [one | {"type": "DATASET"} for one in sources(each)]} for field, each in fields.items()}
    inputs = [
        (sources(each)[0] if "." in each else {"namespace": LAKE, "name": each}) | {"type": "DATASET"}
        for each in whole.split()
    ]
    return {"namespace": LAKE, "name": name, "type": "DATASET", "inputs": inputs, "fields": told}


def lineage(*entries: Json) -> dict[str, Json]:
    """Return the facets of a run that reports its lineage in a `lineage` facet."""
    return {"lineage": facet(entries=list(entries))}
