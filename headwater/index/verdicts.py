"""Unused columns as an answer: verdict, reason, and what to know before a column goes."""

from collections.abc import Iterator
from typing import Any

from headwater.index.asking import Subject, find_dataset
from headwater.index.moment import Moment
from headwater.index.showing import column_json, iso, job_json
from headwater.lineage.name import Name
from headwater.lineage.unused import Judged, judge
from headwater.lineage.unused import Subject as JudgedDataset
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View


def verdicts(moment: Moment, rules: UserRules, view: View, *, asked: Subject | None, limit: int) -> dict[str, Any]:
    """Answer which columns of a dataset, or of all datasets, are used, unused, or neither provably."""
    datasets = [find_dataset(moment, rules.names, asked)] if asked else sorted(moment.datasets())
    items: list[dict[str, Any]] = []
    counts = dict.fromkeys(("used", "unused", "unknown"), 0)
    for dataset in datasets:
        judged = judge_dataset(moment, rules, view, dataset)
        for each in judged:
            counts[each.verdict] += 1
        items += _items(moment, dataset, judged) if len(items) < limit else []
    total = sum(counts.values())
    return {"items": items[:limit], "verdicts": counts, "totalCount": total, "truncated": total > limit}


def judge_dataset(moment: Moment, rules: UserRules, view: View, dataset: Name) -> list[Judged]:
    """Return the verdicts of the columns of a dataset's newest schema; a dropped one has none."""
    number = moment.graph.dataset(dataset)
    if number is not None and number in view.hidden:
        return []
    columns = moment.columns(dataset)
    consumers: dict[str | None, list[str]] = {}
    for consumer in rules.consumers_of(*dataset):
        for key, name in columns.by_key.items():
            if consumer.reads(name):
                consumers.setdefault(key, []).append(consumer.consumer)
    subject = JudgedDataset(number, list(columns.by_key), columns.top_level, consumers, moment.was_read(dataset))
    return judge(moment.graph, subject, view)


def _items(moment: Moment, dataset: Name, judged: list[Judged]) -> Iterator[dict[str, Any]]:
    caveats, readers = _caveats(moment, dataset), _readers(moment, dataset)
    for each in judged:
        times = [moment.stats(number) for number in each.edge_sets]
        used = each.verdict == "used"
        yield {
            **column_json(moment, dataset, each.key),
            "verdict": each.verdict,
            "reason": each.reason,
            "caveats": caveats if each.verdict == "unused" else [],
            "read_by": [job_json(moment.job(job)) for job in _jobs(moment, each.edge_sets)] if used else [],
            "consumers": list(each.consumers),
            "also_read_by": [job_json(moment.job(job)) for job in readers],
            "observed_since": iso(min((each.first_us for each in times), default=None)),
            "last_used": iso(max((each.last_us for each in times), default=None)) if used else None,
        }


def _jobs(moment: Moment, edge_sets: tuple[int, ...]) -> list[Name]:
    return sorted({moment.graph.sets[number][0].job for number in edge_sets})


def _readers(moment: Moment, dataset: Name) -> list[Name]:
    number = moment.graph.dataset(dataset)
    return _jobs(moment, tuple(moment.graph.feeds.get(number, ()))) if number is not None else []


def _caveats(moment: Moment, dataset: Name) -> list[str]:
    """Say what a proof by reported lineage cannot see."""
    found = ["Readers that report no lineage (ad-hoc queries, BI tools) are not seen; declare them as consumers."]
    number = moment.graph.dataset(dataset)
    if number is None or not moment.graph.fed_by.get(number):
        found.append("No reported job writes this dataset: its origin is not known.")
    return found
