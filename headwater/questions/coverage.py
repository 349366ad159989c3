"""What lineage does not cover: datasets and jobs without column lineage, and why."""

from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.view import View
from headwater.questions.answers.lineage import Coverage, CoverageItem

COVERED = "column lineage"
_OPAQUE = "written without column lineage"
_PARTLY = "some of its writers report no column lineage"
_SOURCE = "no reported job writes it"


def coverage(moment: Snapshot, view: View, *, limit: int) -> Coverage:
    """Answer, dataset by dataset and job by job, where column lineage is missing, by reason."""
    there = (name for name in moment.datasets() if view.shows_gone or moment.stands(name))
    datasets = {name: _dataset_reason(moment, view, name) for name in there}
    jobs = _job_reasons(moment, view)
    items = [
        CoverageItem(kind="dataset", namespace=name.namespace, dataset=name.name, reason=reason)
        for name, reason in sorted(datasets.items())
        if reason != COVERED
    ]
    items += [
        CoverageItem(kind="job", **moment.job(name).shown, reason=reason)
        for name, reason in sorted(jobs.items())
        if reason != COVERED
    ]
    return Coverage(_count(datasets), _count(jobs), items[:limit], len(items), len(items) > limit)


def _dataset_reason(moment: Snapshot, view: View, name: Name) -> str:
    number = view.lifetimes.newest(name)
    fed_by = moment.graph.fed_by.get(number, set()) if number is not None else set()
    words = [moment.graph.sets[each][1] for each in fed_by if view.says(each)]
    if not words:
        return _SOURCE
    if all(said.carries or not (said.tables or said.also_read) for said in words) and any(s.carries for s in words):
        return COVERED
    return _PARTLY if any(said.carries for said in words) else _OPAQUE


def _job_reasons(moment: Snapshot, view: View) -> dict[Name, str]:
    found: dict[Name, set[bool]] = {}
    for number, (group, said) in moment.graph.sets.items():
        if said.output is not None and view.says(number) and (said.carries or said.tables or said.also_read):
            found.setdefault(group.job, set()).add(said.carries)
    return {
        job: COVERED if carries == {True} else _PARTLY_JOB if True in carries else _OPAQUE_JOB
        for job, carries in found.items()
    }


_OPAQUE_JOB = "reports no column lineage"
_PARTLY_JOB = "reports column lineage for some of its outputs only"


def _count(reasons: dict[Name, str]) -> dict[str, int]:
    found: dict[str, int] = {}
    for reason in reasons.values():
        found[reason] = found.get(reason, 0) + 1
    return found
