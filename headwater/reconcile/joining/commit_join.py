"""Commits of a table, held against the runs that name it as an output.

Certain: a commit that holds a run's id, or whose version a run's end names. All else is a guess by times, for which a
statement of Spark makes one commit of its own kind.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import is_statement_half
from headwater.questions.answers.answer_parts import Dataset
from headwater.questions.answers.report_answers import Finding
from headwater.reconcile.committed_table import TableCommit
from headwater.reconcile.histories.history_entry import HistorySpan
from headwater.reconcile.joining.landed_runs import LandedRun

_STATEMENTS = {"MERGE": "merge", "UPDATE": "update", "DELETE": "delete", "TRUNCATE": "delete"}
_NO_ROWS = ("DROP", "RENAME", "ALTER")
_OVERWRITES = ("OVERWRITE", "TRUNCATE")


class TableWriter(NamedTuple):
    """A run that names the table as an output, and the version that its end says; is_echo: as in `ReportedOutput`."""

    run: LandedRun
    version: int | None
    lifecycle: str | None
    is_echo: bool = False


class TableHistory(NamedTuple):
    """A table, by its canonical name, its commits and the runs that name it as an output."""

    dataset: Dataset
    where: str
    commits: Sequence[TableCommit]
    writers: Sequence[TableWriter]


class WriteProof(NamedTuple):
    """What commits prove about the write of a run, which has the table under `dataset` as an output.

    proves: `whole`, which takes a certain commit; else no commit of its time replaced all rows.
    """

    run: LandedRun
    dataset: Dataset
    proves: Literal["whole", "part", "append", "nothing"]
    version: int | None


def proven(table: TableHistory, span: HistorySpan, slack_us: int) -> Iterator[WriteProof]:
    """Yield what commits prove about the runs that ended in a span and reported COMPLETE.

    Left out is what makes no difference: an append, or a change of rows, by a run that reports no overwrite.
    """
    made = [each for each in table.commits if each.changes_data]
    oldest_us = min((commit.time_us for commit in table.commits), default=0)
    for writer in table.writers:
        run = writer.run
        seen = span.since_us <= run.until_us < span.until_us and run.started_us > oldest_us - slack_us
        if seen and _writes(writer):
            own = [each for each in made if run.said.id in each.words]
            own += [each for each in made if each.version == writer.version and _within(run, each, slack_us)]
            found = _proven(writer, own, own or [each for each in made if _within(run, each, slack_us)])
            if found:
                yield WriteProof(run, table.dataset, *found)


def _proven(
    writer: TableWriter, own: Sequence[TableCommit], candidates: Sequence[TableCommit]
) -> tuple[Literal["whole", "part", "append", "nothing"], int | None] | None:
    """Return what is proven, and the version of a commit that proves it; own: commits that are certainly the run's."""
    whole = [each.version for each in own if each.replaced == "whole"]
    if whole:
        return "whole", max(whole)
    if any(each.replaced in ("whole", "unclear") for each in candidates):
        return None
    if not candidates:
        return ("nothing", None) if writer.version is None else None
    if writer.lifecycle not in _OVERWRITES and not is_statement_half(Name(*_parts(writer.run))):
        return None
    last = max(candidates, key=lambda each: each.version)
    return ("part" if any(each.replaced == "part" for each in candidates) else "append"), last.version


def _parts(run: LandedRun) -> tuple[str, str]:
    return run.said.job.namespace, run.said.job.name


_Fits = Callable[[TableWriter, TableCommit], bool]


def uncommitted(
    table: TableHistory, others: Sequence[LandedRun], landed: frozenset[str], span: HistorySpan, slack_us: int
) -> Iterator[Finding]:
    """Yield commits without a run, and runs that reported COMPLETE and committed nothing.

    others: runs that name no output at all; landed: the ids of all runs; span: what is looked at.
    """
    unexplained = _without_run(table, landed, slack_us)
    for commit in unexplained:
        if span.since_us <= commit.time_us < span.until_us:
            yield _commit_without_run(table, commit, others, slack_us)
    oldest_us = min((commit.time_us for commit in table.commits), default=0)
    for writer in table.writers:
        run = writer.run
        seen = span.since_us <= run.until_us < span.until_us and run.started_us > oldest_us - slack_us
        if seen and _is_idle(writer, table.commits, slack_us):
            yield _committed_nothing(table, run)


