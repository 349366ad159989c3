"""Registries of parts: built-in parts by import path, other parts by the entry points of installed packages.

Built-in parts need no package metadata, because the Function App and `--py-files` contain only the folder `headwater/`.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, NoReturn, TypeVar

from headwater.common.errors import WrongSetting

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

P = TypeVar("P")


class Installed(NamedTuple, Generic[P]):
    """The parts that installed packages add, by name, and a message for each part that cannot be used."""

    parts: Mapping[str, P]
    problems: tuple[str, ...]


class Registry(Generic[P]):
    """The parts of one kind. A part is imported when it is first needed; entry points are read for other names only."""

    def __init__(self, kind: str, group: str, built_in: Mapping[str, str], check: Callable[[str, Any], P]) -> None:
        """Register the built-in parts without importing them.

        kind: what a part is, for messages. group: the group of entry points to read. built_in: maps the name of a part
        to `module` or `module:attribute`. check: receives the name and the imported object, and returns the part. It
        raises ValueError, with the fault and its correction, if the object is not a valid part.
        """
        self.built_in = dict(built_in)
        self._kind = kind
        self._group = group
        self._check = check
        self._loaded: dict[str, P] = {}
        self._entries: dict[str, EntryPoint] = {}
        self._refused: dict[str, str] = {}
        self._is_read = False

    def get(self, name: str) -> P | None:
        """Return a part, or None if the name is unknown. Raises WrongSetting for a broken part of another package."""
        if name in self.built_in:
            return self._check(name, _import_by_path(self.built_in[name]))
        self._read_entry_points()
        if name in self._refused:
            raise WrongSetting(self._refused[name])
        if name in self._entries and name not in self._loaded:
            self._loaded[name] = self._load_installed(name, self._entries[name])
        return self._loaded.get(name)

    def load_built_in(self) -> dict[str, P]:
        """Return all built-in parts, in the order of the registry."""
        return {name: part for name in self.built_in if (part := self.get(name)) is not None}

    def installed(self, objection: Callable[[P], str | None] = lambda _: None) -> Installed[P]:
        """Return the parts of other packages. A broken part becomes a problem and does not affect the others.

        objection: receives a valid part. It returns None if the part can be used, or else the reason why it cannot be
        used, with the correction.
        """
        self._read_entry_points()
        parts: dict[str, P] = {}
        for name in [*self._entries]:
            try:
                if (part := self.get(name)) is None:
                    continue
                if why := objection(part):
                    self._raise_broken_part(name, self._entries[name], why)
                parts[name] = part
            except WrongSetting:
                continue
        return Installed(parts, tuple(self._refused.values()))

    def names(self) -> list[str]:
        """Return the names of all parts, without importing any."""
        self._read_entry_points()
        return [*self.built_in, *self._entries]

    def _read_entry_points(self) -> None:
        if self._is_read:
            return
        from importlib.metadata import entry_points  # noqa: PLC0415 - 45 ms, which built-in parts do not need

        found = {(each.name, each.value): each for each in entry_points(group=self._group)}.values()
        counts = Counter(each.name for each in found)
        for each in found:
            if each.name in self.built_in:
                self._record_problem(
                    each.name, each, f"the name {each.name!r} is a built-in {self._kind}. Choose another name."
                )
            elif counts[each.name] > 1:
                others = sorted(_package_of_entry(one) for one in found if one.name == each.name)
                self._record_problem(
                    each.name, each, f"{' and '.join(others)} use the same name. Uninstall one of them."
                )
            else:
                self._entries[each.name] = each
        self._is_read = True

    def _load_installed(self, name: str, entry: "EntryPoint") -> P:
        try:
            found = entry.load()
        except (Exception, SystemExit) as error:  # another author's code: whatever it raises must not stop other parts
            what = f"{type(error).__name__}: {error}".rstrip(": ")
            self._raise_broken_part(
                name, entry, f"importing it failed with {what}. Repair, update or uninstall the package."
            )
        try:
            return self._check(name, found)
        except ValueError as error:
            self._raise_broken_part(name, entry, str(error))

    def _raise_broken_part(self, name: str, entry: "EntryPoint", why: str) -> NoReturn:
        self._record_problem(name, entry, why)
        self._loaded.pop(name, None)
        raise WrongSetting(self._refused[name])

    def _record_problem(self, name: str, entry: "EntryPoint", why: str) -> None:
        self._refused[name] = f"The {self._kind} {name!r} of {_package_of_entry(entry)} cannot be used: {why}"


def _import_by_path(path: str) -> Any:
    module, _, attribute = path.partition(":")
    found = import_module(module.strip())
    return attrgetter(attribute.strip())(found) if attribute else found


def _package_of_entry(entry: "EntryPoint") -> str:
    package = f"the package {entry.dist.name} {entry.dist.version}" if entry.dist else "an unnamed package"
    return f"{package} ({entry.value})"
