"""YAML that no file of ours needs and that a loader may die of, or take the half of: refused."""

from collections.abc import Iterator
from typing import Any

import yaml

_DEEPEST = 100


def composed(text: str | bytes, loader: Any) -> yaml.Node | None:
    """Return the nodes of a text; raises MarkedYAMLError for deep nests, aliases, a key twice. loader: whose parser."""
    _refuse_odd(text, loader)
    node: yaml.Node | None = yaml.compose(text, Loader=loader)
    for key in _twice(node):
        raise _found_at(key.start_mark, f"{str(key.value)[:100]!r} is given twice, keep one")
    return node


def _refuse_odd(text: str | bytes, loader: Any) -> None:
    """Refuse in a first pass, which keeps nothing."""
    deep = 0
    for event in yaml.parse(text, Loader=loader):
        deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if deep > _DEEPEST:  # libyaml's composer calls itself for each level
            raise _found_at(event.start_mark, f"it nests more than {_DEEPEST} levels, which no file of this kind does")
        if isinstance(event, yaml.AliasEvent):  # a few of them can stand for more than memory holds
            raise _found_at(event.start_mark, f"alias *{event.anchor} is not taken, write it out")


def _found_at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _twice(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Yield keys that a mapping has already."""
    todo = [] if root is None else [root]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.SequenceNode):
            todo += node.value
        elif isinstance(node, yaml.MappingNode):
            seen: set[str] = set()
            for key, value in node.value:
                if isinstance(key, yaml.ScalarNode):
                    if key.value in seen:
                        yield key
                    seen.add(key.value)
                todo.append(value)
