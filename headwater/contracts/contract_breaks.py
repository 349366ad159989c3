"""What observed facts break of a promise, each with the run that broke it."""

from collections.abc import Collection, Iterable
from typing import NamedTuple

from headwater.contracts.odcs_document import column_text, dataset_text, document_of, shown_dataset
from headwater.contracts.promise import Promise, promises_of
from headwater.contracts.promise_changes import ChangeKind, PromiseChange, changes_of
from headwater.questions.answers.contract_answers import Broke, ContractColumn, ContractFacts
from headwater.questions.rhythm import spoken

_NOBODY = Broke(None, None, None)


class Break(NamedTuple):
    """A promise that is not kept; by: the run that broke it, as far as one did.

    display_name: of the dataset, None where it is the canonical name.
    """

    kind: ChangeKind | str
    dataset: str
    column: str | None
    message: str
    by: Broke = _NOBODY
    display_name: str | None = None

    @property
    def place(self) -> str:
        """The dataset or column as people know it."""
        return (self.display_name or self.dataset) + (f"#{self.column}" if self.column else "")

    @property
    def is_warning(self) -> bool:
        """Whether it only may be a break: a check that is not strict passes with it."""
        return self.kind in _WARNINGS


_WARNINGS = ("column.not_listed",)


def missing(promise: Promise, why: str) -> Break:
    """Return the break of a dataset that nobody knows."""
    return Break("dataset.missing", promise.asked.text, None, why)


def breaks_of(promise: Promise, facts: ContractFacts) -> list[Break]:
    """Return what is broken, of the dataset first, then by column; nothing where all is as promised, or better."""
    display_name = facts.dataset.display_name or None
    return [each._replace(display_name=display_name) for each in _breaks(promise, facts)]


def _breaks(promise: Promise, facts: ContractFacts) -> list[Break]:
    name = dataset_text(facts.dataset)
    if facts.dropped is not None:
        return [Break("dataset.missing", promise.asked.text, None, "it was dropped", facts.dropped)]
    if facts.renamed is not None and facts.called is not None:
        said = f"it was renamed to {shown_dataset(facts.called)}"
        return [Break("dataset.renamed", promise.asked.text, None, said, facts.renamed)]
    known = {column.name.casefold() for column in promise.columns}
    found = [
        Break(each.kind, name, each.column, _said(each), _by(each, facts))
        for each in changes_of(promise, promises_of(document_of(facts, promised=known), name)[0])
        if each.breaks
    ]
    return [*_service(promise, facts, name), *found, *_not_listed(known, facts, name)]


def _not_listed(promised: Collection[str], facts: ContractFacts, name: str) -> Iterable[Break]:
    for each in facts.not_listed:
        if each.name.casefold() in promised:
            said = f"no job that reads the dataset has listed it since {each.listed}, and no run writes the dataset"
            yield Break("column.not_listed", name, each.name, said, each.since)


def _service(promise: Promise, facts: ContractFacts, name: str) -> Iterable[Break]:
    service, levels = facts.service, promise.levels
    late = service.status != "ok" and service.age_seconds is not None
    if late and levels.longest_s is not None and (service.age_seconds or 0) > levels.longest_s:
        age, most = (spoken(round(each * 1e6)) for each in (service.age_seconds or 0, levels.longest_s))
        said = f"the newest write is {age} old, {most} are promised at most; {service.reason}"
        yield Break("freshness.late", name, None, said, service.failed or service.newest)
    if levels.rows is not None and service.rows is not None and service.rows < levels.rows:
        said = f"the newest write has {service.rows} rows, {levels.rows:g} are promised at least"
        yield Break("volume.low", name, None, said, service.newest)


_SAYS: dict[str, str] = {
    "column.removed": "it is there no more; promised is {before}",
    "column.retyped": "its type is {after}; promised is {before}",
    "source.removed": "it is made of {about} no more",
    "source.added": "it is made of {about}, too ({after}), which is not promised",
    "step.changed": "what is done to {about} is {after}; promised is {before}",
    "mask.removed": "values of {about} come in the clear ({after}); promised is {before}",
    "origin.removed": "its values come from {about} no more",
    "origin.added": "its values come from {about}, too, which is not promised",
    "lineage.lost": "job {about} {after}; promised is that it {before}",
    "column.exposed": "values tagged {about} can be read here; promised is {before}",
    "tag.removed": "it has the tag {about} no more",
    "owner.removed": "{about} owns it no more",
    "job.removed": "job {about} writes it no more",
    "job.added": "job {about} writes it, which is not promised",
}


def _said(change: PromiseChange) -> str:
    return _SAYS[change.kind].format(about=change.about, before=change.before, after=change.after)


def _by(change: PromiseChange, facts: ContractFacts) -> Broke:
    """Return which run made it so; where none can be told, of a column the newest that changed what it is made of."""
    column = next((each for each in facts.columns if _same(each.name, change.column or "")), None)
    found = _named_by(change, facts, column)
    if found is None and column is not None:
        found = max((each.since for each in column.sources), key=lambda by: by.time or "", default=None)
    return found or max((each.since for each in facts.writers), key=lambda by: by.time or "", default=_NOBODY)


def _named_by(change: PromiseChange, facts: ContractFacts, column: ContractColumn | None) -> Broke | None:
    about, (thing, _, word) = change.about, change.kind.partition(".")
    if thing == "owner":
        return facts.owned
    if thing == "tag":
        tags = (each for each in facts.ended_tags if _same(each.column or "", change.column or ""))
        return next((each.ended for each in tags if _same(each.key, about.partition("=")[0])), None)
    if thing in ("job", "lineage"):
        writers = (each for each in facts.writers if f"{each.job.namespace}/{each.job.name}" == about)
        return next((each.opaque if thing == "lineage" else each.since for each in writers), None)
    if word == "removed" and thing != "mask":
        return _ended(change, facts)
    return _began(change, column) if column is not None else None


def _ended(change: PromiseChange, facts: ContractFacts) -> Broke | None:
    """Return what ended a column or a step."""
    if change.kind == "column.removed":
        return next((each.ended for each in facts.ended_columns if _same(each.name, change.column or "")), None)
    ended = (each for each in facts.ended_steps if _same(column_text(each.from_), change.about))
    return next((each.ended for each in ended if _same(column_text(each.into), change.into)), None)


def _began(change: PromiseChange, column: ContractColumn) -> Broke | None:
    """Return what made a column as it is: its type, a way to it, what it exposes."""
    if change.kind == "column.retyped":
        return column.changed
    if change.kind == "column.exposed":
        return next((each.since for each in column.exposures if _same(each.tag, change.about)), None)
    return next((each.since for each in column.sources if _same(column_text(each), change.about)), None)


def _same(one: str, other: str) -> bool:
    return one.casefold() == other.casefold()
