"""Construct the values of YAML nodes, and report invalid scalars with their position."""

from collections.abc import Iterator
from typing import Any

import yaml

_FAULTS = (ValueError, LookupError, AttributeError, TypeError, OverflowError)
"""Errors that PyYAML raises for `!!int ''`, `!!bool x`, `1970-99-99` and numbers with too many digits."""


def construct_value(node: yaml.Node, loader: Any = yaml.SafeLoader) -> Any:
    """Return the value of a node. Raises MarkedYAMLError with the position of the first invalid scalar.

    loader: a class such as `yaml.SafeLoader`.
    """
    try:
        return loader("").construct_document(node)
    except _FAULTS:
        for scalar in _scalar_nodes(node):
            try:
                loader("").construct_document(scalar)
            except _FAULTS:
                kind = str(scalar.tag).rpartition(":")[2]
                problem = f"{scalar.value[:60]!r} is not a valid {kind}; quote it if it is a string"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=scalar.start_mark) from None
        raise


def _scalar_nodes(root: yaml.Node) -> Iterator[yaml.ScalarNode]:
    todo = [root]
    while todo:
        node = todo.pop()
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.SequenceNode):
            todo += node.value
        elif isinstance(node, yaml.MappingNode):
            todo += [part for pair in node.value for part in pair]