def _without_run(table: TableHistory, landed: frozenset[str], slack_us: int) -> list[TableCommit]:
    open_commits = [each for each in table.commits if each.changes_data and landed.isdisjoint(each.words)]
    open_commits.sort(key=lambda each: each.time_us)
    free = sorted(table.writers, key=lambda each: each.run.until_us)
    by_version: _Fits = lambda by, made: by.version == made.version and _within(by.run, made, slack_us)  # noqa: E731
    by_time: _Fits = lambda by, made: _may(by.run, made) and _within(by.run, made, slack_us)  # noqa: E731
    for fits in (by_version, by_time):
        open_commits, free = _taken(open_commits, free, fits)
    many = [each for each in table.writers if not _makes_one(each.run)]
    return [made for made in open_commits if not any(by_time(each, made) for each in many)]


def _taken(
    commits: Sequence[TableCommit], writers: Sequence[TableWriter], fits: _Fits
) -> tuple[list[TableCommit], list[TableWriter]]:
    """Give each statement the newest commit that fits; return what is left of both."""
    left, free = list(commits), []
    for writer in writers:
        made = next((each for each in reversed(left) if fits(writer, each)), None) if _makes_one(writer.run) else None
        if made is None:
            free.append(writer)
        else:
            left.remove(made)
    return left, free


def _makes_one(run: LandedRun) -> bool:
    return run.statement is not None and not run.said.streaming


def _within(run: LandedRun, commit: TableCommit, slack_us: int) -> bool:
    """Tell whether a commit falls into a run's time; a statement of Spark has its commit's clock, the driver's."""
    slack_us = slack_us if run.statement is None else 0
    return run.started_us - slack_us <= commit.time_us <= run.until_us + slack_us


def _may(run: LandedRun, commit: TableCommit) -> bool:
    """Tell whether a run may have made a commit, by engine and statement."""
    if run.statement is None:
        return True
    by_spark = not commit.engine or "spark" in commit.engine.lower() or "databricks" in commit.engine.lower()
    return by_spark and run.statement == _STATEMENTS.get(commit.operation.upper(), "write")


def _is_idle(writer: TableWriter, commits: Sequence[TableCommit], slack_us: int) -> bool:
    return (
        _writes(writer) and writer.version is None and not any(_within(writer.run, each, slack_us) for each in commits)
    )


def _writes(writer: TableWriter) -> bool:
    """Tell whether a run reports that it has written rows."""
    said = writer.run.said
    writes = said.state == "COMPLETE" and not said.streaming and writer.lifecycle not in _NO_ROWS
    return writes and not writer.is_echo


def _commit_without_run(
    table: TableHistory, commit: TableCommit, others: Sequence[LandedRun], slack_us: int
) -> Finding:
    statement = _STATEMENTS.get(commit.operation.upper())
    silent = next(
        (run for run in others if statement and run.statement == statement and _within(run, commit, slack_us)), None
    )
    beside = any(_within(each.run, commit, slack_us) for each in table.writers)
    by = f" by {commit.engine}" if commit.engine else ""
    reason = f"Version {commit.version}, {commit.operation}{by}, is of no run that names the table"
    if silent:
        reason += f"; run {silent.said.id}, of its kind and time, names no dataset: Spark's listener knows none of it"
    elif beside:
        reason += "; runs that write it at that time are told apart by engine, statement and number"
    advice = (
        "Accept it, or declare the table as an output of that job."
        if silent
        else "Find the writer by engine and user, and let it report, or write its run's id into the commit."
    )
    return Finding(
        kind="commit_without_run",
        certain=not beside,
        name=f"{table.dataset.namespace}/{table.dataset.dataset}",
        time=str(iso(commit.time_us)),
        reason=f"{reason}.",
        advice=advice,
        run=silent.said.id if silent else None,
        dataset=table.dataset,
        version=commit.version,
        where=f"{table.where}/_delta_log/{commit.version:020}.json",
    )


def _committed_nothing(table: TableHistory, run: LandedRun) -> Finding:
    return Finding(
        kind="committed_nothing",
        certain=False,
        name=f"{run.said.job.namespace}/{run.said.job.name}",
        time=str(run.said.ended),
        reason=f"It reported COMPLETE and {table.dataset.dataset} as its output, which has no commit from "
        f"{run.said.started} to {run.said.ended}.",
        advice="Look into its log: Spark reports a failed write as COMPLETE, too. With --save, it replaces no older "
        f"rows. If it did, declare `run: {run.said.id}` with `writes: whole` in rewrites.yaml.",
        run=run.said.id,
        dataset=table.dataset,
        where=table.where,
    )
