"""Readers without output and writers without input that may be connected (docs/reference/lineage.md: stops)."""

from collections.abc import Iterator
from typing import NamedTuple

from tests.reference.generations import Dataset
from tests.reference.opacity import Account
from tests.reference.solver import Reference
from tests.reference.writings import Writing


class PossibleLink(NamedTuple):
    """A dataset that is read and one that is written, the jobs that do so, and the application of both jobs."""

    read: Dataset
    reader: str
    written: Dataset
    writer: str
    application: str


def possible_links(lineage: Reference) -> set[PossibleLink]:
    writers = [(writing, application) for writing in lineage.current for application in _writes_for(lineage, writing)]
    return {
        PossibleLink(read, account.run.job_key[1], writing.output, writing.job[1], application)
        for account in _newest_readers(lineage)
        for writing, application in writers
        for read in account.content.inputs
        if account.run and account.run.parent == application
    }


def _writes_for(lineage: Reference, writing: Writing) -> Iterator[str]:
    """Yield the application for which a run writes a dataset without reporting an input."""
    run = lineage.opacity.accounts[writing.run].run
    if run and run.parent and not (writing.carries or writing.inputs or writing.tables):
        yield run.parent


def _newest_readers(lineage: Reference) -> list[Account]:
    """Return the runs of each job's newest execution that read and report no output."""
    reading = [each for each in lineage.working if each.run and each.is_without_output]
    newest: dict[tuple[str, str], tuple[tuple[int, int, str], str]] = {}
    for account in reading:
        assert account.run
        own = lineage.newness_of(account), account.run.execution
        newest[account.run.job_key] = max(newest.get(account.run.job_key, own), own)
    only_reading = [each for each in reading if not each.feeds_jobs]
    return [each for each in only_reading if each.run and newest[each.run.job_key][1] == each.run.execution]
