"""Display names in answers."""

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from operator import attrgetter
from typing import Any, get_args, get_type_hints

from msgspec import UNSET, Struct, UnsetType

from headwater.lineage.names.dataset_name import Name
from headwater.questions.answer_types.common import Dataset, Displayed


@cache
def may_contain_datasets(kind: Any) -> bool:
    """Return whether answers of a type may contain datasets."""
    todo, seen = [kind], {kind}
    while todo:
        each = todo.pop()
        if issubclass(each, Displayed):
            return True
        inside = {struct for hint in get_type_hints(each).values() for struct in _structs_in_hint(hint)}
        todo += inside - seen
        seen |= inside
    return False


def set_display_names(answer: Any, display_name_of: Callable[[Name], str]) -> None:
    """Set the display names in an answer. display_name_of: returns the display name of a dataset.

    Parts are processed by type, because 1,000 columns are 1,000 parts of only two types.
    """
    known: dict[tuple[str, str], str | UnsetType] = {}
    layer = _StructsByType([answer])
    while layer.by_type:
        inside = _StructsByType()
        for kind, parts in layer.by_type.items():
            if issubclass(kind, Displayed):
                _set_display_names(parts.values(), known, display_name_of)
            for member in _members_with_datasets(kind):
                inside.add(map(attrgetter(member), parts.values()))
        layer = inside


class _StructsByType:
    """Collects the structs of an answer by type. Each struct is contained once, although columns share steps."""

    def __init__(self, values: Iterable[Any] = ()):
        self.by_type: dict[type[Struct], dict[int, Any]] = {}
        self.add(values)

    def add(self, values: Iterable[Any]) -> None:
        """Add structs, also from lists and dictionaries. Other values are ignored."""
        by_type = self.by_type
        for value in values:
            if value is None or value is UNSET:
                continue
            if isinstance(value, Struct):
                kind = type(value)
                if kind not in by_type:
                    by_type[kind] = {}
                by_type[kind][id(value)] = value
            elif isinstance(value, (list, tuple)):
                self.add(value)
            elif isinstance(value, dict):
                self.add(value.values())


def _set_display_names(
    structs: Iterable[Any], known: dict[tuple[str, str], str | UnsetType], display_name_of: Callable[[Name], str]
) -> None:
    for each in structs:
        if not isinstance(each, Dataset) and not _is_dataset(each):
            continue
        key = each.namespace, each.dataset if hasattr(each, "dataset") else each.name
        shown = known.get(key)
        if shown is None:
            if key[0] is UNSET:
                continue  # a step without column lineage only names its job
            name = display_name_of(Name(*key))
            shown = known[key] = UNSET if name == key[1] else name
        each.display_name = shown


def _is_dataset(value: Displayed) -> bool:
    kind = getattr(value, "kind", getattr(value, "of", "dataset"))
    return kind in ("dataset", "column", "tag")


@cache
def _members_with_datasets(kind: type[Struct]) -> tuple[str, ...]:
    """Return the members of a type that may contain datasets.

    Other members are not visited, which saves time in answers with 10,000 items.
    """
    hints = get_type_hints(kind)
    return tuple(
        name for name in kind.__struct_fields__ if any(map(may_contain_datasets, _structs_in_hint(hints[name])))
    )


def _structs_in_hint(hint: Any) -> Iterator[type[Struct]]:
    if isinstance(hint, type) and issubclass(hint, Struct):
        yield hint
    for each in get_args(hint):
        yield from _structs_in_hint(each)
