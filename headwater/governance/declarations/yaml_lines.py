"""YAML with line numbers: scalars as strings, without duplicate keys and aliases."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from headwater.common.errors import WrongSetting
from headwater.common.yaml_values import construct_value
from headwater.governance.contracts.strict_yaml import compose_strict

MAX_BYTES = 16 << 20


class YamlText(NamedTuple):
    """A parsed file. Every scalar is a string, so that a column can have the name `on` or `1`."""

    value: Any
    node: yaml.Node | None

    def line(self, path: Sequence[Any]) -> int:
        """Return the line of a part, or of its last existing parent."""
        node, line = self.node, 1
        for step in path:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
            elif isinstance(node, yaml.MappingNode):
                pair = next((each for each in node.value if each[0].value == step), None)
                if pair is not None:  # a short form has no such key
                    line, node = pair[0].start_mark.line + 1, pair[1]
        return line


def read_yaml(text: bytes, file: str) -> YamlText:
    """Parse a file. Raises WrongSetting with the line of an error."""
    if len(text) > MAX_BYTES:
        raise WrongSetting(f"{file} has {len(text):,} bytes. Split it: the limit is {MAX_BYTES:,}.")
    try:
        node = compose_strict(text, yaml.CBaseLoader)
        return YamlText(None if node is None else construct_value(node, yaml.CBaseLoader), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise WrongSetting(f"{file}, line {line}: this is not valid YAML: {error.problem}. Correct it.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{file} is not valid YAML: {str(error).splitlines()[0]}. Correct it.") from error
