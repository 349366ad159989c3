"""Answers about who reported: runs as their producers told of them, what was lost on the way, who did not report."""

from typing import Literal

from headwater.questions.answers.answer_parts import AnswerStruct, Count, Dataset, Job, ListAnswer, Time


class ReportedOutput(AnswerStruct):
    """What a run wrote: its names in canonical form, and what its newest event says of version and lifecycle.

    is_echo: the outputs of the run equal its inputs and it reports no columns: by the rules it wrote nothing.
    """

    names: list[Dataset]
    version: str | None
    lifecycle: str | None
    is_echo: bool = False


class ReportedRun(AnswerStruct):
    """A run as it told of itself.

    ids: what others call it or what it is part of: Spark applications, jobs of Databricks, tasks of Airflow, its tags.
    """

    id: str
    job: Job
    producer: str
    state: str
    streaming: bool
    parent: str | None
    ids: list[str]
    started: Time
    ended: Time | None
    last_event: Time
    reads: Count
    writes: list[ReportedOutput]


class TransportLoss(AnswerStruct):
    """Events that a producer's transport dropped, between two moments."""

    job: Job
    application: str
    transport: str
    dropped: Count
    since: Time | None
    until: Time | None


class ReportedRuns(AnswerStruct):
    """A page of runs by their ids; `next` is the id to go on behind, null on the last. Losses are on the first."""

    runs: list[ReportedRun]
    losses: list[TransportLoss]
    next: str | None


FindingKind = Literal[
    "not_reported", "no_datasets", "never_ended", "dropped", "commit_without_run", "committed_nothing"
]


class Finding(AnswerStruct, kw_only=True):
    """Something that ran and that lineage does not tell of as it was.

    certain: false where times alone say what belongs together. system, id: as job history has it; where: to look at.
    """

    kind: FindingKind
    certain: bool
    name: str
    time: Time
    reason: str
    advice: str
    system: str | None = None
    id: str | None = None
    run: str | None = None
    dataset: Dataset | None = None
    version: Count | None = None
    count: Count | None = None
    where: str | None = None


class SavedFinding(Finding, kw_only=True):
    """A finding, and the comparison that found it."""

    comparison: str


class Comparison(AnswerStruct):
    """What `headwater reconcile --save NAME` compared last, and how much it found, in all and of each kind."""

    name: str
    since: Time
    until: Time
    findings: Count
    kinds: dict[str, Count]


class Unreported(ListAnswer):
    """Who did not report, as the newest comparison of each name says."""

    comparisons: list[Comparison]
    items: list[SavedFinding]
