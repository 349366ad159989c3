"""Display names in answers: each dataset of an answer gets the name by which people know it."""

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, get_args, get_type_hints

from msgspec import UNSET, Struct

from headwater.lineage.names.dataset_name import Name
from headwater.questions.answers.answer_parts import Dataset, Displayed


@cache
def names_datasets(kind: Any) -> bool:
    """Tell whether answers of a type may name datasets."""
    todo, seen = [kind], {kind}
    while todo:
        each = todo.pop()
        if issubclass(each, Displayed):
            return True
        inside = {struct for hint in get_type_hints(each).values() for struct in _structs(hint)}
        todo += inside - seen
        seen |= inside
    return False


def display_datasets(answer: Any, called: Callable[[Name], str]) -> None:
    """Set the display names in an answer. called: returns the display name of a dataset."""
    known: dict[tuple[str, str], str] = {}
    for each in _displayed(answer):
        key = each.namespace, each.dataset if hasattr(each, "dataset") else each.name
        if key[0] is UNSET:
            continue  # a step without column lineage names its job alone
        if (shown := known.get(key)) is None:
            shown = known[key] = called(Name(*key))
        each.display_name = UNSET if shown == key[1] else shown


def _displayed(value: Any) -> Iterator[Any]:
    if isinstance(value, list | tuple):
        for each in value:
            yield from _displayed(each)
    elif isinstance(value, dict):
        yield from _displayed([*value.values()])
    elif isinstance(value, Struct):
        if isinstance(value, Displayed) and _is_dataset(value):
            yield value
        for member in _members(type(value)):
            yield from _displayed(getattr(value, member))


def _is_dataset(value: Displayed) -> bool:
    kind = getattr(value, "kind", getattr(value, "of", "dataset"))
    return isinstance(value, Dataset) or kind in ("dataset", "column", "tag")


@cache
def _members(kind: type[Struct]) -> tuple[str, ...]:
    """Return the members of a type that may name datasets: an answer has 10,000 items, and most members do not."""
    hints = get_type_hints(kind)
    return tuple(name for name in kind.__struct_fields__ if any(map(names_datasets, _structs(hints[name]))))


def _structs(hint: Any) -> Iterator[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for each in get_args(hint):
        yield from _structs(each)
