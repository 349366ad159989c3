"""YAML whose every part knows its line: texts as written, no key twice, no aliases."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import yaml

from headwater.contracts.odd_yaml import composed
from headwater.errors import WrongSetting
from headwater.yaml_values import constructed

MAX_BYTES = 16 << 20


class YamlText(NamedTuple):
    """A file: what it says, and where. Every scalar is a text, so that a column may be called `on` or `1`."""

    value: Any
    node: yaml.Node | None

    def line(self, way: Sequence[Any]) -> int:
        """Return the line of a part, or of the last on the way to it that the file has."""
        node, line = self.node, 1
        for step in way:
            if isinstance(node, yaml.SequenceNode) and isinstance(step, int) and step < len(node.value):
                node = node.value[step]
                line = node.start_mark.line + 1
            elif isinstance(node, yaml.MappingNode):
                pair = next((each for each in node.value if each[0].value == step), None)
                if pair is not None:  # else it was written in a short way, which has no such key
                    line, node = pair[0].start_mark.line + 1, pair[1]
        return line


def read_yaml(text: bytes, file: str) -> YamlText:
    """Read a file; raises WrongSetting naming its line."""
    if len(text) > MAX_BYTES:
        raise WrongSetting(f"{file} has {len(text):,} bytes. Split it: {MAX_BYTES:,} are taken at most.")
    try:
        node = composed(text, yaml.CBaseLoader)
        return YamlText(None if node is None else constructed(node, yaml.CBaseLoader), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise WrongSetting(f"{file}, line {line}: no YAML: {error.problem}. Correct it there.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{file}: no YAML: {str(error).splitlines()[0]}. Correct it.") from error
