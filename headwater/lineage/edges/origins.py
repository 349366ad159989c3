"""Who says an edge: a run that observed it, somebody who declared it, or the rules, which inferred it from SQL."""

from typing import Literal, get_args

from headwater.lineage.edges.current_candidates import JobOutput
from headwater.lineage.edges.run_edges import OutputLineage

Origin = Literal["observed", "declared", "inferred"]

ORIGINS: frozenset[Origin] = frozenset(get_args(Origin))


def origin_of(job_output: JobOutput, lineage: OutputLineage) -> Origin:
    """Return where what is said of an output comes from."""
    if lineage.inferred:
        return "inferred"
    return "declared" if job_output.layer == "declared" else "observed"
