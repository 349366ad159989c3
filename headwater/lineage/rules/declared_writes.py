"""Rule 6.7: what decides about a write before its events do: what users declare, then what commits prove."""

from typing import Literal, NamedTuple

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.write_kinds import ADDS, WHOLE, rewrites
from headwater.lineage.rules.user_rules import UserRules

RewriteSource = Literal["declared", "committed", "reported"]
"""How it is known that a write replaced all rows: by `rewrites.yaml`, by a Delta commit, or by the run's events."""


class ReportedWrite(NamedTuple):
    """A write as events and commits tell of it.

    kind: by the events, one of `WRITE_KINDS`; is_whole: what commits prove of it (`CommitProofs.is_whole`).
    """

    producer: str
    run_key: str
    kind: int
    is_whole: bool | None


def decided_kind(rules: UserRules, job_output: JobOutput, write: ReportedWrite) -> int:
    """Return the kind of a write, as `write_kinds` names it; only COMPLETE runs rewrite."""
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
    """Return how it is known that a write is a whole rewrite; None if it is none.

    by_parts: some event mentions a part of the dataset.
    """
    if not rewrites(decided_kind(rules, job_output, write), by_parts=by_parts):
        return None
    if decided_kind(rules, job_output, write._replace(kind=ADDS, is_whole=None)) == WHOLE:
        return "declared"
    return "committed" if write.is_whole else "reported"
