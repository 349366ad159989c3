"""Find the differences between two promises, classify them as breaking or not, and derive the next version.

If a column's direct sources change, its origins and exposures change as a consequence, and these changes are not
reported separately. A breaking change increases the major version (semver.org).
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

from headwater.governance.contracts.odcs import FIRST_VERSION
from headwater.governance.contracts.promise import Promise, PromisedColumn, PromisedSource, promises_of

ChangeKind = Literal[
    "dataset.missing", "dataset.renamed", "column.removed", "column.added", "column.retyped", "source.removed",
    "source.added", "step.changed", "mask.removed", "mask.added", "origin.removed", "origin.added", "lineage.lost",
    "column.exposed", "tag.removed", "tag.added", "owner.removed", "owner.added", "job.removed", "job.added",
    "freshness.late", "freshness.loosened", "volume.low", "volume.lowered", "description.changed",
]  # fmt: skip


BREAKING: frozenset[str] = frozenset(
    {
        "dataset.missing", "dataset.renamed", "column.removed", "column.retyped", "source.removed", "source.added",
        "step.changed", "mask.removed", "origin.removed", "origin.added", "lineage.lost", "column.exposed",
        "tag.removed", "owner.removed", "job.removed", "job.added", "freshness.late", "freshness.loosened",
        "volume.low", "volume.lowered",
    }
)  # fmt: skip


_VERSION = re.compile(r"(\d+)\.(\d+)\.(\d+)")


class PromiseChange(NamedTuple):
    """A difference between two promises about a dataset.

    column: the changed column, or None if the change concerns the dataset. about: the source, tag, owner or job.
    into: the column that the source feeds.
    """

    kind: ChangeKind
    column: str | None
    about: str
    before: str | None
    after: str | None
    into: str = ""

    @property
    def is_breaking(self) -> bool:
        """Whether the change breaks the promise for users of the dataset."""
        return self.kind in BREAKING


def promise_changes(old: Promise, new: Promise) -> list[PromiseChange]:
    """Return the differences between promises, breaking changes first."""
    found = [*_dataset_changes(old, new), *_column_list_changes(old, new)]
    return sorted(found, key=lambda each: (not each.is_breaking, each.column or "", each.kind, each.about))


def _dataset_changes(old: Promise, new: Promise) -> Iterator[PromiseChange]:
    yield from _set_changes("tag", None, old.tags, new.tags)
    if old.owners is not None:
        yield from _set_changes("owner", None, old.owners, new.owners or frozenset())
    if old.jobs is not None:
        yield from _set_changes("job", None, old.jobs, new.jobs or frozenset())
    for job in sorted((old.jobs_with_columns & (new.jobs or frozenset())) - new.jobs_with_columns):
        yield PromiseChange("lineage.lost", None, job, "reports column lineage", "reports no column lineage")


def _set_changes(
    kind: Literal["tag", "owner", "job"], column: str | None, old: Iterable[str], new: Iterable[str]
) -> Iterator[PromiseChange]:
    before, after = set(old), set(new)
    removed, added = _MARKS[kind]
    yield from (PromiseChange(removed, column, each, each, None) for each in sorted(before - after))
    yield from (PromiseChange(added, column, each, None, each) for each in sorted(after - before))


_MARKS: Mapping[str, tuple[ChangeKind, ChangeKind]] = {
    "tag": ("tag.removed", "tag.added"),
    "owner": ("owner.removed", "owner.added"),
    "job": ("job.removed", "job.added"),
}


def _column_list_changes(old: Promise, new: Promise) -> Iterator[PromiseChange]:
    was, now = ({_comparison_key(each.name): each for each in side.columns} for side in (old, new))
    for key, column in was.items():
        if key not in now:
            yield PromiseChange("column.removed", column.name, "", column.type or "the column", None)
            continue
        yield from _column_changes(column, now[key])
    for key, column in now.items():
        if key not in was:
            yield PromiseChange("column.added", column.name, "", None, column.type or "the column")


def _column_changes(old: PromisedColumn, new: PromisedColumn) -> Iterator[PromiseChange]:
    if old.type is not None and _comparison_key(old.type.strip()) != _comparison_key((new.type or "").strip()):
        yield PromiseChange("column.retyped", old.name, "", old.type, new.type)
    if old.description is not None and old.description != new.description:
        yield PromiseChange("description.changed", old.name, "", old.description, new.description)
    yield from _set_changes("tag", old.name, old.tags, new.tags)
    sources = [*_source_changes(old, new)]
    yield from sources
    explained = any(each.kind in ("source.added", "mask.removed") for each in sources)
    if old.holds is not None and not explained:
        for tag, exposure in sorted((new.holds or {}).items()):
            if exposure == "exposed" and old.holds.get(tag) != "exposed":
                yield PromiseChange("column.exposed", old.name, tag, old.holds.get(tag, "no such values"), "exposed")


def _source_changes(old: PromisedColumn, new: PromisedColumn) -> Iterator[PromiseChange]:
    if old.sources is None:
        return
    was, now = (_sources_by_column(side.sources or ()) for side in (old, new))
    direct = [*_direct_source_changes(old.name, was, now)]
    yield from direct
    if not direct and any(each.distance > 1 for each in was.values()):
        yield from _origin_changes(old.name, was, now)


def _direct_source_changes(
    column: str, was: Mapping[str, PromisedSource], now: Mapping[str, PromisedSource]
) -> Iterator[PromiseChange]:
    for key, source in was.items():
        if source.distance > 1:
            continue
        here = now.get(key)
        if here is None or here.distance > 1:
            yield PromiseChange("source.removed", column, source.column, _describe_steps(source), None, source.into)
        else:
            yield from _step_changes(column, source, here)
    for key, source in now.items():
        if source.distance == 1 and (key not in was or was[key].distance > 1):
            yield PromiseChange("source.added", column, source.column, None, _describe_steps(source), source.into)


def _step_changes(column: str, old: PromisedSource, new: PromisedSource) -> Iterator[PromiseChange]:
    if old.steps is None or new.steps is None or old.steps == new.steps:
        return
    was, now = _is_masked(old), _is_masked(new)
    kind: ChangeKind = "step.changed" if was == now else "mask.removed" if was else "mask.added"
    yield PromiseChange(kind, column, new.column, _describe_steps(old), _describe_steps(new), new.into)


def _is_masked(source: PromisedSource) -> bool:
    return bool(source.steps) and all(masking for _, _, masking in source.steps or ())


def _origin_changes(
    column: str, was: Mapping[str, PromisedSource], now: Mapping[str, PromisedSource]
) -> Iterator[PromiseChange]:
    """Yield changes of sources that are more than one step away; for each changed path, only the nearest change."""
    for key, source in was.items():
        if source.distance == 1:
            continue
        here = now.get(key)
        if here is None:
            if _comparison_key(source.into) in now:
                yield PromiseChange("origin.removed", column, source.column, _describe_steps(source), None, source.into)
        elif source.masked and here.masked is False and _nearer_is_masked(source, was, now):
            yield PromiseChange("mask.removed", column, here.column, "masked on the way", "in the clear", here.into)
    for key, source in now.items():
        if source.distance > 1 and key not in was and _comparison_key(source.into) in was:
            yield PromiseChange("origin.added", column, source.column, None, _describe_steps(source), source.into)


def _nearer_is_masked(
    source: PromisedSource, was: Mapping[str, PromisedSource], now: Mapping[str, PromisedSource]
) -> bool:
    """Return whether the path from the column that the source feeds is masked as before.

    In that case, the step from the source to this column lost its masking.
    """
    near = _comparison_key(source.into)
    return near not in was or near not in now or was[near].masked == now[near].masked


def _sources_by_column(sources: Iterable[PromisedSource]) -> dict[str, PromisedSource]:
    found: dict[str, PromisedSource] = {}
    for each in sorted(sources, key=lambda source: source.distance):
        found.setdefault(_comparison_key(each.column), each)
    return found


def _describe_steps(source: PromisedSource) -> str:
    steps = source.steps or ()
    texts = (
        " ".join(filter(None, (kind.lower(), sub.lower(), "masks" if masks else ""))) for kind, sub, masks in steps
    )
    return "; ".join(texts) or "a source"


def _comparison_key(text: str) -> str:
    return text.casefold()


class TableChange(NamedTuple):
    """A difference between the promises about one table. dataset: name of the table, as in the contract."""

    dataset: str
    change: PromiseChange


def contract_changes(old: list[Promise], new: list[Promise]) -> list[TableChange]:
    """Return the differences between two contracts by table, including service levels."""
    was, now = ({each.asked.text.casefold(): each for each in side} for side in (old, new))
    found: list[TableChange] = []
    for key, promise in was.items():
        if key in now:
            found += [TableChange(promise.asked.text, each) for each in _table_changes(promise, now[key])]
        else:
            missing = PromiseChange("dataset.missing", None, "", "promised", None)
            found.append(TableChange(promise.asked.text, missing))
    return found


def next_version(before: Mapping[str, Any], after: Mapping[str, Any], where: str) -> str:
    """Return the version of the contract `after` that replaces `before`, or the same version if nothing changed.

    where: name of the file, for error messages.
    """
    version = str(before.get("version", FIRST_VERSION))
    if {**before, "version": ""} == {**after, "version": ""}:
        return version
    numbers = _VERSION.fullmatch(version)
    major, minor = (int(numbers[1]), int(numbers[2])) if numbers else (0, 0)
    changes = contract_changes(promises_of(before, where), promises_of(after, where))
    breaks = not numbers or any(each.change.is_breaking for each in changes)
    return f"{major + 1}.0.0" if breaks else f"{major}.{minor + 1}.0"


def _table_changes(old: Promise, new: Promise) -> list[PromiseChange]:
    found = promise_changes(old, new)
    was, now = old.levels, new.levels
    if was.longest_s is not None and (now.longest_s is None or now.longest_s > was.longest_s):
        after = None if now.longest_s is None else f"{now.longest_s:g} s"
        found.append(PromiseChange("freshness.loosened", None, "", f"{was.longest_s:g} s", after))
    if was.rows is not None and (now.rows is None or now.rows < was.rows):
        after = None if now.rows is None else f"{now.rows:g}"
        found.append(PromiseChange("volume.lowered", None, "", f"{was.rows:g}", after))
    return found
