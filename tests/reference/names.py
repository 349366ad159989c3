"""Resolve names at a time: canonical forms and symlink bindings (docs/reference/lineage.md: names)."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

from tests.reference.records import Delivered, facets_of, is_own_table

Name = tuple[str, str]


DATES = re.compile(r"(?:19|20)\d\d[-_.]?\d\d[-_.]?\d\d|/(?:19|20)\d\d/\d\d/\d\d")
LOWER = ("hive://", "trino://", "mssql://", "arn:aws:glue:")


def canonical_form(namespace: str, name: str) -> Name:
    """Return the canonical form as far as generated events need it.

    It removes a leading slash and partitions, and lowers or raises the case for some systems.
    """
    if namespace.startswith("abfss://"):
        return namespace, re.sub("(?<=.)(/[^/=]+=[^/]+)+$", "", name.removeprefix("/"))
    if namespace.startswith("oracle://"):
        return namespace, "".join(part if at % 2 else part.upper() for at, part in enumerate(re.split('(".*?")', name)))
    return namespace, name.lower() if namespace.startswith(LOWER) else name


class Names:
    """All bindings of symlinks in a set of events."""

    def __init__(self, events: Iterable[Delivered], canonical: Callable[[str, str], Name]) -> None:
        self.canonical = canonical
        self.bindings: dict[Name, set[tuple[int, Name]]] = defaultdict(set)
        for event in events:
            for dataset in event.datasets("inputs", "outputs", "dataset"):
                self._bind_symlinks(dataset, event.time_us)

    def mention(self, named: dict[str, Any], event: Delivered) -> Name | None:
        """Return the name to which a mention refers, or None for Delta's internal tables."""
        return None if is_own_table(named["name"]) else self.bound(named["namespace"], named["name"], event.time_us)

    def bound(self, namespace: str, name: str, time_us: int) -> Name:
        sent = self.canonical(namespace, name)
        known = self.bindings.get(sent, set())
        newest = max((at for at, _ in known if at <= time_us), default=None)
        at = newest if newest is not None else min((at for at, _ in known), default=None)
        return min((location for bound_us, location in known if bound_us == at), default=sent)

    def locations(self, alias: Name) -> list[tuple[int, Name]]:
        """Return the locations of a bound name, each with the time of its binding, oldest first."""
        times = sorted({at for at, _ in self.bindings[alias]})
        every = [(at, min(location for bound_us, location in self.bindings[alias] if bound_us == at)) for at in times]
        return [each for n, each in enumerate(every) if n == 0 or each[1] != every[n - 1][1]]

    def others(self, location: Name, *, now: bool) -> list[Name]:
        """Return the other locations of the names that are bound to a location (now, or at any time), newest first."""
        newest: dict[Name, int] = {}
        for alias in self.bindings:
            stays = self.locations(alias)
            if stays[-1][1] == location if now else any(each == location for _, each in stays):
                for at, each in stays:
                    newest[each] = max(at, newest.get(each, at))
        return sorted(newest.keys() - {location}, key=lambda each: (-newest[each], each))

    def moved_to(self, location: Name) -> Name | None:
        """Return the current location of the name that left a location last, or None while a name is bound to the
        location.
        """
        left = []
        for alias in self.bindings:
            stays = self.locations(alias)
            if stays[-1][1] == location:
                return None
            places = [n for n, (_, each) in enumerate(stays) if each == location]
            left += [(stays[places[-1] + 1][0], alias, stays[-1][1])] if places else []
        return max(left)[2] if left else None

    def _bind_symlinks(self, dataset: dict[str, str], time_us: int) -> None:
        name = self.canonical(dataset["namespace"], dataset["name"])
        for each in (facets_of(dataset).get("symlinks") or {}).get("identifiers") or []:
            other = self.canonical(each["namespace"], each["name"])
            alias, location = (name, other) if each.get("type") == "LOCATION" else (other, name)
            if alias != location:
                self.bindings[alias].add((time_us, location))


def is_part(named: dict[str, Any], canonical: Callable[[str, str], Name]) -> bool:
    """Return whether the canonical form of a name dropped its last folder, a date, or the end of its last part."""
    folder = named["name"].rstrip("/").rpartition("/")[0]
    forms = [canonical(named["namespace"], name) for name in (folder, named["name"])]
    if folder.strip("/") and forms[0] == forms[1]:
        return True
    if any(date not in forms[1][1] for date in DATES.findall(named["name"])):
        return True
    ends = [re.split("[./]", re.sub(r'[/"`\[\]]+$', "", name))[-1].lower() for name in (forms[1][1], named["name"])]
    shorter, sent = (re.sub(r'^["`\[]', "", end) for end in ends)
    return shorter not in ("", sent) and sent.startswith(shorter)


def without_ends_of_parts(event: Delivered, canonical: Callable[[str, str], Name]) -> Delivered:
    """Return an event without the DROP or RENAME of partitions, and without old names that equal the new name."""
    outputs = []
    for each in event.datasets("outputs"):
        left = {name: value for name, value in facets_of(each).items() if name != "lifecycleStateChange"}
        if not _ends_part(each, canonical) and _keeps_name(each, canonical):
            change = facets_of(each)["lifecycleStateChange"] or {}
            left["lifecycleStateChange"] = {k: value for k, value in change.items() if k != "previousIdentifier"}
        changes = _ends_part(each, canonical) or _keeps_name(each, canonical)
        outputs.append({**each, "facets": left} if changes else each)
    return replace(event, event={**event.event, "outputs": outputs}) if outputs else event


def _keeps_name(named: dict[str, Any], canonical: Callable[[str, str], Name]) -> bool:
    before = (facets_of(named).get("lifecycleStateChange") or {}).get("previousIdentifier")
    own = canonical(named["namespace"], named["name"])
    return before is not None and canonical(before["namespace"], before["name"]) == own


def _ends_part(named: dict[str, Any], canonical: Callable[[str, str], Name]) -> bool:
    change = (facets_of(named).get("lifecycleStateChange") or {}).get("lifecycleStateChange")
    return change in ("DROP", "RENAME") and (is_part(named, canonical) or is_subset(named))


def is_subset(named: dict[str, Any]) -> bool:
    return bool((named.get("outputFacets") or {}).get("subset") or facets_of(named).get("subset"))


def reads_parts(named: dict[str, Any]) -> bool:
    """Return whether the `subset` of an input names partitions or locations, not only column values."""
    return any(
        isinstance(each, dict | str)
        for condition in _conditions(named)
        for each in [*(condition.get("partitions") or []), *(condition.get("locations") or [])]
    )


def filters(named: dict[str, Any], names: Names) -> set[str]:
    """Return the columns by which an input's `subset`, or a partition folder in its name, selects rows."""
    found = {
        part.partition("=")[0]
        for part in named["name"].split("/")
        if "=" in part and part not in names.canonical(named["namespace"], named["name"])[1].split("/")
    }
    for condition in _conditions(named):
        found |= {condition["field"]} if "field" in condition else set()
        found |= {
            name for each in condition.get("partitions") or [] if isinstance(each, dict) for name in each["dimensions"]
        }
        found |= {
            part.partition("=")[0]
            for each in condition.get("locations") or []
            for part in each.split("/")
            if "=" in part
        }
    return found


def _conditions(named: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the condition in the `subset` of an input, and its nested conditions."""
    found = [((named.get("inputFacets") or {}).get("subset") or {}).get("inputCondition") or {}]
    for condition in found:  # the loop appends to `found`
        found += [each for each in (condition.get("left"), condition.get("right")) if isinstance(each, dict)]
    return found
