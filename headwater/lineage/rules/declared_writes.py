"""Rule 6.7: what decides about a write before its events do: what users declare, then what commits prove."""

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.write_kinds import ADDS, WHOLE
from headwater.lineage.rules.user_rules import UserRules


def declared_kind(
    rules: UserRules,
    producer: str,
    job_output: JobOutput,
    run_key: str,
    kind: int,
    is_whole: bool | None = None,
) -> int:
    """Return the kind of a write, as `write_kinds` names it; only COMPLETE runs rewrite.

    kind: by the events; is_whole: what commits prove of it (`CommitProofs.is_whole`).
    """
    if job_output.output is None or job_output.layer != "observed":
        return kind
    writes = rules.writes_of(producer, job_output.job.name, run_key, job_output.output)
    if writes is not None:
        return WHOLE if writes == "whole" else ADDS
    return kind if is_whole is None else WHOLE if is_whole else ADDS
