"""Broken promises of a contract, each with the run that broke it."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from headwater.governance.contracts.changes import ChangeKind, PromiseChange, promise_changes
from headwater.governance.contracts.odcs import column_text, contract_document, dataset_for_display, dataset_text
from headwater.governance.contracts.promise import Promise, promises_of
from headwater.questions.answer_types.contracts import ContractColumn, ContractFacts, RunReference
from headwater.questions.rhythm import format_duration

_NO_RUN = RunReference(None, None, None)


class Break(NamedTuple):
    """A broken promise about a dataset or a column.

    responsible_run: the run that broke the promise, or a reference without values if it is unknown.
    display_name: the display name of the dataset, or None if it equals the canonical name.
    """

    kind: ChangeKind | str
    dataset: str
    column: str | None
    message: str
    responsible_run: RunReference = _NO_RUN
    display_name: str | None = None

    @property
    def place(self) -> str:
        """The dataset or column, by display name."""
        return (self.display_name or self.dataset) + (f"#{self.column}" if self.column else "")

    @property
    def is_warning(self) -> bool:
        """Whether the promise is only possibly broken; only a strict check fails because of it."""
        return self.kind in _WARNINGS


_WARNINGS = ("column.not_listed",)


def unknown_dataset_break(promise: Promise, reason: str) -> Break:
    """Return the break for a promise about a dataset that Headwater does not know."""
    return Break("dataset.missing", promise.asked.text, None, reason)


def broken_promises(promise: Promise, facts: ContractFacts) -> list[Break]:
    """Return the broken promises, first about the dataset, then about its columns; empty if no promise is broken."""
    display_name = facts.dataset.display_name or None
    return [each._replace(display_name=display_name) for each in _breaks_of_columns(promise, facts)]


def _breaks_of_columns(promise: Promise, facts: ContractFacts) -> list[Break]:
    name = dataset_text(facts.dataset)
    if facts.dropped is not None:
        return [Break("dataset.missing", promise.asked.text, None, "it was dropped", facts.dropped)]
    if facts.renamed is not None and facts.called is not None:
        message = f"it was renamed to {dataset_for_display(facts.called)}"
        return [Break("dataset.renamed", promise.asked.text, None, message, facts.renamed)]
    known = {column.name.casefold() for column in promise.columns}
    found = [
        Break(each.kind, name, each.column, _break_message(each), _responsible_run(each, facts))
        for each in promise_changes(promise, promises_of(contract_document(facts, promised=known), name)[0])
        if each.is_breaking
    ]
    return [*_service_breaks(promise, facts, name), *found, *_not_listed_breaks(known, facts, name)]


def _not_listed_breaks(promised: Collection[str], facts: ContractFacts, name: str) -> Iterable[Break]:
    for each in facts.not_listed:
        if each.name.casefold() in promised:
            message = f"no job that reads the dataset has listed it since {each.listed}, and no run writes the dataset"
            yield Break("column.not_listed", name, each.name, message, each.since)


def _service_breaks(promise: Promise, facts: ContractFacts, name: str) -> Iterable[Break]:
    service, levels = facts.service, promise.levels
    late = service.status != "ok" and service.age_seconds is not None
    if late and levels.longest_s is not None and (service.age_seconds or 0) > levels.longest_s:
        age, most = (format_duration(round(each * 1e6)) for each in (service.age_seconds or 0, levels.longest_s))
        message = f"the newest write is {age} old, but at most {most} is promised; {service.reason}"
        yield Break("freshness.late", name, None, message, service.failed or service.newest)
    if levels.rows is not None and service.rows is not None and service.rows < levels.rows:
        message = f"the newest write has {service.rows} rows, but at least {levels.rows:g} are promised"
        yield Break("volume.low", name, None, message, service.newest)


_MESSAGES: dict[str, str] = {
    "column.removed": "the column no longer exists; the contract promises {before}",
    "column.retyped": "its type is {after}; the contract promises {before}",
    "source.removed": "{about} no longer feeds it",
    "source.added": "{about} also feeds it ({after}); the contract does not list this source",
    "step.changed": "the transformation of {about} is {after}; the contract promises {before}",
    "mask.removed": "values of {about} arrive unmasked ({after}); the contract promises {before}",
    "origin.removed": "its values no longer come from {about}",
    "origin.added": "its values also come from {about}; the contract does not list this origin",
    "lineage.lost": "job {about} {after}; the contract promises that it {before}",
    "column.exposed": "values tagged {about} are readable here; the contract promises {before}",
    "tag.removed": "it no longer has the tag {about}",
    "owner.removed": "{about} no longer owns it",
    "job.removed": "job {about} no longer writes it",
    "job.added": "job {about} writes it; the contract does not list this job",
}


def _break_message(change: PromiseChange) -> str:
    return _MESSAGES[change.kind].format(about=change.about, before=change.before, after=change.after)


def _responsible_run(change: PromiseChange, facts: ContractFacts) -> RunReference:
    """Return the run that caused a change.

    If it is unknown, return the newest run that changed the column's sources, or the dataset's newest writer.
    """
    column = next((each for each in facts.columns if _is_same_text(each.name, change.column or "")), None)
    found = _recorded_run(change, facts, column)
    if found is None and column is not None:
        found = max((each.since for each in column.sources), key=lambda by: by.time or "", default=None)
    return found or max((each.since for each in facts.writers), key=lambda by: by.time or "", default=_NO_RUN)


def _recorded_run(change: PromiseChange, facts: ContractFacts, column: ContractColumn | None) -> RunReference | None:
    about, (thing, _, word) = change.about, change.kind.partition(".")
    if thing == "owner":
        return facts.owned
    if thing == "tag":
        tags = (each for each in facts.ended_tags if _is_same_text(each.column or "", change.column or ""))
        return next((each.ended for each in tags if _is_same_text(each.key, about.partition("=")[0])), None)
    if thing in ("job", "lineage"):
        writers = (each for each in facts.writers if f"{each.job.namespace}/{each.job.name}" == about)
        return next((each.opaque if thing == "lineage" else each.since for each in writers), None)
    if word == "removed" and thing != "mask":
        return _ended_by(change, facts)
    return _changed_by(change, column) if column is not None else None


def _ended_by(change: PromiseChange, facts: ContractFacts) -> RunReference | None:
    """Return the run since which a removed column or a removed source no longer exists, or None."""
    if change.kind == "column.removed":
        return next((each.ended for each in facts.ended_columns if _is_same_text(each.name, change.column or "")), None)
    ended = (each for each in facts.ended_steps if _is_same_text(column_text(each.from_), change.about))
    return next((each.ended for each in ended if _is_same_text(column_text(each.into), change.into)), None)


def _changed_by(change: PromiseChange, column: ContractColumn) -> RunReference | None:
    """Return the run that changed the type, the exposure or a source of a column, or None."""
    if change.kind == "column.retyped":
        return column.changed
    if change.kind == "column.exposed":
        return next((each.since for each in column.exposures if _is_same_text(each.tag, change.about)), None)
    return next((each.since for each in column.sources if _is_same_text(column_text(each), change.about)), None)


def _is_same_text(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
