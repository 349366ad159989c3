"""When the lineage of a dataset changed: which edges appeared and ended, at what time, and by which job."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from headwater.events.times import iso
from headwater.index.run_history import LOOKED_AT, RunHistory
from headwater.lineage.current import Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.history import History, Spell
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.lineage.snapshot import Snapshot
from headwater.questions.answers.lineage import Timeline, TimelineItem
from headwater.questions.answers.parts import Dataset, Job
from headwater.questions.asking import Subject, find_dataset
from headwater.questions.showing import shown_column

_Line = tuple[Name, str | None, str | None]
"""Source, its column, and the column it goes into; None between whole tables, and where it shapes all columns."""


class _Change(NamedTuple):
    time_us: int
    change: Literal["appeared", "ended", "dropped"]
    job: Name
    line: _Line | None


def timeline(
    now: Snapshot, runs: RunHistory, rules: NameRules, asked: Subject, *, since_us: int | None, limit: int
) -> Timeline:
    """Answer what changed in what feeds a dataset, newest first; raises NotKnown for a dataset nobody knows."""
    dataset = find_dataset(now, rules, asked)
    found: list[_Change] = []
    cut = False
    for layer, job, votes in runs.votes(dataset):
        whole = len(votes) <= LOOKED_AT
        cut = cut or not whole
        found.extend(_changes(runs, job, layer, votes[:LOOKED_AT], whole=whole))
    found.extend(_drops(now, runs, dataset))
    shown = [change for change in found if since_us is None or change.time_us >= since_us]
    shown.sort(key=lambda change: (-change.time_us, change.change, change.job, _sortable(change.line)))
    items = [_item(now, dataset, change) for change in shown[:limit]]
    return Timeline(Dataset(*dataset.parts), items, len(shown), cut or len(shown) > limit)


def _changes(
    runs: RunHistory, job: Name, layer: str, votes: list[Vote[Sequence[int]]], *, whole: bool
) -> Iterator[_Change]:
    """Yield what changed between one run and the next; what the oldest says is new only if no run was left out."""
    history: History[int] = History(layer)
    history.add(votes)
    spells = [*history.ended, *history.standing]
    times = sorted({time for spell in spells for time in (spell.since_us, spell.until_us) if time is not None})
    before: set[_Line] = set()
    lines: dict[int, frozenset[_Line]] = {}
    for number, time_us in enumerate(times):
        after = _lines(runs, (spell for spell in spells if _counts(spell, time_us)), lines)
        if number or whole:
            yield from (_Change(time_us, "appeared", job, line) for line in after - before)
            yield from (_Change(time_us, "ended", job, line) for line in before - after)
        before = after


def _drops(now: Snapshot, runs: RunHistory, dataset: Name) -> Iterator[_Change]:
    for time_us, run in now.naming.generations.ends(dataset):
        job = runs.job_of(run)
        if job and now.naming.generations.changed_by(run, dataset, "DROP") == time_us:
            yield _Change(time_us, "dropped", job, None)


def _counts(spell: Spell[int], time_us: int) -> bool:
    return spell.since_us <= time_us and (spell.until_us is None or time_us < spell.until_us)


def _lines(runs: RunHistory, spells: Iterable[Spell[int]], known: dict[int, frozenset[_Line]]) -> set[_Line]:
    found: set[_Line] = set()
    for spell in spells:
        if spell.edge not in known:
            known[spell.edge] = frozenset(_lines_of(runs.said(spell.edge)))
        found |= known[spell.edge]
    return found


def _lines_of(said: Contribution) -> Iterator[_Line]:
    if said.carries:
        return ((edge.source, edge.column, edge.target) for edge in said.edges)
    return ((source, None, None) for source in said.tables)


def _sortable(line: _Line | None) -> tuple[Name, str, str]:
    return (line[0], line[1] or "", line[2] or "") if line else (Name("", ""), "", "")


def _item(now: Snapshot, dataset: Name, change: _Change) -> TimelineItem:
    source, column, target = change.line or (None, None, None)
    return TimelineItem(
        iso(change.time_us) or "",
        change.change,
        Job(*now.job(change.job).parts),
        None if source is None else shown_column(now, source, column),
        shown_column(now, dataset, target),
    )
