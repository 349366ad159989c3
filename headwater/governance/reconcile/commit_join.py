"""Match the commits of a table with the runs that report the table as an output.

A match is certain if the commit contains the run's id, or if the run's end event contains the commit's version. All
other matches use times. A run of a Spark statement matches at most one commit, with the same type of statement.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.events.times import iso_time
from headwater.governance.reconcile.commits import TableCommit
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.governance.reconcile.run_index import TimedRun
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import is_ctas_statement
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.reports import Finding

_STATEMENTS = {"MERGE": "merge", "UPDATE": "update", "DELETE": "delete", "TRUNCATE": "delete"}


_NO_ROWS = ("DROP", "RENAME", "ALTER")


_OVERWRITES = ("OVERWRITE", "TRUNCATE")


class TableWriter(NamedTuple):
    """A run that reports the table as an output.

    version: the version in the run's end event, or None. lifecycle: the reported life cycle change, or None.
    is_echo: as in `ReportedOutput`.
    """

    run: TimedRun
    version: int | None
    lifecycle: str | None
    is_echo: bool = False


class TableHistory(NamedTuple):
    """A table with its commits and the runs that report it as an output.

    dataset: its canonical name. where: its address.
    """

    dataset: Dataset
    where: str
    commits: Sequence[TableCommit]
    writers: Sequence[TableWriter]


class WriteProof(NamedTuple):
    """What the commits of a table (`dataset`) prove about the write of a run.

    proves: `whole` means that a commit which certainly belongs to the run replaced all rows. All other values mean that
    no commit during the run replaced all rows. version: version of the commit that shows it, or None.
    """

    run: TimedRun
    dataset: Dataset
    proves: Literal["whole", "part", "append", "nothing"]
    version: int | None


def prove_writes(table: TableHistory, span: HistorySpan, slack_us: int) -> Iterator[WriteProof]:
    """Yield what commits prove about the runs that ended in the period `span` and reported COMPLETE.

    Omits proofs without effect: an append or a partial change by a run that does not report an overwrite.
    slack_us: tolerance for the difference between clocks.
    """
    made = [each for each in table.commits if each.changes_data]
    oldest_us = min((commit.time_us for commit in table.commits), default=0)
    for writer in table.writers:
        run = writer.run
        seen = span.since_us <= run.until_us < span.until_us and run.started_us > oldest_us - slack_us
        if seen and _has_written_rows(writer):
            own = [each for each in made if run.report.id in each.words]
            own += [
                each for each in made if each.version == writer.version and _is_commit_within_run(run, each, slack_us)
            ]
            found = _proof_for_writer(
                writer, own, own or [each for each in made if _is_commit_within_run(run, each, slack_us)]
            )
            if found:
                yield WriteProof(run, table.dataset, *found)


def _proof_for_writer(
    writer: TableWriter, own: Sequence[TableCommit], candidates: Sequence[TableCommit]
) -> tuple[Literal["whole", "part", "append", "nothing"], int | None] | None:
    """Return what commits prove, and the version of a commit that shows this; None if they prove nothing.

    own: commits that certainly belong to the run. candidates: `own`, or if empty, all commits during the run.
    """
    whole = [each.version for each in own if each.replaced == "whole"]
    if whole:
        return "whole", max(whole)
    if any(each.replaced in ("whole", "unclear") for each in candidates):
        return None
    if not candidates:
        return ("nothing", None) if writer.version is None else None
    job = writer.run.report.job
    if writer.lifecycle not in _OVERWRITES and not is_ctas_statement(Name(job.namespace, job.name)):
        return None
    last = max(candidates, key=lambda each: each.version)
    return ("part" if any(each.replaced == "part" for each in candidates) else "append"), last.version


_Fits = Callable[[TableWriter, TableCommit], bool]


def unmatched_commits(
    table: TableHistory, others: Sequence[TimedRun], landed: frozenset[str], span: HistorySpan, slack_us: int
) -> Iterator[Finding]:
    """Yield findings about commits without a run, and about runs that reported COMPLETE but committed nothing.

    others: runs without inputs and outputs. landed: ids of all runs. span: the period to check.
    slack_us: tolerance for the difference between clocks.
    """
    unexplained = _commits_without_run(table, landed, slack_us)
    for commit in unexplained:
        if span.since_us <= commit.time_us < span.until_us:
            yield _commit_without_run(table, commit, others, slack_us)
    oldest_us = min((commit.time_us for commit in table.commits), default=0)
    for writer in table.writers:
        run = writer.run
        seen = span.since_us <= run.until_us < span.until_us and run.started_us > oldest_us - slack_us
        if seen and _wrote_without_commit(writer, table.commits, slack_us):
            yield _write_without_commit(table, run)


def _commits_without_run(table: TableHistory, landed: frozenset[str], slack_us: int) -> list[TableCommit]:
    open_commits = [each for each in table.commits if each.changes_data and landed.isdisjoint(each.words)]
    open_commits.sort(key=lambda each: each.time_us)
    free = sorted(table.writers, key=lambda each: each.run.until_us)

    def has_version(writer: TableWriter, commit: TableCommit) -> bool:
        return writer.version == commit.version and _is_commit_within_run(writer.run, commit, slack_us)

    def has_statement(writer: TableWriter, commit: TableCommit) -> bool:
        return _fits_statement_of_run(writer.run, commit) and _is_commit_within_run(writer.run, commit, slack_us)

    for fits in (has_version, has_statement):
        open_commits, free = _assign_commits(open_commits, free, fits)
    many = [each for each in table.writers if not _makes_one_commit(each.run)]
    return [made for made in open_commits if not any(has_statement(each, made) for each in many)]


def _assign_commits(
    commits: Sequence[TableCommit], writers: Sequence[TableWriter], fits: _Fits
) -> tuple[list[TableCommit], list[TableWriter]]:
    """Assign the newest matching commit to each run of a Spark statement; return the remaining commits and runs."""
    left, free = list(commits), []
    for writer in writers:
        made = (
            next((each for each in reversed(left) if fits(writer, each)), None)
            if _makes_one_commit(writer.run)
            else None
        )
        if made is None:
            free.append(writer)
        else:
            left.remove(made)
    return left, free


def _makes_one_commit(run: TimedRun) -> bool:
    return run.statement_type is not None and not run.report.streaming


def _is_commit_within_run(run: TimedRun, commit: TableCommit, slack_us: int) -> bool:
    """Return whether a commit is in the period of a run.

    Runs of Spark statements need no tolerance, because both times come from the clock of the driver.
    """
    slack_us = slack_us if run.statement_type is None else 0
    return run.started_us - slack_us <= commit.time_us <= run.until_us + slack_us


def _fits_statement_of_run(run: TimedRun, commit: TableCommit) -> bool:
    """Return whether engine and type of a commit fit the run's Spark statement; true for runs of other engines."""
    if run.statement_type is None:
        return True
    by_spark = not commit.engine or "spark" in commit.engine.lower() or "databricks" in commit.engine.lower()
    return by_spark and run.statement_type == _STATEMENTS.get(commit.operation.upper(), "write")


