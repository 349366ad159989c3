"""Unused columns as an answer: verdict, reason, and what to know before a column goes."""

from collections.abc import Callable, Iterator
from typing import get_args

from headwater.events.times import iso
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules, nothing_hidden
from headwater.lineage.time.counted_edges import CountedEdges
from headwater.lineage.time.snapshot import Snapshot
from headwater.lineage.walks.column_verdicts import ColumnVerdict, VerdictSubject, column_verdicts
from headwater.questions.answers.answer_parts import Job
from headwater.questions.answers.column_answers import Reason, Showing, Unused, Verdict, Verdicts, Word
from headwater.questions.subjects import Subject, find_dataset


def verdicts(
    snapshot: Snapshot,
    rules: UserRules,
    counted: CountedEdges,
    *,
    asked: Subject | None,
    limit: int,
    strict: bool = False,
    hides: Callable[[Name], bool] = nothing_hidden,
) -> Unused:
    """Answer which columns of a dataset, or of all datasets, are used, unused, or neither provably.

    strict: a batch job that read a dataset to show it may have used any of its columns.
    hides: datasets of which no column is listed unless one is asked for; as readers they count.
    """
    there = sorted(snapshot.datasets())
    datasets = [find_dataset(snapshot, rules.names, asked)] if asked else [each for each in there if not hides(each)]
    items: list[Verdict] = []
    counts = dict.fromkeys(get_args(Word), 0)
    reasons: dict[tuple[Word, str], int] = {}
    for dataset in datasets:
        found = dataset_verdicts(snapshot, rules, counted, dataset, strict=strict)
        for each in found:
            counts[each.verdict] += 1
            reasons[each.verdict, each.reason] = reasons.get((each.verdict, each.reason), 0) + 1
        items += _items(snapshot, counted, dataset, found) if len(items) < limit else []
    total = sum(counts.values())
    ordered = sorted(reasons.items(), key=lambda each: (-each[1], each[0]))
    return Unused(
        items[:limit],
        Verdicts(**counts),
        [Reason(verdict, reason, count) for (verdict, reason), count in ordered],
        total,
        0 if asked else len(there) - len(datasets),
        total > limit,
    )


def dataset_verdicts(
    snapshot: Snapshot, rules: UserRules, counted: CountedEdges, dataset: Name, *, strict: bool = False
) -> list[ColumnVerdict]:
    """Return the verdicts of the columns of a dataset's newest schema; a dropped one has none."""
    if not counted.shows_gone and not snapshot.stands(dataset):
        return []
    columns = snapshot.shown_columns(dataset)
    consumers: dict[str | None, list[str]] = {}
    for consumer in rules.consumers_of(*dataset.parts):
        for key, name in columns.by_key.items():
            if consumer.reads(name):
                consumers.setdefault(key, []).append(consumer.consumer)
    numbers = counted.lifetimes.of(dataset)
    newest = counted.lifetimes.standing(dataset)
    subject = VerdictSubject(numbers, newest, columns, consumers, snapshot.was_read(dataset), strict)
    return column_verdicts(snapshot.graph, subject, counted)


def _items(snapshot: Snapshot, counted: CountedEdges, dataset: Name, found: list[ColumnVerdict]) -> Iterator[Verdict]:
    caveats, readers = _caveats(snapshot, counted, dataset), _readers(snapshot, counted, dataset)
    for each in found:
        times = [snapshot.stats(number) for number in each.edge_sets]
        used = each.verdict == "used"
        yield Verdict(
            *dataset.parts,
            snapshot.columns(dataset).shown(each.key),
            each.verdict,
            each.reason,
            [*caveats, *_shown(snapshot, each)] if each.verdict == "unused" else [],
            [Job(*snapshot.job(job).parts) for job in _jobs(snapshot, each.edge_sets)] if used else [],
            each.recreated,
            [
                Showing(Job(*snapshot.job(snapshot.graph.sets[n][0].job).parts), iso(snapshot.stats(n).last_us))
                for n in each.shown
            ],
            list(each.consumers),
            [Job(*snapshot.job(job).parts) for job in readers],
            iso(min((each.first_us for each in times), default=None)),
            iso(max((each.last_us for each in times), default=None)) if used else None,
        )


def _shown(snapshot: Snapshot, verdict: ColumnVerdict) -> list[str]:
    """Name the batch jobs that read a dataset and wrote nothing, and when."""
    told = [
        f"{snapshot.job(snapshot.graph.sets[number][0].job).name} at {iso(snapshot.stats(number).last_us)}"
        for number in verdict.shown
    ]
    return [f"Read and written nowhere, so nobody says which columns were used: {', '.join(told)}."] if told else []


def _jobs(snapshot: Snapshot, edge_sets: tuple[int, ...]) -> list[Name]:
    return sorted({snapshot.graph.sets[number][0].job for number in edge_sets})


def _readers(snapshot: Snapshot, counted: CountedEdges, dataset: Name) -> list[Name]:
    graph = snapshot.graph
    feeds = {number for each in counted.lifetimes.of(dataset) for number in graph.feeds.get(each, ())}
    return _jobs(snapshot, tuple(number for number in feeds if counted.says(number) or counted.reading[number]))


def _caveats(snapshot: Snapshot, counted: CountedEdges, dataset: Name) -> list[str]:
    """Say what a proof by reported lineage cannot see."""
    found = ["Readers that report no lineage (ad-hoc queries, BI tools) are not seen; declare them as consumers."]
    number = counted.lifetimes.newest(dataset)
    if number is None or not snapshot.graph.fed_by.get(number):
        found.append("No reported job writes this dataset: its origin is not known.")
    return found
