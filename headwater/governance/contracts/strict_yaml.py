"""Parses YAML, but rejects aliases, deep nesting and duplicate keys.

They can exhaust a loader or hide a part of the file.
"""

from collections.abc import Iterator
from typing import Any

import yaml

_MAX_DEPTH = 100


def compose_strict(text: str | bytes, loader: Any) -> yaml.Node | None:
    """Return the nodes of a text.

    Raises MarkedYAMLError for deep nesting, aliases and duplicate keys. loader: the parser to use.
    """
    _check_events(text, loader)
    node: yaml.Node | None = yaml.compose(text, Loader=loader)
    for key in _duplicate_keys(node):
        raise _error_at(key.start_mark, f"the key {str(key.value)[:100]!r} occurs twice, keep one")
    return node


def _check_events(text: str | bytes, loader: Any) -> None:
    """Check the events of the parser before composing, because events need no memory."""
    deep = 0
    for event in yaml.parse(text, Loader=loader):
        deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if deep > _MAX_DEPTH:  # libyaml's composer calls itself for each level
            raise _error_at(event.start_mark, f"it nests more than {_MAX_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):  # a few aliases can expand beyond memory
            raise _error_at(event.start_mark, f"the alias *{event.anchor} is not supported, write its value")


def _error_at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _duplicate_keys(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Yield duplicate keys of mappings."""
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
