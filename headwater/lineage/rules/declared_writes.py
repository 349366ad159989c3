"""Rule 6.7: decide about writes by users' rules first, then by Delta commits, then by the events."""

from typing import Literal, NamedTuple

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.write_kinds import ADDS, WHOLE, rewrites
from headwater.lineage.rules.user_rules import UserRules

RewriteSource = Literal["declared", "committed", "reported"]
"""The evidence for a whole rewrite: `rewrites.yaml`, a Delta commit, or the events of the run."""


class ReportedWrite(NamedTuple):
    """A write, as events and commits report it.

    kind: the kind by the events, one of `WRITE_KINDS`.
    is_whole: whether commits prove a whole rewrite (`CommitProofs.is_whole`); None without a proof.
    """

    producer: str
    run_key: str
    kind: int
    is_whole: bool | None


def decided_kind(rules: UserRules, job_output: JobOutput, write: ReportedWrite) -> int:
    """Return the kind of a write, one of `WRITE_KINDS`. Rules and commits decide only about observed runs."""
    producer, run_key, kind, is_whole = write
    if job_output.output is None or job_output.layer != "observed":
        return kind
    writes = rules.writes_of(producer, job_output.job.name, run_key, job_output.output)
    if writes is not None:
        return WHOLE if writes == "whole" else ADDS
    return kind if is_whole is None else WHOLE if is_whole else ADDS


def rewrite_source(
    rules: UserRules, job_output: JobOutput, write: ReportedWrite, *, by_parts: bool
) -> RewriteSource | None:
    """Return the evidence that a write is a whole rewrite; None if it is not one.

    by_parts: some event shows that the dataset is written in parts.
    """
    if not rewrites(decided_kind(rules, job_output, write), by_parts=by_parts):
        return None
    if decided_kind(rules, job_output, write._replace(kind=ADDS, is_whole=None)) == WHOLE:
        return "declared"
    return "committed" if write.is_whole else "reported"
