"""What stands in an answer, as people read it: names, steps, truths and counts in words, none as Python writes it."""

from collections.abc import Iterator, Mapping
from typing import Any

Member = Mapping[str, Any]


def said(value: Any, *, whole: bool = False) -> str:
    """Return any value of an answer as text, "" for nothing. whole: names of datasets with their namespaces."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    if isinstance(value, Mapping):
        return _thing(value, whole=whole)
    if isinstance(value, list | tuple):
        return "; ".join(said(each, whole=whole) for each in value)
    return str(value)


def how(transformation: Member) -> str:
    """Return what a step does to a value: `direct identity`, `indirect filter, masks`."""
    kind = " ".join(filter(None, (transformation["type"], transformation.get("subtype")))).lower().replace("_", " ")
    masks = ", masks" if transformation.get("masking") else ""
    described = f" ({transformation['description']})" if transformation.get("description") else ""
    return kind + masks + described


def place(thing: Member, *, whole: bool = False) -> str:
    """Return a dataset or a column as one text, `DATASET#COLUMN`: by its display name if that is another one."""
    column, display = thing.get("column"), thing.get("display_name")
    name = display or f"{thing['namespace']}/" * whole + thing["dataset"]
    return safe(name + (f"#{column}" if column else ""))


def step(thing: Member, *, whole: bool = False) -> str:
    """Return a column with the last step of the way to it."""
    via = thing["via"]
    return f"{place(thing, whole=whole)} by {safe(via['job']['name'])}: {how(via['transformation'])}"


def is_place(value: Any) -> bool:
    """Tell whether something has the name of a dataset or a column."""
    return isinstance(value, Mapping) and isinstance(value.get("dataset"), str) and "namespace" in value


def is_one(value: Any) -> bool:
    """Tell whether something in an answer is one thing, which one text names: a job, a step, a column."""
    return is_place(value) or (isinstance(value, Mapping) and (_is_named(value) or _is_transformation(value)))


def namespaces(value: Any) -> Iterator[str]:
    """Yield the namespaces of all datasets in an answer."""
    if is_place(value):
        yield value["namespace"]
    for each in value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ():
        yield from namespaces(each)


def safe(text: str) -> str:
    """Show what would move the cursor, turn the direction of writing or hide as it is written in Python."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


def _thing(value: Member, *, whole: bool) -> str:
    if is_place(value):
        return step(value, whole=whole) if isinstance(value.get("via"), Mapping) else place(value, whole=whole)
    if _is_transformation(value):
        return how(value)
    if _is_named(value):
        return safe(value["name"])
    return ", ".join(f"{name} {said(each, whole=whole)}" for name, each in value.items() if each not in (None, ""))


def _is_named(value: Member) -> bool:
    return {*value} == {"namespace", "name"}


def _is_transformation(value: Member) -> bool:
    return {"type", "masking"} <= {*value}
