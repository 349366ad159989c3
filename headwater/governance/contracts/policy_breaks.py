"""Broken policies with place and run."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import NamedTuple, Protocol

from headwater.common.errors import NotKnown
from headwater.governance.contracts.contract_breaks import Break
from headwater.governance.contracts.odcs_document import column_text, dataset_text, shown_column
from headwater.governance.contracts.policies import Policies, matches
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.contract_answers import ContractColumn, ContractFacts, RunReference

_UNMATCHED = "policy.unmatched"


class KnownDataset(NamedTuple):
    """A known dataset with its owners and the run of its last write."""

    dataset: Dataset
    owners: tuple[str, ...]
    written: RunReference


class Observed(Protocol):
    """Observed facts for policies."""

    def exposed(self, tag: str) -> Iterable[tuple[Dataset, str]]:
        """Yield the columns with readable values of a tag. Raises NotKnown for an unknown tag."""

    def datasets(self) -> Iterable[KnownDataset]:
        """Yield all datasets."""

    def facts(self, dataset: Dataset) -> ContractFacts:
        """Return the observed facts of a dataset. Raises NotKnown."""


def policy_breaks(policies: Policies, observed: Observed) -> list[Break]:
    """Return the broken policies by policy and place. A tag or pattern without a match breaks its policy, too."""
    found = [*_exposed(policies, observed)]
    known = list(observed.datasets()) if policies.masked or policies.owner else []
    matched: set[tuple[str, str]] = set()
    found += _without_owner(policies, known, matched)
    found += _not_masked(policies, known, observed, matched)
    return [*found, *_unmatched(policies, matched)]


def _exposed(policies: Policies, observed: Observed) -> Iterator[Break]:
    facts: dict[str, ContractFacts | None] = {}
    for name, (tag, patterns) in policies.tags.items():
        try:
            columns = sorted(observed.exposed(tag), key=lambda each: (dataset_text(each[0]), each[1]))
        except NotKnown:
            yield Break(_UNMATCHED, tag, None, f"policy {name}: the tag is unknown, so the policy checks nothing")
            continue
        for dataset, column in columns:
            text = dataset_text(dataset)
            if not _matches(patterns, dataset):
                if text not in facts:
                    facts[text] = _facts(observed, dataset)
                message = f"policy {name}: values tagged {tag} are readable here"
                by = _since_exposed(facts[text], column, tag)
                yield Break("policy.exposed", text, column, message, by, dataset.display_name or None)


def _facts(observed: Observed, dataset: Dataset) -> ContractFacts | None:
    with suppress(NotKnown):  # a tagged dataset may have no known columns
        return observed.facts(dataset)
    return None


def _since_exposed(facts: ContractFacts | None, column: str, tag: str) -> RunReference:
    """Return the run that brought the values to a column, or that tagged the column or its dataset."""
    if facts is None:
        return RunReference(None, None, None)
    own = [each for each in facts.columns if each.name.casefold() == column.casefold()]
    reached = [(each.tag, each.since) for found in own for each in found.exposures]
    tagged = [(each.key, each.since) for each in (*(each for found in own for each in found.tags), *facts.tags)]
    matched = (since for key, since in (*reached, *tagged) if key.casefold() == tag.casefold())
    return next(matched, RunReference(None, None, None))


def _without_owner(policies: Policies, known: Iterable[KnownDataset], matched: set[tuple[str, str]]) -> Iterator[Break]:
    for each in known:
        text, shown = dataset_text(each.dataset), each.dataset.display_name or None
        for name, patterns in policies.owner.items():
            found = [pattern for pattern in patterns if _matches((pattern,), each.dataset)]
            matched.update((name, pattern) for pattern in found)
            if found and not each.owners:
                yield Break("policy.owner", text, None, f"policy {name}: it has no owner", each.written, shown)


def _not_masked(
    policies: Policies, known: Iterable[KnownDataset], observed: Observed, matched: set[tuple[str, str]]
) -> Iterator[Break]:
    for each in known:
        asked = {
            name: patterns
            for name, own in policies.masked.items()
            if (patterns := _matching_patterns(own, each.dataset))
        }
        if asked:
            try:
                facts = observed.facts(each.dataset)
            except NotKnown:
                continue  # no column is known
            for name, patterns in asked.items():
                for column in facts.columns:
                    found = [pattern for pattern in patterns if matches((pattern.rpartition("#")[2],), column.name)]
                    matched.update((name, pattern) for pattern in found)
                    if found:
                        yield from _unmasked(name, each.dataset, column)


def _matching_patterns(patterns: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Return the patterns whose dataset part matches."""
    return tuple(pattern for pattern in patterns if _matches((pattern.rpartition("#")[0],), dataset))


def _matches(patterns: tuple[str, ...], dataset: Dataset) -> bool:
    """Return whether a pattern matches the canonical or display name of a dataset."""
    return matches(patterns, dataset_text(dataset)) or bool(
        dataset.display_name and matches(patterns, dataset.display_name)
    )


def _unmatched(policies: Policies, matched: set[tuple[str, str]]) -> Iterator[Break]:
    for what, asked in (("no known column", policies.masked), ("no known dataset", policies.owner)):
        for name, patterns in asked.items():
            for pattern in patterns:
                if (name, pattern) not in matched:
                    yield Break(_UNMATCHED, pattern, None, f"policy {name}: {what} matches this pattern")


def _unmasked(name: str, dataset: Dataset, column: ContractColumn) -> Iterator[Break]:
    """Yield the reason why masking of a column is not proven: an unmasked path from a source, or no known source."""
    passed = {column_text(source.into).casefold() for source in column.sources}
    ends = [source for source in column.sources if column_text(source).casefold() not in passed]
    clear = [source for source in ends if not source.masked]
    text, shown = dataset_text(dataset), dataset.display_name or None
    if clear:
        message = f"policy {name}: values of {shown_column(clear[0])} arrive unmasked"
        yield Break("policy.masked", text, column.name, message, clear[0].since, shown)
    elif not ends:
        message = f"policy {name}: no run reports its sources, so masking is not proven"
        yield Break("policy.masked", text, column.name, message, column.changed, shown)
