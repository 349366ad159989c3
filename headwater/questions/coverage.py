"""The question `coverage`: datasets and jobs without column lineage, with the reason."""

from collections import Counter
from collections.abc import Callable

from headwater.common.paging import ListPage, RowOrder
from headwater.lineage.edges.output_lineage import OutputLineage
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import is_never_hidden
from headwater.lineage.snapshots.counted_edges import CountedEdges
from headwater.lineage.snapshots.snapshot import Snapshot
from headwater.questions.answer_types.lineage import Coverage, CoverageItem

COVERED = "column lineage"
INFERRED = "column lineage inferred from SQL"
_OPAQUE = "written without column lineage"
_PARTLY = "some of its writers report no column lineage"
_SOURCE = "no reported job writes it"


_ORDER = RowOrder[CoverageItem](
    "coverage",
    {
        "kind": lambda item: item.kind, "namespace": lambda item: item.namespace,
        "name": lambda item: item.dataset or item.name or "", "reason": lambda item: item.reason,
    },
    "kind",
    lambda item: (item.kind, item.namespace, item.dataset or item.name or ""),
    ties=3,
    texts=lambda item: (item.namespace, item.dataset or item.name or "", item.reason),
)  # fmt: skip


def coverage(
    snapshot: Snapshot, counted: CountedEdges, *, page: ListPage, kind: str | None = None,
    is_hidden: Callable[[Name], bool] = is_never_hidden,
) -> Coverage:  # fmt: skip
    """Return the datasets and jobs that lack column lineage, grouped by reason.

    kind: list only datasets or only jobs. is_hidden: a predicate for datasets to omit.
    """
    there = [name for name in snapshot.current_names() if counted.shows_dropped or snapshot.exists(name)]
    datasets = {name: _dataset_reason(snapshot, counted, name) for name in there if not is_hidden(name)}
    jobs, unread = _job_reasons(snapshot, counted), _unread_sql_reasons_by_job(snapshot, counted)
    items = [
        CoverageItem(
            kind="dataset",
            namespace=name.namespace,
            dataset=name.name,
            reason=reason,
            unread=_unread_sql_reasons_into(snapshot, counted, name),
        )
        for name, reason in datasets.items()
        if reason not in (COVERED, INFERRED)
    ]
    items += [
        CoverageItem(kind="job", **snapshot.job_name(name).as_json, reason=reason, unread=sorted(unread.get(name, ())))
        for name, reason in jobs.items()
        if reason not in (COVERED, INFERRED)
    ]
    cut = _ORDER.page((item for item in items if kind in (None, item.kind)), page)
    return Coverage(
        _count_by_reason(datasets), _count_by_reason(jobs), cut.rows, hidden=len(there) - len(datasets), **cut.info
    )


def _lineage_into(snapshot: Snapshot, counted: CountedEdges, name: Name) -> list[OutputLineage]:
    number = counted.lifetimes.newest_with_lineage(name)
    fed_by = snapshot.graph.writers_by_dataset.get(number, set()) if number is not None else set()
    return [snapshot.graph.edge_sets[each][1] for each in fed_by if counted.is_counted(each)]


def _unread_sql_reasons_into(snapshot: Snapshot, counted: CountedEdges, name: Name) -> list[str]:
    """Return the reasons why SQL that writes a dataset was not used for lineage, or only in part."""
    return sorted(
        {lineage.unread_sql_reason for lineage in _lineage_into(snapshot, counted, name) if lineage.unread_sql_reason}
    )


def _unread_sql_reasons_by_job(snapshot: Snapshot, counted: CountedEdges) -> dict[Name, set[str]]:
    found: dict[Name, set[str]] = {}
    for number, (job_output, lineage) in snapshot.graph.edge_sets.items():
        if lineage.unread_sql_reason and job_output.has_job and counted.is_counted(number):
            found.setdefault(job_output.job, set()).add(lineage.unread_sql_reason)
    return found


def _dataset_reason(snapshot: Snapshot, counted: CountedEdges, name: Name) -> str:
    feeding = _lineage_into(snapshot, counted, name)
    if not feeding:
        return _SOURCE
    if not any(lineage.has_column_lineage for lineage in feeding):
        return _OPAQUE
    opaque = any(
        not lineage.has_column_lineage and (lineage.source_datasets or lineage.other_inputs or lineage.source_jobs)
        for lineage in feeding
    )
    if opaque:
        return _PARTLY
    return INFERRED if all(lineage.is_inferred for lineage in feeding if lineage.has_column_lineage) else COVERED


def _job_reasons(snapshot: Snapshot, counted: CountedEdges) -> dict[Name, str]:
    found: dict[Name, set[str]] = {}
    inferring: set[Name] = set()
    for number, (job_output, lineage) in snapshot.graph.edge_sets.items():
        if (
            lineage.output is not None
            and job_output.has_job
            and counted.is_counted(number)
            and (lineage.has_sources or lineage.other_inputs)
        ):
            found.setdefault(job_output.job, set()).add(COVERED if lineage.has_column_lineage else _OPAQUE_JOB)
            if lineage.is_inferred:
                inferring.add(job_output.job)
    return {
        job: _PARTLY_JOB
        if len(reasons) > 1
        else INFERRED
        if job in inferring and reasons == {COVERED}
        else reasons.pop()
        for job, reasons in found.items()
    }


_OPAQUE_JOB = "reports no column lineage"
_PARTLY_JOB = "reports column lineage for some of its outputs only"


def _count_by_reason(reasons: dict[Name, str]) -> dict[str, int]:
    return dict(sorted(Counter(reasons.values()).items()))
