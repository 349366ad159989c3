"""Observed facts for contracts and policies: answers to questions, from a data folder or a running Headwater."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from headwater.common.errors import HeadwaterError, NotKnown, ServerRefusal, WrongQuestion
from headwater.governance.contracts.policy_breaks import KnownDataset
from headwater.questions import declared
from headwater.questions.answers.answer_parts import Dataset, Job
from headwater.questions.answers.contract_answers import ContractFacts, RunReference
from headwater.questions.declared.contract_questions import contract
from headwater.questions.declaring import Question
from headwater.questions.parameters import MAX_LIMIT

Ask = Callable[[Question, Mapping[str, str]], Any]
"""Asks a question and returns the answer as JSON."""


class ObservedAnswers:
    """Answers at one moment. The facts of each dataset are requested once."""

    def __init__(self, ask: Ask, against: str | None = None):
        """against: a moment as in the question `contract`, None for now."""
        self._ask, self._against, self._as_of = ask, against, None if against is None else _time_in(against)
        self._facts: dict[tuple[str | None, str], ContractFacts] = {}

    def of(self, namespace: str | None, dataset: str) -> ContractFacts:
        """Return the observed facts of a dataset. Raises NotKnown, or other errors of the question."""
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
        """Distinguish an unknown dataset, which breaks a promise, from an unknown moment, which prevents the check."""
        if message.startswith("No dataset"):
            return NotKnown("dataset", dataset, nearest)
        return WrongQuestion(f"The check was not run, because {self._against!r} cannot be resolved. {message}")

    def facts(self, dataset: Dataset) -> ContractFacts:
        """Return the observed facts of a dataset by its canonical name."""
        return self.of(dataset.namespace, dataset.dataset)

    def exposed(self, tag: str) -> Iterator[tuple[Dataset, str]]:
        """Yield the columns with readable values of a tag. Raises NotKnown for an unknown tag."""
        for each in self._listed(declared.surface, {"tag": tag, "exposure": "exposed", **self._moment()}):
            yield _dataset(each, each["dataset"]), each["column"] or ""

    def datasets(self) -> Iterator[KnownDataset]:
        """Yield all currently known datasets."""
        for each in self._listed(declared.datasets, {}):
            job, run = each["job"], each["last_run"]
            by = RunReference(run["id"] if run else None, each["last_written"], Job(**job) if job else None)
            yield KnownDataset(_dataset(each, each["name"]), tuple(each["owners"]), by)

    def _listed(self, question: Question, asked: Mapping[str, str]) -> Iterator[Any]:
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

    def _moment(self) -> dict[str, str]:
        if self._against is None:
            return {}
        if self._as_of is None:
            raise WrongQuestion(
                f"The moment {self._against!r} cannot be resolved without a contract. "
                "Check at least one contract together with the policies."
            )
        return {"asOf": self._as_of}


def _dataset(item: Mapping[str, Any], name: str) -> Dataset:
    return Dataset(item["namespace"], name, display_name=item.get("display_name", msgspec.UNSET))


def _time_in(against: str) -> str | None:
    """Return a moment that is a time, None for a word that Headwater must look up."""
    return against if against[:4].isdigit() else None
