"""Read policies, which apply to all datasets that match their patterns, from YAML, and find broken policies."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from headwater.common.errors import NotKnown, WrongSetting
from headwater.governance.contracts.breaks import Break
from headwater.governance.contracts.odcs import column_for_display, column_text, dataset_text
from headwater.governance.yaml_text import read_text, read_yaml
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.contracts import ContractColumn, ContractFacts, RunReference

_FORM = (
    "Write `version: 1` and `policies`. Each policy has `tag` and `stays_in`, or `masked`, or `owner`, with a list of "
    "patterns such as s3://lake/gold/* or */customers#email."
)
_UNMATCHED = "policy.unmatched"


class Policies(NamedTuple):
    """Three kinds of policies; each mapping has the names of policies as keys.

    tags: a tag, and patterns of the datasets in which values with this tag may be readable.
    masked: patterns `DATASET#COLUMN` of columns that must be masked. owner: patterns of datasets that must have an
    owner.
    """

    tags: dict[str, tuple[str, tuple[str, ...]]]
    masked: dict[str, tuple[str, ...]]
    owner: dict[str, tuple[str, ...]]


def load_policies(path: Path) -> Policies:
    """Read policies from a file; raises WrongSetting if the file is invalid."""
    return parse_policies(read_text(path, f"the policies in {path}", "Split it."), str(path))


def parse_policies(text: str, where: str) -> Policies:
    """Parse policies; raises WrongSetting if they are invalid. where: name of the file, for error messages."""
    document = read_yaml(text, where)
    named = document.get("policies")
    if document.get("version") != 1 or not isinstance(named, dict) or document.keys() - {"version", "policies"}:
        raise WrongSetting(f"{where} does not contain policies. {_FORM}")
    found = Policies({}, {}, {})
    for name, policy in named.items():
        _add_policy(found, str(name), policy, where)
    return found


def matches_any_pattern(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether one of the patterns matches a name; ignores case."""
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


def _add_policy(found: Policies, name: str, policy: Any, where: str) -> None:
    if isinstance(policy, dict) and policy.keys() == {"tag", "stays_in"} and isinstance(policy["tag"], str):
        found.tags[name] = policy["tag"], _parse_patterns(policy["stays_in"], name, where, or_none=True)
    elif isinstance(policy, dict) and policy.keys() == {"masked"}:
        found.masked[name] = _parse_patterns(policy["masked"], name, where)
        if not all("#" in pattern for pattern in found.masked[name]):
            raise WrongSetting(
                f"{where}: policy {name!r} has a pattern without a column. Write it like */customers#email."
            )
    elif isinstance(policy, dict) and policy.keys() == {"owner"}:
        found.owner[name] = _parse_patterns(policy["owner"], name, where)
    else:
        raise WrongSetting(f"{where}: policy {name!r} has none of the three known forms. {_FORM}")


def _parse_patterns(policy: Any, name: str, where: str, *, or_none: bool = False) -> tuple[str, ...]:
    if not isinstance(policy, list) or not all(isinstance(each, str) for each in policy) or not (policy or or_none):
        raise WrongSetting(f"{where}: policy {name!r} does not list patterns. {_FORM}")
    return tuple(policy)


class KnownDataset(NamedTuple):
    """A known dataset with its owners, and the run that wrote it last (`written`)."""

    dataset: Dataset
    owners: tuple[str, ...]
    written: RunReference


class ObservedFacts(Protocol):
    """The observed facts that checks of policies need."""

    def exposed_columns(self, tag: str) -> Iterable[tuple[Dataset, str]]:
        """Yield dataset and name of each column with unmasked values of a tag; raises NotKnown for an unknown tag."""

    def datasets(self) -> Iterable[KnownDataset]:
        """Yield all datasets."""

    def facts(self, dataset: Dataset) -> ContractFacts:
        """Return the observed facts of a dataset; raises NotKnown for an unknown dataset."""


def policy_breaks(policies: Policies, observed: ObservedFacts) -> list[Break]:
    """Return a break for each place that violates a policy, and for each unknown tag and pattern without a match."""
    found = [*_exposure_breaks(policies, observed)]
    known = list(observed.datasets()) if policies.masked or policies.owner else []
    matched: set[tuple[str, str]] = set()
    found += _missing_owner_breaks(policies, known, matched)
    found += _masking_breaks(policies, known, observed, matched)
    return [*found, *_unmatched_pattern_breaks(policies, matched)]


