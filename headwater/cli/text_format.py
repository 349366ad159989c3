"""Format values of answers as text for tables: names, steps, booleans and numbers."""

from collections.abc import Iterator, Mapping
from typing import Any

Member = Mapping[str, Any]


def as_text(value: Any, *, with_namespaces: bool = False) -> str:
    """Return a value of an answer as text, empty for None. with_namespaces: whether to include namespaces."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return _object_text(value, with_namespaces=with_namespaces)
    if isinstance(value, list | tuple):
        return "; ".join(as_text(each, with_namespaces=with_namespaces) for each in value)
    return str(value)


def transformation_text(transformation: Member) -> str:
    """Return a transformation as text, such as `direct identity` or `indirect filter, masks`."""
    kind = " ".join(filter(None, (transformation["type"], transformation.get("subtype")))).lower().replace("_", " ")
    masks = ", masks" if transformation.get("masking") else ""
    described = f" ({transformation['description']})" if transformation.get("description") else ""
    return kind + masks + described


def dataset_text(thing: Member, *, with_namespaces: bool = False) -> str:
    """Return a dataset as `DATASET` or a column as `DATASET#COLUMN`, with the display name if there is one.

    with_namespaces: whether to include the namespace.
    """
    column, display = thing.get("column"), thing.get("display_name")
    name = display or f"{thing['namespace']}/" * with_namespaces + thing["dataset"]
    return escape_unprintable(name + (f"#{column}" if column else ""))


def step_text(thing: Member, *, with_namespaces: bool = False) -> str:
    """Return a column as text, with the step of the path that leads to the column."""
    via = thing["via"]
    name, job = dataset_text(thing, with_namespaces=with_namespaces), escape_unprintable(via["job"]["name"])
    return f"{name} by {job}: {transformation_text(via['transformation'])}"


def names_dataset(value: Any) -> bool:
    """Return whether a value is the name of a dataset or column."""
    return isinstance(value, Mapping) and isinstance(value.get("dataset"), str) and "namespace" in value


def is_single_text(value: Any) -> bool:
    """Return whether a value is printed as one text, as jobs, transformations, datasets and columns are."""
    return names_dataset(value) or (isinstance(value, Mapping) and (_is_named(value) or _is_transformation(value)))


def namespaces(value: Any) -> Iterator[str]:
    """Yield the namespaces of all datasets in a value."""
    if names_dataset(value):
        yield value["namespace"]
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from namespaces(each)


def escape_unprintable(text: str) -> str:
    """Escape characters that are not printable, such as terminal escapes and bidirectional controls."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _object_text(value: Member, *, with_namespaces: bool) -> str:
    if names_dataset(value):
        return (
            step_text(value, with_namespaces=with_namespaces)
            if isinstance(value.get("via"), Mapping)
            else dataset_text(value, with_namespaces=with_namespaces)
        )
    if _is_transformation(value):
        return transformation_text(value)
    if _is_named(value):
        return escape_unprintable(value["name"])
    return ", ".join(
        f"{name} {as_text(each, with_namespaces=with_namespaces)}"
        for name, each in value.items()
        if each not in (None, "")
    )


def _is_named(value: Member) -> bool:
    return {*value} == {"namespace", "name"}


def _is_transformation(value: Member) -> bool:
    return {"type", "masking"} <= {*value}
