"""Questions about contracts: the contract of a dataset as YAML, and the state of the contracts in a folder."""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Literal, Protocol

from msgspec import to_builtins

from headwater.common.errors import GiveUp
from headwater.common.paging import ListPage, RowOrder
from headwater.governance.contracts.checking import (
    ObservedAnswers,
    check_contract,
    check_policies,
    contract_paths,
    policy_files,
    read_contract,
)
from headwater.governance.contracts.odcs import contract_document
from headwater.governance.contracts.reports import CheckedFile
from headwater.governance.yaml_text import to_yaml
from headwater.questions import parameters as p
from headwater.questions.answer_types.common import AnswerStruct, Count, Job, ListAnswer, Time
from headwater.questions.declaring import question
from headwater.questions.definitions import QuestionSources
from headwater.questions.definitions.contracts import contract_facts_of
from headwater.questions.resolved_moments import resolve_after
from headwater.questions.subjects import Subject


class ContractText(AnswerStruct):
    """A contract as YAML, and a suggested file name."""

    text: str
    file: str


class ContractBreak(AnswerStruct):
    """A broken promise or policy. run, time, job: the run that broke it, null if unknown.

    warning: it may be broken; its contract still counts as kept.
    """

    kind: str
    dataset: str
    column: str | None
    message: str
    run: str | None
    time: Time | None
    job: Job | None
    warning: bool = False


class ContractState(AnswerStruct):
    """The state of a file of contracts or policies.

    dataset: null for several datasets and for policies; promises: number of tables or policies; problem: why the file
    cannot be read.
    """

    file: str
    dataset: str | None
    version: str | None
    state: Literal["kept", "broken", "unreadable"]
    promises: Count
    breaks: list[ContractBreak]
    problem: str | None


class Contracts(ListAnswer):
    """The contracts of a folder. states: number of files by state, on all pages."""

    folder: str
    items: list[ContractState]
    states: dict[Literal["kept", "broken", "unreadable"], int]


class ContractSources(QuestionSources, Protocol):
    """Sources of answers about contracts."""

    @property
    def contracts(self) -> Path:
        """The folder of contracts; it may not exist."""


@question("contract.yml", called=None, reads_lake=True)
def contract_yaml(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, against: p.Against = None
) -> ContractText:  # fmt: skip
    """Return the contract of a dataset as YAML of the Open Data Contract Standard."""
    at_us = sources.open_views.query_current_index(lambda live, _: resolve_after(live, against))
    document = contract_document(contract_facts_of(sources, [Subject(namespace, dataset)], at_us)[0])
    return ContractText(to_yaml(document), f"{re.sub(r'[^A-Za-z0-9._-]+', '_', document['name'])[-100:]}.yml")


@question("contracts", reads_lake=True)
def contracts(sources: ContractSources, *, page: ListPage) -> Contracts:
    """List contracts and policies with their state, and for broken ones the reasons and the responsible runs."""
    observed = ObservedAnswers(lambda asked, given: to_builtins(asked.ask(sources, given)))
    found = [*_contract_states(sources.contracts, observed)]
    cut = _ORDER.page(found, page)
    states = Counter(each.state for each in found)
    return Contracts(folder=str(sources.contracts), items=list(cut.rows), states=dict(states), **cut.info)


_RANK = {"broken": 0, "unreadable": 1, "kept": 2}
_ORDER = RowOrder[ContractState](
    "contracts",
    {
        "state": lambda each: _RANK[each.state], "file": lambda each: each.file, "dataset": lambda each: each.dataset,
        "version": lambda each: each.version, "breaks": lambda each: sum(not found.warning for found in each.breaks),
    },
    "state",
    lambda each: (each.file,),
    ties=1,
    texts=lambda each: (each.file, each.dataset),
)  # fmt: skip


def _contract_states(folder: Path, observed: ObservedAnswers) -> Iterator[ContractState]:
    if not folder.is_dir():
        return
    for path in contract_paths([folder]):
        name = str(path.relative_to(folder))
        try:
            file = read_contract(path)
            checked = check_contract(file, observed)
        except GiveUp as error:
            yield ContractState(name, None, None, "unreadable", 0, [], str(error))
            continue
        only_promise = file.promises[0] if len(file.promises) == 1 else None
        yield _contract_state(
            name, checked, only_promise.asked.text if only_promise else None, file.promises[0].version
        )
    for path in policy_files([folder]):
        try:
            yield _contract_state(path.name, check_policies(path, observed), None, None)
        except GiveUp as error:
            yield ContractState(path.name, None, None, "unreadable", 0, [], str(error))


def _contract_state(name: str, checked: CheckedFile, dataset: str | None, version: str | None) -> ContractState:
    breaks = [
        ContractBreak(
            each.kind,
            each.dataset,
            each.column,
            each.message,
            each.responsible_run.run,
            each.responsible_run.time,
            each.responsible_run.job,
            each.is_warning,
        )
        for each in checked.breaks
    ]
    return ContractState(
        name, dataset, version, "broken" if checked.broken_promises() else "kept", checked.promises, breaks, None
    )
