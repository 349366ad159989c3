"""Differences between contracts, and the version of the next one (semver.org: a breaking change is a major version)."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from headwater.governance.contracts.odcs_document import FIRST_VERSION
from headwater.governance.contracts.promise import Promise, promises_of
from headwater.governance.contracts.promise_changes import PromiseChange, changes_of

_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class TableChange(NamedTuple):
    """A change of a promise about one table."""

    dataset: str
    change: PromiseChange


def contract_changes(old: list[Promise], new: list[Promise]) -> list[TableChange]:
    """Return the differences between two contracts by table, including service levels."""
    was, now = ({each.asked.text.casefold(): each for each in side} for side in (old, new))
    found: list[TableChange] = []
    for key, promise in was.items():
        if key in now:
            found += [TableChange(promise.asked.text, each) for each in _changes(promise, now[key])]
        else:
            found.append(
                TableChange(promise.asked.text, PromiseChange("dataset.missing", None, "", "promised", None))
            )  # fmt: skip
    return found


def next_version(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> str:
    """Return the version of a contract that replaces another, the same if nothing changed."""
    version = str(before.get("version", FIRST_VERSION))
    if {**before, "version": ""} == {**after, "version": ""}:
        return version
    numbers = _VERSION.fullmatch(version)
    major, minor = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    changes = contract_changes(promises_of(before, where), promises_of(after, where))
    breaks = not numbers or any(each.change.breaks for each in changes)
    return f"{major + 1}.0.0" if breaks else f"{major}.{minor + 1}.0"


def _changes(old: Promise, new: Promise) -> list[PromiseChange]:
    found = changes_of(old, new)
    was, now = old.levels, new.levels
    if was.longest_s is not None and (now.longest_s is None or now.longest_s > was.longest_s):
        found.append(PromiseChange("freshness.loosened", None, "", f"{was.longest_s:g} s", _seconds(now.longest_s)))
    if was.rows is not None and (now.rows is None or now.rows < was.rows):
        found.append(PromiseChange("volume.lowered", None, "", f"{was.rows:g}", _rows(now.rows)))
    return found


def _seconds(value: float | None) -> str | None:
    return None if value is None else f"{value:g} s"


def _rows(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"
