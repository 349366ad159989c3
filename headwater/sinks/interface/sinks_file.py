"""Read `sinks.yml`. Errors contain the file, the line and the sink, and suggest a fix."""

from collections.abc import Hashable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import yaml
from pydantic import ValidationError

from headwater.common.errors import HeadwaterError, Retry, WrongSetting
from headwater.common.yaml_values import construct_value
from headwater.lineage.rules.rule_text import RuleEntry, read_document
from headwater.sinks.interface.options import Options, Sink
from headwater.sinks.interface.target_registry import TARGETS

_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


class ParsedSinks(NamedTuple):
    """The sinks of a file by name. broken: maps a sink to a message if the package that adds its type is broken."""

    sinks: Mapping[str, Sink]
    broken: Mapping[str, str]


def parse_sinks(text: str, file: str) -> ParsedSinks:
    """Read the sinks of a file; raises WrongSetting if an entry is invalid.

    A sink type from another package that cannot be loaded affects only the sinks of this type.
    """
    whole = read_document(text, file, ("sinks",))
    named = whole.nested_entry("sinks", None) if whole else None
    sinks: dict[str, Sink] = {}
    broken: dict[str, str] = {}
    if named is None:
        return ParsedSinks(sinks, broken)
    for name, node in named.nodes.items():
        if not name or len(name) > 60 or not _NAME.issuperset(name):
            raise named.setting_error(
                f"{name[:60]!r} is not a valid sink name", "use lower-case letters, digits, `-` and `_`"
            )
        entry = named.nested_entry(name, None)
        assert entry  # noqa: S101 - its key was just seen
        kind = entry.required_text("type")
        try:
            known = TARGETS.get(kind)
        except WrongSetting as error:
            line = entry.nodes["type"].start_mark.line + 1
            broken[name] = f"{file}, line {line}, {entry.rule}: this sink does not run. {error}"
            continue
        if known is None:
            types = f"known types: {', '.join(TARGETS.names())}; another type needs its Python package"
            raise entry.setting_error(f"unknown type {kind[:60]!r}", types, entry.nodes["type"])
        sinks[name] = _parse_sink(name, entry, node, known.OPTIONS)
    return ParsedSinks(sinks, broken)


def _parse_sink(name: str, entry: RuleEntry, node: yaml.Node, options: type[Options]) -> Sink:
    try:
        return Sink(name, options.model_validate(construct_value(node)))
    except yaml.MarkedYAMLError as error:
        raise entry.setting_error(f"invalid YAML: {error.problem}", "correct it", error.problem_mark) from error
    except ValidationError as error:
        raise _setting_error(entry, node, options, error) from error


def _setting_error(entry: RuleEntry, node: yaml.Node, options: type[Options], error: ValidationError) -> WrongSetting:
    found = error.errors(include_input=False, include_url=False)
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")  # a misspelt key is also reported as missing
    where = [str(part) for part in first["loc"]]
    if first["type"] == "missing":
        return entry.setting_error(f"{'.'.join(where)} is missing", f"add `{where[-1]}: …`", _node_at(node, where[:-1]))
    if first["type"] == "extra_forbidden":
        names = ", ".join(option.alias or name for name, option in options.model_fields.items())
        known = names if len(where) == 1 else "see docs/reference/sinks.md"
        return entry.setting_error(f"unknown key {where[-1][:60]!r}", f"known keys: {known}", _node_at(node, where))
    what = first["msg"].removeprefix("Value error, ")
    return entry.setting_error(
        f"{'.'.join(where)}: {what}" if where else what, "see docs/reference/sinks.md", _node_at(node, where)
    )


def _node_at(node: yaml.Node, where: Sequence[str]) -> yaml.Node:
    """Return the node at a path of keys and indexes, or the last existing node on the way."""
    for step in where:
        inner: Any = None
        if isinstance(node, yaml.MappingNode):
            inner = next((value for key, value in node.value if key.value == step), None)
        elif isinstance(node, yaml.SequenceNode) and step.isdecimal() and int(step) < len(node.value):
            inner = node.value[int(step)]
        if inner is None:
            return node
        node = inner
    return node


class SinksSource(Protocol):
    """The sinks file: a local file, or a file next to the lake (`LakeFile` in `operations/runtime/azure_files.py`)."""

    name: str

    def version(self) -> Hashable | None:
        """Return a value that changes with the file, None if the file does not exist; raises LakeUnavailable."""

    def text(self) -> str | None:
        """Return the content of the file, None if it does not exist; raises WrongSetting or LakeUnavailable."""


class LocalSinksFile:
    """A file on this machine."""

    def __init__(self, path: Path) -> None:
        self.name = path.name
        self._path = path

    def version(self) -> tuple[int, int, int] | None:
        """Return the file's modification time, size and inode, None if it does not exist."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def text(self) -> str | None:
        """Return the content of the file, None if it does not exist; raises WrongSetting."""
        try:
            return self._path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise WrongSetting(f"{self.name} cannot be read: {error}. Correct or remove the file.") from error


def load_sinks(file: SinksSource) -> ParsedSinks:
    """Read the sinks of a file; returns no sinks if it does not exist. Raises WrongSetting or LakeUnavailable."""
    text = file.text()
    return ParsedSinks({}, {}) if text is None else parse_sinks(text, file.name)


class SinksFile:
    """The current sinks; while the file is invalid, the last valid sinks apply. Not thread-safe."""

    def __init__(self, file: SinksSource) -> None:
        self._file = file
        self._version: Hashable | None = object()
        self._sinks: Mapping[str, Sink] = {}
        self.problem: str | None = None

    def current_sinks(self) -> Mapping[str, Sink]:
        """Return the sinks that apply; reads the file first if it has changed, and stores its errors in `problem`."""
        try:
            if (version := self._file.version()) != self._version:
                self._version = version
                self._sinks, broken = load_sinks(self._file)
                self.problem = " ".join(broken.values()) or None
        except HeadwaterError as error:
            if isinstance(error, Retry):
                self._version = object()  # a temporary fault: the next call reads the file again
            stays = "The last valid sinks still apply." if self._sinks else "No sink is running."
            self.problem = f"{error} {stays}"
        return self._sinks
