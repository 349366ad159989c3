"""The origin of an edge: a run reported it, a declaration contains it, or rule 13 inferred it from SQL."""

from typing import Literal, get_args

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.run_edges import OutputLineage

Origin = Literal["observed", "declared", "inferred"]

ORIGINS: frozenset[Origin] = frozenset(get_args(Origin))


def origin_of(job_output: JobOutput, lineage: OutputLineage) -> Origin:
    """Return the origin of the lineage of an output."""
    if lineage.inferred:
        return "inferred"
    return "declared" if job_output.layer == "declared" else "observed"
