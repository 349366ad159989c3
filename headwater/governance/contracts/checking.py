"""Check contract files and policies against observed facts from a data folder or a running Headwater."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from headwater.common.errors import HeadwaterError, NotKnown, ServerRefusal, WrongQuestion, WrongSetting
from headwater.governance.contracts.breaks import Break, broken_promises, unknown_dataset_break
from headwater.governance.contracts.policies import KnownDataset, load_policies, policy_breaks
from headwater.governance.contracts.promise import Promise, parse_promises
from headwater.governance.contracts.reports import CheckedFile
from headwater.governance.yaml_text import read_text
from headwater.questions import definitions
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.contracts import ContractFacts, RunReference
from headwater.questions.declaring import Question
from headwater.questions.definitions.contracts import contract
from headwater.questions.parameters import MAX_LIMIT

POLICIES = "policies.yml"
"""The file with policies in a folder of contracts."""
_SUFFIXES = (".yml", ".yaml")
_MAX_FILES = 10_000
Ask = Callable[[Question, Mapping[str, str]], Any]
"""Asks a question and returns the answer as JSON."""


class ContractFile(NamedTuple):
    """A contract file and its promises."""

    path: Path
    text: str
    promises: list[Promise]


def contract_paths(places: Iterable[Path]) -> list[Path]:
    """Return the given files, and all YAML files below the given folders except policies, without repeats.

    Raises WrongSetting if a path does not exist or there are too many files.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            below = sorted(each for each in place.rglob("*") if each.suffix in _SUFFIXES and each.name != POLICIES)
            found += [each for each in below if each.is_file()]
        elif place.exists():
            found.append(place)
        else:
            raise WrongSetting(f"There is no file or folder {str(place)!r}. Name contracts, or folders with contracts.")
    if len(found) > _MAX_FILES:
        raise WrongSetting(f"The given paths contain {len(found)} files. Check at most {_MAX_FILES} at a time.")
    return list(dict.fromkeys(found))


def read_contract(path: Path) -> ContractFile:
    """Read a contract file; raises WrongSetting if it is invalid."""
    text = read_text(path, str(path), "Write one contract per table.")
    return ContractFile(path, text, parse_promises(text, str(path)))


class ObservedAnswers:
    """The observed facts at one moment; the facts of each dataset are requested only once."""

    def __init__(self, ask: Ask, against: str | None = None):
        """against: a moment as in the question `contract`, or None for now."""
        self._ask, self._against, self._as_of = ask, against, None if against is None else _time_or_none(against)
        self._facts: dict[tuple[str | None, str], ContractFacts] = {}

    def facts_by_name(self, namespace: str | None, dataset: str) -> ContractFacts:
        """Return the observed facts of a dataset; raises NotKnown for an unknown dataset, or another error."""
        key = (namespace, dataset)
        if key not in self._facts:
            asked = {"dataset": dataset, "namespace": namespace or "", "against": self._against or ""}
            try:
                found = self._ask(contract, {name: value for name, value in asked.items() if value})
            except NotKnown as error:
                raise self._not_known(str(error), dataset, error.nearest) from error
            except ServerRefusal as error:
                if "nearest" in error.body and "behind" not in error.body:
                    raise self._not_known(str(error), dataset, error.body["nearest"]) from error
                raise
            self._facts[key] = msgspec.convert(found, ContractFacts)
            self._as_of = self._facts[key].as_of or self._as_of
        return self._facts[key]

    def _not_known(self, message: str, dataset: str, nearest: list[str]) -> HeadwaterError:
        """Return the error for a failed question.

        Returns NotKnown for an unknown dataset, which breaks a promise, and WrongQuestion for an unknown moment, which
        prevents the check.
        """
        if message.startswith("No dataset"):
            return NotKnown("dataset", dataset, nearest)
        return WrongQuestion(f"The check was not run, because {self._against!r} cannot be resolved. {message}")

    def facts(self, dataset: Dataset) -> ContractFacts:
        """Return the observed facts of a dataset by its canonical name."""
        return self.facts_by_name(dataset.namespace, dataset.dataset)

    def exposed_columns(self, tag: str) -> Iterator[tuple[Dataset, str]]:
        """Yield dataset and name of each column with unmasked values of a tag; raises NotKnown for an unknown tag."""
        for each in self._all_items(
            definitions.surface, {"tag": tag, "exposure": "exposed", **self._time_parameters()}
        ):
            yield _dataset_of_item(each, each["dataset"]), each["column"] or ""

    def datasets(self) -> Iterator[KnownDataset]:
        """Yield all datasets that are known now, whatever the moment of the check."""
        for each in self._all_items(definitions.datasets, {}):
            job, run = each["job"], each["last_run"]
            by = RunReference(run["id"] if run else None, each["last_written"], Job(**job) if job else None)
            yield KnownDataset(_dataset_of_item(each, each["name"]), tuple(each["owners"]), by)

    def _all_items(self, question: Question, asked: Mapping[str, str]) -> Iterator[Any]:
        page: dict[str, str] = {"limit": str(MAX_LIMIT)}
        while True:
            try:
                found = self._ask(question, {**asked, **page})
            except ServerRefusal as error:
                if "nearest" in error.body and "behind" not in error.body:
                    raise NotKnown("tag", asked.get("tag", ""), error.body["nearest"]) from error
                raise
            yield from found["items"]
            if not found["next"]:
                return
            page["cursor"] = found["next"]

    def _time_parameters(self) -> dict[str, str]:
        if self._against is None:
            return {}
        if self._as_of is None:
            raise WrongQuestion(
                f"The moment {self._against!r} cannot be resolved without a contract. "
                "Check at least one contract together with the policies."
            )
        return {"asOf": self._as_of}


def _dataset_of_item(item: Mapping[str, Any], name: str) -> Dataset:
    return Dataset(item["namespace"], name, display_name=item.get("display_name", msgspec.UNSET))


def _time_or_none(against: str) -> str | None:
    """Return the moment if it is a time, or None if it is a word that Headwater must look up."""
    return against if against[:4].isdigit() else None


def check_contract(file: ContractFile, observed: ObservedAnswers) -> CheckedFile:
    """Return the result of comparing a contract with the observed facts."""
    found = [each for promise in file.promises for each in _check_promise(promise, observed)]
    return CheckedFile(str(file.path), file.text, len(file.promises), found)


def check_policies(path: Path, observed: ObservedAnswers) -> CheckedFile:
    """Compare policies with the observed facts of all datasets; raises WrongSetting if the file has no policies."""
    policies = load_policies(path)
    count = len(policies.tags) + len(policies.masked) + len(policies.owner)
    return CheckedFile(str(path), path.read_text(encoding="utf-8"), count, policy_breaks(policies, observed))


def policy_files(places: Iterable[Path]) -> list[Path]:
    """Return the policy files in folders of contracts."""
    return [found for place in places if place.is_dir() and (found := place / POLICIES).is_file()]


def _check_promise(promise: Promise, observed: ObservedAnswers) -> list[Break]:
    try:
        return broken_promises(promise, observed.facts_by_name(*promise.asked))
    except NotKnown as error:
        return [unknown_dataset_break(promise, f"Headwater does not know this dataset. {error}")]
