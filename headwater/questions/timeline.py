"""When the lineage of a dataset changed: which edges appeared and ended, at what time, and by which job."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from headwater.events.times import iso
from headwater.index.live import LiveGraph
from headwater.index.packing import unpack_edges
from headwater.index.run_numbers import NEWEST_VOTE
from headwater.index.vote_table import VOTE
from headwater.lineage.current import Vote
from headwater.lineage.edges import Contribution
from headwater.lineage.history import History, Spell
from headwater.lineage.name import Name
from headwater.lineage.names import NameRules
from headwater.questions.asking import Subject, find_dataset
from headwater.questions.showing import column_json, dataset_json, job_json

LOOKED_AT = 5_000
"""Newest runs of a job that are looked at; where there are more, the answer says `truncated`."""

_VOTES = (
    f"SELECT {VOTE} FROM votes v JOIN run_keys k ON k.id = v.run WHERE v.grp = ? "
    f"ORDER BY {NEWEST_VOTE} LIMIT {LOOKED_AT + 1}"
)

_JOB_OF = "SELECT r.job_key FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"

_Line = tuple[Name, str | None, str | None]
"""Source, its column, and the column it goes into; None between whole tables, and where it shapes all columns."""


class _Change(NamedTuple):
    time_us: int
    change: str
    job: Name
    line: _Line | None


def timeline(live: LiveGraph, rules: NameRules, asked: Subject, *, since_us: int | None, limit: int) -> dict[str, Any]:
    """Answer what changed in what feeds a dataset, newest first; raises NotKnown for a dataset nobody knows."""
    dataset = find_dataset(live, rules, asked)
    found: list[_Change] = []
    cut = False
    query = "SELECT id, layer, job FROM groups WHERE output = ?"
    numbers = [number for each in live.names.generations(dataset) if (number := live.names.known(each)) is not None]
    groups = [row for number in numbers for row in live.sql.execute(query, (number,)).fetchall()]
    for group, layer, job in groups:
        rows = live.sql.execute(_VOTES, (group,))
        votes: list[Vote[Sequence[int]]] = [Vote._make((*row[:-1], row[-1:])) for row in rows]
        whole = len(votes) <= LOOKED_AT
        cut = cut or not whole
        found.extend(_changes(live, live.names.name(job), layer, votes[:LOOKED_AT], whole=whole))
    found.extend(_drops(live, dataset))
    shown = [change for change in found if since_us is None or change.time_us >= since_us]
    shown.sort(key=lambda change: (-change.time_us, change.change, change.job, _sortable(change.line)))
    return {
        "dataset": dataset_json(dataset),
        "items": [_item(live, dataset, change) for change in shown[:limit]],
        "totalCount": len(shown),
        "truncated": cut or len(shown) > limit,
    }


def _changes(
    live: LiveGraph, job: Name, layer: str, votes: list[Vote[Sequence[int]]], *, whole: bool
) -> Iterator[_Change]:
    """Yield what changed between one run and the next; what the oldest says is new only if no run was left out."""
    history: History[int] = History(layer)
    history.add(votes)
    spells = [*history.ended, *history.standing]
    times = sorted({time for spell in spells for time in (spell.since_us, spell.until_us) if time is not None})
    before: set[_Line] = set()
    lines: dict[int, frozenset[_Line]] = {}
    for number, time_us in enumerate(times):
        after = _lines(live, (spell for spell in spells if _counts(spell, time_us)), lines)
        if number or whole:
            yield from (_Change(time_us, "appeared", job, line) for line in after - before)
            yield from (_Change(time_us, "ended", job, line) for line in before - after)
        before = after


def _drops(live: LiveGraph, dataset: Name) -> Iterator[_Change]:
    for time_us, run in live.naming.generations.ends(dataset):
        row = live.sql.execute(_JOB_OF, (run,)).fetchone()
        if row and live.naming.generations.changed_by(run, dataset, "DROP") == time_us:
            yield _Change(time_us, "dropped", live.names.name(row[0]), None)


def _counts(spell: Spell[int], time_us: int) -> bool:
    return spell.since_us <= time_us and (spell.until_us is None or time_us < spell.until_us)


def _lines(live: LiveGraph, spells: Iterable[Spell[int]], known: dict[int, frozenset[_Line]]) -> set[_Line]:
    found: set[_Line] = set()
    for spell in spells:
        if spell.edge not in known:
            row = live.sql.execute("SELECT value FROM edges WHERE edge_set = ?", (spell.edge,)).fetchone()
            known[spell.edge] = frozenset(_lines_of(unpack_edges(row[0])))
        found |= known[spell.edge]
    return found


def _lines_of(said: Contribution) -> Iterator[_Line]:
    if said.carries:
        return ((edge.source, edge.column, edge.target) for edge in said.edges)
    return ((source, None, None) for source in said.tables)


def _sortable(line: _Line | None) -> tuple[Name, str, str]:
    return (line[0], line[1] or "", line[2] or "") if line else (Name("", ""), "", "")


def _item(live: LiveGraph, dataset: Name, change: _Change) -> dict[str, Any]:
    source = None if change.line is None else column_json(live, change.line[0], change.line[1])
    return {
        "time": iso(change.time_us),
        "change": change.change,
        "job": job_json(live.job(change.job)),
        "from": source,
        "to": column_json(live, dataset, None if change.line is None else change.line[2]),
    }
