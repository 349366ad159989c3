"""`sinks.yml`: which sinks there are. Errors name file, line and sink, and what fits."""

from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, Protocol

import yaml
from pydantic import ValidationError

from headwater.errors import HeadwaterError, Retry, WrongSetting
from headwater.lineage.rules.rule_text import Entry, read_whole
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.target_registry import TARGETS, target_module
from headwater.yaml_values import constructed

_NAME = frozenset("abcdefghijklmnopqrstuvwxyz0123456789_-")


def read_sinks(text: str, file: str) -> dict[str, Sink]:
    """Read the sinks of a file by name; raises WrongSetting."""
    whole = read_whole(text, file, ("sinks",))
    named = whole.part("sinks", None) if whole else None
    if named is None:
        return {}
    return {name: _sink(name, named) for name in named.values}


def _sink(name: str, named: Entry) -> Sink:
    if not name or len(name) > 60 or not _NAME.issuperset(name):
        raise named.error(f"{name[:60]!r} is no name of a sink", "take lower-case letters, digits, `-` and `_`")
    entry = named.part(name, None)
    assert entry  # noqa: S101 - its key was just seen
    kind = entry.text("type")
    if kind not in TARGETS:
        raise entry.error(f"unknown type {kind[:60]!r}", f"known types: {', '.join(TARGETS)}", entry.values["type"])
    node = named.values[name]
    try:
        return Sink(name, target_module(kind).OPTIONS.model_validate(constructed(node)))
    except yaml.MarkedYAMLError as error:
        raise entry.error(f"no YAML that can be read: {error.problem}", "correct it", error.problem_mark) from error
    except ValidationError as error:
        raise _wrong(entry, node, error) from error


def _wrong(entry: Entry, node: yaml.Node, error: ValidationError) -> WrongSetting:
    found = error.errors(include_input=False, include_url=False)
    first = min(found, key=lambda each: each["type"] != "extra_forbidden")  # a misspelt key is also a missing one
    where = [str(part) for part in first["loc"]]
    if first["type"] == "missing":
        return entry.error(f"{'.'.join(where)} is missing", f"add `{where[-1]}: …`", _at(node, where[:-1]))
    if first["type"] == "extra_forbidden":
        options = target_module(entry.text("type")).OPTIONS.model_fields
        known = (
            ", ".join(option.alias or name for name, option in options.items()) if len(where) == 1 else "see sinks.md"
        )
        return entry.error(f"unknown key {where[-1][:60]!r}", f"known keys: {known}", _at(node, where))
    what = first["msg"].removeprefix("Value error, ")
    return entry.error(f"{'.'.join(where)}: {what}" if where else what, "see sinks.md", _at(node, where))


def _at(node: yaml.Node, where: Sequence[str]) -> yaml.Node:
    """Return the innermost node on a way of keys and places."""
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


class SinksText(Protocol):
    """Where the file lies: on a disk, or beside the lake (`runtime/lake_file.py`)."""

    name: str

    def stamp(self) -> Hashable | None:
        """Return what changes with the file, None where there is none; raises LakeUnavailable."""

    def text(self) -> str | None:
        """Return the file, None where there is none; raises WrongSetting or LakeUnavailable."""


class FileOnDisk:
    """A file of this machine."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self.name = path.name
        self._path = path

    def stamp(self) -> tuple[int, int, int] | None:
        """Return the file's time, size and number, None where there is none."""
        try:
            found = self._path.stat()
        except OSError:
            return None
        return found.st_mtime_ns, found.st_size, found.st_ino

    def text(self) -> str | None:
        """Return the file, None where there is none; raises WrongSetting."""
        try:
            return self._path.read_text("utf-8")
        except FileNotFoundError:
            return None
        except (OSError, UnicodeDecodeError) as error:
            raise WrongSetting(f"{self.name}: cannot be read: {error}; correct or remove it.") from error


def sinks_of(file: SinksText) -> dict[str, Sink]:
    """Read the sinks of a file, none where there is no file; raises WrongSetting or LakeUnavailable."""
    text = file.text()
    return {} if text is None else read_sinks(text, file.name)


class SinksFile:
    """The file as it is now; a broken one leaves its last good sinks in force. Not for several threads at once."""

    def __init__(self, file: SinksText) -> None:
        """Read nothing yet."""
        self._file = file
        self._stamp: Hashable | None = object()
        self._sinks: dict[str, Sink] = {}
        self.problem: str | None = None

    def current(self) -> dict[str, Sink]:
        """Return the sinks in force; a file that changed is read first."""
        try:
            if (stamp := self._file.stamp()) != self._stamp:
                self._stamp = stamp
                self._sinks = sinks_of(self._file)
                self.problem = None
        except HeadwaterError as error:
            if isinstance(error, Retry):
                self._stamp = object()  # the file itself may be as good as before: it is read again
            stays = "Its last good sinks stay in force." if self._sinks else "None of its sinks is in force."
            self.problem = f"{error} {stays}"
        return self._sinks
