"""Answers about contracts."""

from typing import Literal

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Job, ListAnswer, Time


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
