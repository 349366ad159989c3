"""`rewrites.yaml` over what events say of a write: what users declare outweighs it."""

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.write_kinds import ADDS, WHOLE
from headwater.lineage.rules.user_rules import UserRules


def declared_kind(rules: UserRules, producer: str, job_output: JobOutput, run_key: str, kind: int) -> int:
    """Return the kind of a write, as `write_kinds` names it; only COMPLETE runs rewrite. kind: by the events."""
    if job_output.output is None or job_output.layer != "observed":
        return kind
    writes = rules.writes_of(producer, job_output.job.name, run_key, job_output.output)
    return kind if writes is None else WHOLE if writes == "whole" else ADDS
