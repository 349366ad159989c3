"""Answers about contracts: which there are, which are kept, what breaks the others."""

from typing import Literal

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Job, ListAnswer, Time


class ContractText(AnswerStruct):
    """A contract as YAML, and what its file may be called."""

    text: str
    file: str


class ContractBreak(AnswerStruct):
    """A promise or policy that is broken; run, time, job: what broke it, as far as it is known.

    warning: it only may be broken, and its contract counts as kept.
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
    """A file of contracts or policies and whether what it says is kept; problem: why it cannot be read.

    dataset: the one that it is about, null for several, or policies; promises: tables, or policies.
    """

    file: str
    dataset: str | None
    version: str | None
    state: Literal["kept", "broken", "unreadable"]
    promises: Count
    breaks: list[ContractBreak]
    problem: str | None


class Contracts(ListAnswer):
    """The contracts of a folder; states: of all of them."""

    folder: str
    items: list[ContractState]
    states: dict[Literal["kept", "broken", "unreadable"], int]
