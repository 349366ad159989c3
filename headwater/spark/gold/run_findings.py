"""Read the findings about runs in the newest comparisons of `headwater reconcile --save`."""

import json
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.state import SilverState
from headwater.tables import FACETS, FINDINGS, Table

COMPARISON = f"event_kind = 'JOB' AND job_namespace = '{NAMESPACE}' AND startswith(job_name, '{PREFIX}')"
"""SQL condition for events that contain a comparison."""

_KINDS = ("never_ended", "committed_nothing", "no_datasets")
"""Kinds of findings about a run, the worst first. `commit_without_run` is omitted, because its run is unknown."""


_CHANGED = Table("changed_findings", {**FINDINGS.columns, "gone": "boolean"})


def worst_findings_by_run(silver: TableFolder, state: SilverState, *, has_comparison: bool) -> Mapping[str, str]:
    """Return the kind of the worst finding of each run, by run key.

    has_comparison: the batch contains a comparison. In this case, the function reads the findings from the facets with
    two Spark jobs, and writes the changes to the state. Otherwise, it reads the findings from the state.
    """
    if not has_comparison:
        return {row.run_key: row.finding for row in state.collect_part("finding")}
    found, before = _worst_current_findings(state), {row.run_key: row.finding for row in state.collect_part("finding")}
    rows = [(*each, False) for each in sorted(found.items() - before.items())]
    rows += [(run_key, before[run_key], True) for run_key in sorted(before.keys() - found.keys())]
    if rows:
        state.put(FINDINGS, silver.frame_of_rows(_CHANGED, rows))
    return found


def finding_column(run_key: str, findings: Mapping[str, str]) -> Column:
    """Return a column with the finding of each run, null if there is none.

    run_key: name of the column with the run key. findings: kind of the worst finding by run key.
    """
    found = F.lit(None).cast("string")
    for kind in _KINDS:
        found = F.when(F.col(run_key).isin([run for run in findings if findings[run] == kind]), kind).otherwise(found)
    return found


def _worst_current_findings(state: SilverState) -> dict[str, str]:
    """Return the kind of the worst finding of each run by run key, from the newest facets. Skips malformed findings."""
    of_ours = f"entity = 'job' AND facet = '{FACET}' AND namespace = '{NAMESPACE}' AND startswith(name, '{PREFIX}')"
    found: dict[str, str] = {}
    for row in state.read(FACETS).where(of_ours).select("value").collect():
        for each in _decode_findings(row.value):
            run, kind = (each.get(name) for name in ("run", "kind")) if isinstance(each, dict) else (None, None)
            if isinstance(run, str) and kind in _KINDS:
                found[run.lower()] = min(kind, found.get(run.lower(), kind), key=_KINDS.index)
    return found


def _decode_findings(value: str | None) -> list[object]:
    facet = json.loads(value) if value else None
    found = facet.get("findings") if isinstance(facet, dict) else None
    return found if isinstance(found, list) else []
