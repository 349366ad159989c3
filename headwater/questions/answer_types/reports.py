"""Answers about reporting: reported runs, lost events, and executions that did not report."""

from typing import Literal

from headwater.questions.answer_types.common import AnswerStruct, Count, Dataset, Job, ListAnswer, Time


class ReportedOutput(AnswerStruct):
    """An output of a run: its canonical names, and the version and lifecycle change of its newest event.

    is_echo: the outputs of the run equal its inputs and it reports no columns, so by the rules it wrote nothing.
    """

    names: list[Dataset]
    version: str | None
    lifecycle: str | None
    is_echo: bool = False


class ReportedRun(AnswerStruct):
    """A run as its events report it.

    ids: ids of the run in other systems (Spark applications, Databricks jobs, Airflow tasks), and the run's tags.
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
    """Events that a producer's transport dropped between two moments."""

    job: Job
    application: str
    transport: str
    dropped: Count
    since: Time | None
    until: Time | None


class ReportedRuns(AnswerStruct):
    """One page of runs, sorted by id.

    next: the id after which the next page starts, null on the last. Only the first page contains `losses`.
    """

    runs: list[ReportedRun]
    losses: list[TransportLoss]
    next: str | None


FindingKind = Literal[
    "not_reported", "no_datasets", "never_ended", "dropped", "commit_without_run", "committed_nothing"
]


class Finding(AnswerStruct, kw_only=True):
    """An execution or a write whose lineage is missing or incomplete.

    certain: false if the match is based on time alone. system, id: the system and the id in the job history. where:
    where to look up the execution.
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
    """The last comparison of `headwater reconcile --save NAME`, with the number of findings in total and by kind."""

    name: str
    since: Time
    until: Time
    findings: Count
    kinds: dict[str, Count]


class Unreported(ListAnswer):
    """Executions that did not report, from the newest comparison of each name."""

    comparisons: list[Comparison]
    items: list[SavedFinding]
