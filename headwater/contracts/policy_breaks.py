"""Which policies are broken, where, and by which run: pure, over answers to questions."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, Protocol

from headwater.contracts.contract_breaks import Break
from headwater.contracts.odcs_document import column_text, dataset_text, shown_column
from headwater.contracts.policies import Policies, fits
from headwater.errors import NotKnown
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.contract_answers import Broke, ContractColumn, ContractFacts

_UNMATCHED = "policy.unmatched"


class KnownDataset(NamedTuple):
    """A dataset of the list of all, who owns it, and by which run it was written last."""

    dataset: Dataset
    owners: tuple[str, ...]
    written: Broke


class Observed(Protocol):
    """What policies are held against."""

    def exposed(self, tag: str) -> Iterable[tuple[Dataset, str]]:
        """Yield the columns that hold a tag's values in the clear; raises NotKnown for a tag that nobody knows."""

    def datasets(self) -> Iterable[KnownDataset]:
        """Yield every dataset."""

    def facts(self, dataset: Dataset) -> ContractFacts:
        """Return what is observed of a dataset; raises NotKnown."""


def policy_breaks(policies: Policies, observed: Observed) -> list[Break]:
    """Return what breaks policies, by policy and place; so does a tag or pattern that fits nothing."""
    found = [*_exposed(policies, observed)]
    known = list(observed.datasets()) if policies.masked or policies.owner else []
    fitting: set[tuple[str, str]] = set()
    found += _without_owner(policies, known, fitting)
    found += _not_masked(policies, known, observed, fitting)
    return [*found, *_unmatched(policies, fitting)]


def _exposed(policies: Policies, observed: Observed) -> Iterator[Break]:
    facts: dict[str, ContractFacts | None] = {}
    for name, (tag, patterns) in policies.tags.items():
        try:
            columns = sorted(observed.exposed(tag), key=lambda each: (dataset_text(each[0]), each[1]))
        except NotKnown:
            yield Break(_UNMATCHED, tag, None, f"policy {name}: nobody knows this tag, so nothing shows where it stays")
            continue
        for dataset, column in columns:
            text = dataset_text(dataset)
            if not _fits(patterns, dataset):
                if text not in facts:
                    facts[text] = _facts(observed, dataset)
                said = f"policy {name}: values tagged {tag} can be read here"
                by = _since_exposed(facts[text], column, tag)
                yield Break("policy.exposed", text, column, said, by, dataset.display_name or None)


def _facts(observed: Observed, dataset: Dataset) -> ContractFacts | None:
    with suppress(NotKnown):  # of a tagged dataset perhaps no column is known
        return observed.facts(dataset)
    return None


def _since_exposed(facts: ContractFacts | None, column: str, tag: str) -> Broke:
    """Return what brought the values to a column, or who tagged the column or its dataset."""
    if facts is None:
        return Broke(None, None, None)
    own = [each for each in facts.columns if each.name.casefold() == column.casefold()]
    reached = [(each.tag, each.since) for found in own for each in found.exposures]
    tagged = [(each.key, each.since) for each in (*(each for found in own for each in found.tags), *facts.tags)]
    fitting = (since for key, since in (*reached, *tagged) if key.casefold() == tag.casefold())
    return next(fitting, Broke(None, None, None))


def _without_owner(policies: Policies, known: Iterable[KnownDataset], fitting: set[tuple[str, str]]) -> Iterator[Break]:
    for each in known:
        text, shown = dataset_text(each.dataset), each.dataset.display_name or None
        for name, patterns in policies.owner.items():
            found = [pattern for pattern in patterns if _fits((pattern,), each.dataset)]
            fitting.update((name, pattern) for pattern in found)
            if found and not each.owners:
                yield Break("policy.owner", text, None, f"policy {name}: nobody owns it", each.written, shown)


def _not_masked(
    policies: Policies, known: Iterable[KnownDataset], observed: Observed, fitting: set[tuple[str, str]]
) -> Iterator[Break]:
    for each in known:
        asked = {name: patterns for name, own in policies.masked.items() if (patterns := _about(own, each.dataset))}
        if asked:
            try:
                facts = observed.facts(each.dataset)
            except NotKnown:
                continue  # of which no column is known
            for name, patterns in asked.items():
                for column in facts.columns:
                    found = [pattern for pattern in patterns if fits((pattern.rpartition("#")[2],), column.name)]
                    fitting.update((name, pattern) for pattern in found)
                    if found:
                        yield from _clear(name, each.dataset, column)


def _about(patterns: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Return the patterns whose dataset's part fits."""
    return tuple(pattern for pattern in patterns if _fits((pattern.rpartition("#")[0],), dataset))


def _fits(patterns: tuple[str, ...], dataset: Dataset) -> bool:
    """Tell whether a pattern fits the canonical name of a dataset or its display name."""
    return fits(patterns, dataset_text(dataset)) or bool(dataset.display_name and fits(patterns, dataset.display_name))


def _unmatched(policies: Policies, fitting: set[tuple[str, str]]) -> Iterator[Break]:
    for what, asked in (("no column", policies.masked), ("no dataset", policies.owner)):
        for name, patterns in asked.items():
            for pattern in patterns:
                if (name, pattern) not in fitting:
                    yield Break(_UNMATCHED, pattern, None, f"policy {name}: {what} that is known fits this pattern")


def _clear(name: str, dataset: Dataset, column: ContractColumn) -> Iterator[Break]:
    """Yield why a column is not shown to be masked: an end of its ways whose values come in the clear."""
    passed = {column_text(source.into).casefold() for source in column.sources}
    ends = [source for source in column.sources if column_text(source).casefold() not in passed]
    clear = [source for source in ends if not source.masked]
    text, shown = dataset_text(dataset), dataset.display_name or None
    if clear:
        said = f"policy {name}: values of {shown_column(clear[0])} come in the clear"
        yield Break("policy.masked", text, column.name, said, clear[0].since, shown)
    elif not ends:
        said = f"policy {name}: nobody says what it is made of, so nothing shows that it is masked"
        yield Break("policy.masked", text, column.name, said, column.changed, shown)
