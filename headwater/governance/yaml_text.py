"""Read and write YAML; error messages contain the file, the line and the cause.

The readers reject aliases, deep nesting and duplicate keys, which can exhaust memory or hide a part of the file.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from headwater.common.errors import WrongSetting
from headwater.common.yaml_values import construct_value

_MAX_FILE_BYTES = 32 << 20
"""Maximum size of a file that is read from disk, in bytes."""
_MAX_LINES_BYTES = 16 << 20
"""Maximum size of a text that is read with line numbers, in bytes."""
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_MAX_DEPTH = 100
Json = dict[str, Any]


class _DumperWithoutAliases(getattr(yaml, "CSafeDumper", yaml.SafeDumper)):  # type: ignore[misc]
    """Writes repeated values in full instead of YAML aliases, for readability."""

    def ignore_aliases(self, _data: object) -> bool:
        """Disable aliases."""
        return True


def to_yaml(document: Json) -> str:
    """Return a document as YAML, with members in the order of the document."""
    text: str = yaml.dump(document, Dumper=_DumperWithoutAliases, sort_keys=False, allow_unicode=True, width=120)
    return text


def read_text(path: Path, shown: str, too_long: str) -> str:
    """Return the text of a file; raises WrongSetting if the file cannot be read or is too large.

    shown: name of the file in error messages. too_long: what to do if the file is too large, for the error message.
    """
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise WrongSetting(f"{path} is larger than {_MAX_FILE_BYTES >> 20} MiB. {too_long}")
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise WrongSetting(f"Cannot read {shown}: {error}. Correct the file, or name another one.") from error


def read_yaml(text: str, where: str) -> Json:
    """Parse a YAML mapping with typed scalars; raises WrongSetting with the location if it is invalid.

    where: name of the file, for error messages.
    """
    try:
        node = compose_strict(text, _LOADER)
        found = None if node is None else construct_value(node, _LOADER)
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{where} is not valid YAML: {str(error)[:500]}. Correct it.") from error
    if not isinstance(found, dict):
        raise WrongSetting(
            f"{where} contains {type(found).__name__}, not a mapping. Use the form that `headwater contract` prints."
        )
    return found


class YamlText(NamedTuple):
    """A parsed file. Every scalar is a string, so that a column can have the name `on` or `1`."""

    value: Any
    node: yaml.Node | None

    def line(self, path: Sequence[Any]) -> int:
        """Return the line of the part at a path of keys and indexes, or of its last existing parent."""
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


def read_yaml_lines(text: bytes, file: str) -> YamlText:
    """Parse a file with line numbers and with scalars as strings; raises WrongSetting with the line if it is invalid.

    file: name of the file, for error messages.
    """
    if len(text) > _MAX_LINES_BYTES:
        raise WrongSetting(f"{file} has {len(text):,} bytes. Split it: the limit is {_MAX_LINES_BYTES:,}.")
    try:
        node = compose_strict(text, yaml.CBaseLoader)
        return YamlText(None if node is None else construct_value(node, yaml.CBaseLoader), node)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise WrongSetting(f"{file}, line {line}: this is not valid YAML: {error.problem}. Correct it.") from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise WrongSetting(f"{file} is not valid YAML: {str(error).splitlines()[0]}. Correct it.") from error


def compose_strict(text: str | bytes, loader: Any) -> yaml.Node | None:
    """Return the root node of a text, or None if the text is empty.

    loader: the YAML loader class to use. Raises MarkedYAMLError for deep nesting, aliases and duplicate keys.
    """
    _check_events(text, loader)
    node: yaml.Node | None = yaml.compose(text, Loader=loader)
    for key in _duplicate_keys(node):
        raise _yaml_error_at(key.start_mark, f"the key {str(key.value)[:100]!r} occurs twice, keep one")
    return node


def _check_events(text: str | bytes, loader: Any) -> None:
    """Raise MarkedYAMLError for deep nesting and aliases, before the text is composed, which could exhaust memory."""
    deep = 0
    for event in yaml.parse(text, Loader=loader):
        deep += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if deep > _MAX_DEPTH:  # libyaml's composer calls itself for each level
            raise _yaml_error_at(event.start_mark, f"it nests more than {_MAX_DEPTH} levels")
        if isinstance(event, yaml.AliasEvent):  # a few aliases can expand beyond memory
            raise _yaml_error_at(event.start_mark, f"the alias *{event.anchor} is not supported, write its value")


def _yaml_error_at(mark: Any, problem: str) -> yaml.MarkedYAMLError:
    return yaml.MarkedYAMLError(problem=problem, problem_mark=mark)


def _duplicate_keys(root: yaml.Node | None) -> Iterator[yaml.Node]:
    """Yield the keys that occur more than once in a mapping, at any depth."""
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
