"""Unused columns as an answer: verdict, reason, and what to know before a column goes."""

from collections.abc import Iterator
from typing import get_args

from headwater.events.times import iso
from headwater.lineage.name import Name
from headwater.lineage.snapshot import Snapshot
from headwater.lineage.unused import Judged, judge
from headwater.lineage.unused import Subject as JudgedDataset
from headwater.lineage.user_rules import UserRules
from headwater.lineage.view import View
from headwater.questions.answers.columns import Reason, Showing, Unused, Verdict, Verdicts, Word
from headwater.questions.answers.parts import Job
from headwater.questions.asking import Subject, find_dataset


def verdicts(
    moment: Snapshot, rules: UserRules, view: View, *, asked: Subject | None, limit: int, strict: bool = False
) -> Unused:
    """Answer which columns of a dataset, or of all datasets, are used, unused, or neither provably.

    strict: a batch job that read a dataset to show it may have used any of its columns.
    """
    datasets = [find_dataset(moment, rules.names, asked)] if asked else sorted(moment.datasets())
    items: list[Verdict] = []
    counts = dict.fromkeys(get_args(Word), 0)
    reasons: dict[tuple[Word, str], int] = {}
    for dataset in datasets:
        judged = judge_dataset(moment, rules, view, dataset, strict=strict)
        for each in judged:
            counts[each.verdict] += 1
            reasons[each.verdict, each.reason] = reasons.get((each.verdict, each.reason), 0) + 1
        items += _items(moment, view, dataset, judged) if len(items) < limit else []
    total = sum(counts.values())
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    return Unused(
        items[:limit],
        Verdicts(**counts),
        [Reason(verdict, reason, count) for (verdict, reason), count in ordered],
        total,
        total > limit,
    )


def judge_dataset(
    moment: Snapshot, rules: UserRules, view: View, dataset: Name, *, strict: bool = False
) -> list[Judged]:
    """Return the verdicts of the columns of a dataset's newest schema; a dropped one has none."""
    if not view.shows_gone and not moment.stands(dataset):
        return []
    columns = moment.shown_columns(dataset)
    consumers: dict[str | None, list[str]] = {}
    for consumer in rules.consumers_of(*dataset.parts):
        for key, name in columns.by_key.items():
            if consumer.reads(name):
                consumers.setdefault(key, []).append(consumer.consumer)
    numbers = view.lifetimes.of(dataset)
    newest = view.lifetimes.standing(dataset)
    subject = JudgedDataset(numbers, newest, columns, consumers, moment.was_read(dataset), strict)
    return judge(moment.graph, subject, view)


def _items(moment: Snapshot, view: View, dataset: Name, judged: list[Judged]) -> Iterator[Verdict]:
    caveats, readers = _caveats(moment, view, dataset), _readers(moment, view, dataset)
    for each in judged:
        times = [moment.stats(number) for number in each.edge_sets]
        used = each.verdict == "used"
        yield Verdict(
            *dataset.parts,
            moment.columns(dataset).shown(each.key),
            each.verdict,
            each.reason,
            [*caveats, *_shown(moment, each)] if each.verdict == "unused" else [],
            [Job(*moment.job(job).parts) for job in _jobs(moment, each.edge_sets)] if used else [],
            each.recreated,
            [
                Showing(Job(*moment.job(moment.graph.sets[n][0].job).parts), iso(moment.stats(n).last_us))
                for n in each.shown
            ],
            list(each.consumers),
            [Job(*moment.job(job).parts) for job in readers],
            iso(min((each.first_us for each in times), default=None)),
            iso(max((each.last_us for each in times), default=None)) if used else None,
        )


def _shown(moment: Snapshot, judged: Judged) -> list[str]:
    """Name the batch jobs that read a dataset and wrote nothing, and when."""
    told = [
        f"{moment.job(moment.graph.sets[number][0].job).name} at {iso(moment.stats(number).last_us)}"
        for number in judged.shown
    ]
    return [f"Read and written nowhere, so nobody says which columns were used: {', '.join(told)}."] if told else []


def _jobs(moment: Snapshot, edge_sets: tuple[int, ...]) -> list[Name]:
    return sorted({moment.graph.sets[number][0].job for number in edge_sets})


def _readers(moment: Snapshot, view: View, dataset: Name) -> list[Name]:
    graph = moment.graph
    feeds = {number for each in view.lifetimes.of(dataset) for number in graph.feeds.get(each, ())}
    return _jobs(moment, tuple(number for number in feeds if view.says(number) or view.reading[number]))


def _caveats(moment: Snapshot, view: View, dataset: Name) -> list[str]:
    """Say what a proof by reported lineage cannot see."""
    found = ["Readers that report no lineage (ad-hoc queries, BI tools) are not seen; declare them as consumers."]
    number = view.lifetimes.newest(dataset)
    if number is None or not moment.graph.fed_by.get(number):
        found.append("No reported job writes this dataset: its origin is not known.")
    return found
