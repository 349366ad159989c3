"""Read rule files in YAML. Every entry stores its line, so error messages can name the file, line and rule."""

from collections.abc import Mapping
from dataclasses import dataclass

import yaml

from headwater.common.errors import WrongSetting

VERSION = 1
_MAX_DIGITS = 20
_NULL = "tag:yaml.org,2002:null"
_BOOLEAN = "tag:yaml.org,2002:bool"
_INTEGER = "tag:yaml.org,2002:int"


@dataclass(frozen=True)
class RuleEntry:
    """One mapping in a rule file, with its position.

    rule: the name of the entry in error messages, such as `rule 3`; empty for the whole file.
    nodes: the YAML node of each value, by key.
    """

    file: str
    line: int
    rule: str
    nodes: Mapping[str, yaml.Node]

    def required_text(self, key: str) -> str:
        """Return the text of a key; raises WrongSetting if the key is missing."""
        found = self.optional_text(key)
        if found is None:
            raise self.setting_error(f"{key} is missing", f"add `{key}: …`")
        return found

    def optional_text(self, key: str) -> str | None:
        """Return the text of a key, or None if the key is absent. Numbers and booleans are returned as written."""
        node = self.nodes.get(key)
        return None if node is None else self._scalar_text(key, node)

    def texts(self, key: str) -> tuple[str, ...]:
        """Return the texts in the list of a key, or a single text as a tuple; empty if the key is absent."""
        node = self.nodes.get(key)
        if node is None:
            return ()
        nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
        return tuple(self._scalar_text(key, item) for item in nodes)

    def flag(self, key: str) -> bool | None:
        """Return the boolean of a key, or None if the key is absent; raises WrongSetting for any other value."""
        node = self.nodes.get(key)
        if node is not None and node.tag != _BOOLEAN:
            raise self.setting_error(f"{key} is neither true nor false", f"write `{key}: true` or `{key}: false`", node)
        return None if node is None else str(node.value).lower() in ("true", "yes", "on")

    def integer(self, key: str) -> int | None:
        """Return the whole number of a key, or None if the key is absent; raises WrongSetting for any other value."""
        node = self.nodes.get(key)
        if node is not None and (node.tag != _INTEGER or not _is_short_number(node.value)):
            raise self.setting_error(f"{key} is no whole number", f"write it like `{key}: 3`", node)
        return None if node is None else int(node.value)

    def nested_entry(self, key: str, allowed: tuple[str, ...] | None) -> "RuleEntry | None":
        """Return the nested mapping of a key, or None if the key is absent.

        allowed: the keys that the nested mapping may have; None allows any key.
        """
        node = self.nodes.get(key)
        return None if node is None else _read_entry(node, self.file, f"{self.rule}, {key}".removeprefix(", "), allowed)

    def setting_error(self, problem: str, correction: str, at: yaml.Node | yaml.Mark | None = None) -> WrongSetting:
        """Return an error that names the file, line and rule, the problem, and the correction.

        at: the position of the problem inside the entry; None for the start of the entry.
        """
        mark = at.start_mark if isinstance(at, yaml.Node) else at
        return _setting_error(self.file, mark.line + 1 if mark else self.line, self.rule, problem, correction)

    def _scalar_text(self, key: str, node: yaml.Node) -> str:
        if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL or node.value == "":
            raise self.setting_error(f"{key} is not a text", f"write `{key}: some text`", node)
        return str(node.value)


def _is_short_number(text: object) -> bool:
    """Tell whether a text is a whole number of fewer than 20 digits, so that parsing it is fast."""
    return isinstance(text, str) and text.isdecimal() and len(text) < _MAX_DIGITS


def read_entries(text: str, file: str, sections: Mapping[str, tuple[str, ...]]) -> dict[str, list[RuleEntry]]:
    """Read a rule file: `version: 1` and a list of entries for each section.

    sections: the keys that entries may have, by the name of their section.
    Returns the entries by the name of their section. Raises WrongSetting for a file that breaks these rules.
    """
    whole = read_document(text, file, tuple(sections))
    return {
        section: _section_entries(whole, section, allowed) if whole else [] for section, allowed in sections.items()
    }


def read_document(text: str, file: str, sections: tuple[str, ...]) -> RuleEntry | None:
    """Return the root entry of a rule file with these sections, or None if the file is empty. Raises WrongSetting."""
    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise _setting_error(
            file, mark.line + 1 if mark else 1, None, f"no YAML: {error.problem}", "correct it"
        ) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise _setting_error(file, 1, None, f"no YAML: {str(error).splitlines()[0]}", "correct it") from error
    if root is None:
        return None
    whole = _read_entry(root, file, "", ("version", *sections))
    if whole.integer("version") != VERSION:
        raise whole.setting_error("the version of the file is missing or unknown", f"begin with `version: {VERSION}`")
    return whole


def _section_entries(whole: RuleEntry, section: str, allowed: tuple[str, ...]) -> list[RuleEntry]:
    node = whole.nodes.get(section)
    if node is None:
        return []
    if not isinstance(node, yaml.SequenceNode):
        raise whole.setting_error(f"{section} is not a list", "begin every rule with `- `", node)
    word = "alias" if section == "aliases" else "rule"
    return [_read_entry(item, whole.file, f"{word} {number}", allowed) for number, item in enumerate(node.value, 1)]


def _read_entry(node: yaml.Node, file: str, rule: str, allowed: tuple[str, ...] | None) -> RuleEntry:
    line = node.start_mark.line + 1
    known = f"known keys: {', '.join(allowed)}" if allowed else "write `name: value`"
    if not isinstance(node, yaml.MappingNode):
        raise _setting_error(file, line, rule, "no mapping of keys to values", known)
    values: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode) or (allowed is not None and key.value not in allowed):
            raise _setting_error(file, key.start_mark.line + 1, rule, f"unknown key {str(key.value)[:60]!r}", known)
        if key.value in values:
            raise _setting_error(file, key.start_mark.line + 1, rule, f"{key.value} is given twice", "keep one of them")
        values[key.value] = value
    return RuleEntry(file, line, rule, values)


def _setting_error(file: str, line: int, rule: str | None, problem: str, correction: str) -> WrongSetting:
    return WrongSetting(f"{file}, line {line}{', ' + rule if rule else ''}: {problem}; {correction}.")