def _wrote_without_commit(writer: TableWriter, commits: Sequence[TableCommit], slack_us: int) -> bool:
    return (
        _has_written_rows(writer)
        and writer.version is None
        and not any(_is_commit_within_run(writer.run, each, slack_us) for each in commits)
    )


def _has_written_rows(writer: TableWriter) -> bool:
    """Return whether a run completed and its reported life cycle change does not exclude that it wrote rows."""
    report = writer.run.report
    writes = report.state == "COMPLETE" and not report.streaming and writer.lifecycle not in _NO_ROWS
    return writes and not writer.is_echo


def _commit_without_run(table: TableHistory, commit: TableCommit, others: Sequence[TimedRun], slack_us: int) -> Finding:
    statement = _STATEMENTS.get(commit.operation.upper())
    silent = next(
        (
            run
            for run in others
            if statement and run.statement_type == statement and _is_commit_within_run(run, commit, slack_us)
        ),
        None,
    )
    is_concurrent = any(_is_commit_within_run(each.run, commit, slack_us) for each in table.writers)
    by = f" by {commit.engine}" if commit.engine else ""
    reason = f"Version {commit.version}, {commit.operation}{by}, matches no run that names the table as an output"
    if silent:
        reason += (
            f"; run {silent.report.id} has the same statement type and time but names no dataset, because Spark's "
            "listener does not support this statement"
        )
    elif is_concurrent:
        reason += "; other runs write the table at that time, but differ by engine, statement or number of commits"
    advice = (
        "Ignore this commit, or declare the table as an output of that job."
        if silent
        else "Find the writer by engine and user. Configure it to send lineage, or to store its run id in the commit."
    )
    return Finding(
        kind="commit_without_run",
        certain=not is_concurrent,
        name=f"{table.dataset.namespace}/{table.dataset.dataset}",
        time=str(iso_time(commit.time_us)),
        reason=f"{reason}.",
        advice=advice,
        run=silent.report.id if silent else None,
        dataset=table.dataset,
        version=commit.version,
        where=f"{table.where}/_delta_log/{commit.version:020}.json",
    )


def _write_without_commit(table: TableHistory, run: TimedRun) -> Finding:
    return Finding(
        kind="committed_nothing",
        certain=False,
        name=f"{run.report.job.namespace}/{run.report.job.name}",
        time=str(run.report.ended),
        reason=f"The run reported COMPLETE with the output {table.dataset.dataset}, but the table has no commit from "
        f"{run.report.started} to {run.report.ended}.",
        advice="Check its log: Spark reports a failed write as COMPLETE, too. With --save, Headwater assumes that the "
        f"run replaced no rows. If it did, declare `run: {run.report.id}` with `writes: whole` in rewrites.yaml.",
        run=run.report.id,
        dataset=table.dataset,
        where=table.where,
    )
