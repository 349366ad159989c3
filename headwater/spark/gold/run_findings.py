"""Which runs the newest comparisons of `headwater reconcile --save` found something of."""

import json
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.state import State
from headwater.tables import FACETS, FINDINGS

COMPARISON = f"event_kind = 'JOB' AND job_namespace = '{NAMESPACE}' AND startswith(job_name, '{PREFIX}')"
"""Tells whether an event is of a comparison."""

_KINDS = ("never_ended", "committed_nothing", "no_datasets")
"""Kinds of findings about a run, the worst first: a commit without a run names one that only may have made it."""


def found_of_runs(silver: TableFolder, state: State, *, compared: bool) -> Mapping[str, str]:
    """Return the kind of the worst finding of each run, by its key.

    compared: a comparison came, so facets are asked anew; else the state has it, and looking at facets is two jobs.
    """
    if not compared:
        return {row.run_key: row.finding for row in state.collect("finding")}
    found = _found_now(silver)
    state.set(FINDINGS, silver.rows(FINDINGS, sorted(found.items())))
    return found


def finding_of(run_key: str, findings: Mapping[str, str]) -> Column:
    """Return the finding of the run of a key, null where there is none."""
    found = F.lit(None).cast("string")
    for kind in _KINDS:
        found = F.when(F.col(run_key).isin([run for run in findings if findings[run] == kind]), kind).otherwise(found)
    return found


def _found_now(silver: TableFolder) -> dict[str, str]:
    """Return what newest facets say; one that is none of ours says nothing."""
    of_ours = f"entity = 'job' AND facet = '{FACET}' AND namespace = '{NAMESPACE}' AND startswith(name, '{PREFIX}')"
    found: dict[str, str] = {}
    for row in silver.read(FACETS).where(of_ours).select("value").collect():
        for each in _findings(row.value):
            run, kind = (each.get(name) for name in ("run", "kind")) if isinstance(each, dict) else (None, None)
            if isinstance(run, str) and kind in _KINDS:
                found[run.lower()] = min(kind, found.get(run.lower(), kind), key=_KINDS.index)
    return found


def _findings(value: str | None) -> list[object]:
    facet = json.loads(value) if value else None
    found = facet.get("findings") if isinstance(facet, dict) else None
    return found if isinstance(found, list) else []