def _exposure_breaks(policies: Policies, observed: ObservedFacts) -> Iterator[Break]:
    facts: dict[str, ContractFacts | None] = {}
    for name, (tag, patterns) in policies.tags.items():
        try:
            columns = sorted(observed.exposed_columns(tag), key=lambda each: (dataset_text(each[0]), each[1]))
        except NotKnown:
            yield Break(_UNMATCHED, tag, None, f"policy {name}: the tag is unknown, so the policy checks nothing")
            continue
        for dataset, column in columns:
            text = dataset_text(dataset)
            if not _matches_dataset(patterns, dataset):
                if text not in facts:
                    facts[text] = _facts_or_none(observed, dataset)
                message = f"policy {name}: values tagged {tag} are readable here"
                by = _run_that_exposed(facts[text], column, tag)
                yield Break("policy.exposed", text, column, message, by, dataset.display_name or None)


def _facts_or_none(observed: ObservedFacts, dataset: Dataset) -> ContractFacts | None:
    with suppress(NotKnown):  # a tagged dataset may have no known columns
        return observed.facts(dataset)
    return None


def _run_that_exposed(facts: ContractFacts | None, column: str, tag: str) -> RunReference:
    """Return the run that brought the values to a column, or that tagged the column or its dataset."""
    if facts is None:
        return RunReference(None, None, None)
    own = [each for each in facts.columns if each.name.casefold() == column.casefold()]
    reached = [(each.tag, each.since) for found in own for each in found.exposures]
    tagged = [(each.key, each.since) for each in (*(each for found in own for each in found.tags), *facts.tags)]
    matched = (since for key, since in (*reached, *tagged) if key.casefold() == tag.casefold())
    return next(matched, RunReference(None, None, None))


def _missing_owner_breaks(
    policies: Policies, known: Iterable[KnownDataset], matched: set[tuple[str, str]]
) -> Iterator[Break]:
    for each in known:
        text, shown = dataset_text(each.dataset), each.dataset.display_name or None
        for name, patterns in policies.owner.items():
            found = [pattern for pattern in patterns if _matches_dataset((pattern,), each.dataset)]
            matched.update((name, pattern) for pattern in found)
            if found and not each.owners:
                yield Break("policy.owner", text, None, f"policy {name}: it has no owner", each.written, shown)


def _masking_breaks(
    policies: Policies, known: Iterable[KnownDataset], observed: ObservedFacts, matched: set[tuple[str, str]]
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
                    found = [
                        pattern
                        for pattern in patterns
                        if matches_any_pattern((pattern.rpartition("#")[2],), column.name)
                    ]
                    matched.update((name, pattern) for pattern in found)
                    if found:
                        yield from _unmasked_column_breaks(name, each.dataset, column)


def _matching_patterns(patterns: Iterable[str], dataset: Dataset) -> tuple[str, ...]:
    """Return the patterns `DATASET#COLUMN` with a dataset part that matches the dataset."""
    return tuple(pattern for pattern in patterns if _matches_dataset((pattern.rpartition("#")[0],), dataset))


def _matches_dataset(patterns: tuple[str, ...], dataset: Dataset) -> bool:
    """Return whether a pattern matches the canonical or display name of a dataset."""
    return matches_any_pattern(patterns, dataset_text(dataset)) or bool(
        dataset.display_name and matches_any_pattern(patterns, dataset.display_name)
    )


def _unmatched_pattern_breaks(policies: Policies, matched: set[tuple[str, str]]) -> Iterator[Break]:
    for what, asked in (("no known column", policies.masked), ("no known dataset", policies.owner)):
        for name, patterns in asked.items():
            for pattern in patterns:
                if (name, pattern) not in matched:
                    yield Break(_UNMATCHED, pattern, None, f"policy {name}: {what} matches this pattern")


def _unmasked_column_breaks(name: str, dataset: Dataset, column: ContractColumn) -> Iterator[Break]:
    """Yield a break if masking of a column is not proven: a path from a source is unmasked, or no source is known."""
    passed = {column_text(source.into).casefold() for source in column.sources}
    ends = [source for source in column.sources if column_text(source).casefold() not in passed]
    clear = [source for source in ends if not source.masked]
    text, shown = dataset_text(dataset), dataset.display_name or None
    if clear:
        message = f"policy {name}: values of {column_for_display(clear[0])} arrive unmasked"
        yield Break("policy.masked", text, column.name, message, clear[0].since, shown)
    elif not ends:
        message = f"policy {name}: no run reports its sources, so masking is not proven"
        yield Break("policy.masked", text, column.name, message, column.changed, shown)
