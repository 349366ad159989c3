"""What names mean, learnt from a batch: symlinks, drops, renames, and writes where something was dropped or renamed.

It is small beside the events, so it lives on the driver and goes to every worker.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.generations import Change, Span
from headwater.lineage.name import Name
from headwater.lineage.naming import Moment, Naming, bindings_of
from headwater.lineage.part import Part
from headwater.spark.arrow import map_groups
from headwater.spark.happened import BINDING, CHANGES, DROP, HAPPENED, KEYS, WRITE, happened
from headwater.spark.texts import read_parts

Row = tuple[Any, ...]
ByRun = dict[str, list[Row]]


class Stored(Protocol):
    """What silver holds, the batch at hand included."""

    def named(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows (`namespace`, `name`)."""

    def runs(self, run_keys: Iterable[str]) -> DataFrame:
        """Return the keys of runs as rows (`run_key`)."""

    def users(self, spans: Iterable[Span]) -> DataFrame:
        """Return `run_key` of the stored runs that use one of these names, as sent, at such a time."""

    def parts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return rows in the columns `derive.GROUP` of these runs."""


@dataclass
class Learnt:
    """A naming, and what the batch taught it.

    moved: names that mean something else now, and when; rows, gone: of table `bindings`, in the columns `KEYS`.
    """

    naming: Naming
    moved: set[Span]
    rows: list[Row]
    gone: list[Row]


def learn(known: Sequence[Row], parsed: DataFrame, stored: Stored, *, bindings: bool, changes: bool) -> Learnt:
    """Take what a batch says of names, if it says any; `known`: of `bindings` as it was before, the columns `KEYS`."""
    aliases = _by_alias(row for row in known if row[0] == BINDING)
    before = _by_run(row for row in known if row[0] != BINDING)
    naming = _naming(aliases, before)
    fresh, newly_several = _new_bindings(parsed, aliases, stored) if bindings else ([], set())
    moved = {Span(alias) for alias, moment in fresh if naming.bind(alias, moment)}
    moved |= {Span(alias) for alias in newly_several}
    after = before | (_happened(_changing(parsed, before, stored), stored) if changes or before else {})
    moved |= _learn_changes(naming, after)
    after |= _happened(_writing(parsed, naming, moved, stored) - after.keys(), stored)
    moved |= _learn_writes(naming, after)
    after = {run_key: [row for row in rows if _is_kept(naming, row)] for run_key, rows in after.items()}
    rows = [(BINDING, *alias.parts, *location.parts, time_us, None, None) for alias, (time_us, location) in fresh]
    rows += _beyond(after, before)
    return Learnt(naming, moved, rows, _beyond(before, after))


def naming_of(table: DataFrame) -> Naming:
    """Return what the rows of `bindings` say."""
    known = _known(table)
    return _naming(
        _by_alias(row for row in known if row[0] == BINDING), _by_run(row for row in known if row[0] != BINDING)
    )


def _known(table: DataFrame) -> list[Row]:
    return [tuple(row[name] for name in KEYS) for row in table.collect()]


def _naming(aliases: Mapping[Name, Sequence[Moment]], by_run: ByRun) -> Naming:
    naming = Naming()
    for alias, moments in aliases.items():
        for moment in moments:
            naming.bind(alias, moment)
    _learn_changes(naming, by_run)
    _learn_writes(naming, by_run)
    return naming


def _learn_changes(naming: Naming, by_run: ByRun) -> set[Span]:
    """Bind what runs drop and rename anew: a symlink may mean another location now."""
    found: set[Span] = set()
    for run_key, rows in by_run.items():
        changes = sorted((row for row in rows if row[0] in CHANGES), key=lambda row: int(row[7]))
        found.update(naming.set_changes(run_key, [_change(row) for row in changes]))
    return found


def _change(row: Row) -> Change:
    return Change(row[5], Name(row[1], row[2]), None if row[0] == DROP else Name(row[3], row[4]))


def _learn_writes(naming: Naming, by_run: ByRun) -> set[Span]:
    found: set[Span] = set()
    for run_key, rows in by_run.items():
        found.update(naming.set_writes(run_key, [(row[5], Name(row[1], row[2])) for row in rows if row[0] == WRITE]))
    return found


def _is_kept(naming: Naming, row: Row) -> bool:
    """Tell whether a row matters: of what is written only where something was dropped or renamed."""
    name = Name(row[1], row[2])
    if row[0] == WRITE:
        return naming.generations.touches(naming.bound(name, row[5]))
    return row[0] in CHANGES or row[7] is not None or name in _touched(naming, [name])


def _touched(naming: Naming, names: Iterable[Name]) -> set[Name]:
    """Return the names under which something was dropped or renamed."""
    touches = naming.generations.touches
    return {
        name
        for name in names
        if touches(name) or any(touches(location) for _, location in naming.bindings.get(name, ()))
    }


def _beyond(rows: ByRun, known: ByRun) -> list[Row]:
    """Return the rows that are not known."""
    return [row for run_key, own in rows.items() for row in own if row not in known.get(run_key, ())]


def _by_alias(rows: Iterable[Row]) -> dict[Name, list[Moment]]:
    found: dict[Name, list[Moment]] = {}
    for row in rows:
        found.setdefault(Name(row[1], row[2]), []).append((row[5], Name(row[3], row[4])))
    return found


def _by_run(rows: Iterable[Row]) -> ByRun:
    found: ByRun = {}
    for row in rows:
        found.setdefault(row[6], []).append(row)
    return found


def _new_bindings(
    parsed: DataFrame, known: Mapping[Name, Sequence[Moment]], stored: Stored
) -> tuple[list[tuple[Name, Moment]], set[Name]]:
    """Return what has to be learnt, and the names that have had one location until now.

    A name of one location needs one moment only; one of several needs every moment, so that
    latecomers find their place.
    """
    sides = ["namespace", "name", "to_namespace", "to_name"]
    links = parsed.select(F.explode("bindings").alias("link")).select("link.*")
    found = _by_alias((BINDING, *row) for row in links.groupBy(*sides).agg(F.min("time_us")).collect())
    several = {alias for alias, moments in found.items() if len(_locations(moments, known.get(alias, ()))) > 1}
    fresh = {(alias, at) for alias, moments in found.items() if alias not in several | known.keys() for at in moments}
    newly = {alias for alias in several if len(_locations(known.get(alias, ()))) < 2}
    if several:
        same = links.join(F.broadcast(stored.named(several)), ["namespace", "name"])
        told = same.select(*sides, "time_us").distinct().collect()
        fresh |= {(Name(row[0], row[1]), (row[4], Name(row[2], row[3]))) for row in told}
    if newly & known.keys():
        old = stored.parts_of(stored.users(Span(name) for name in newly))
        fresh |= {(alias, at) for part in _parts(old) for alias, at in _bindings(part) if alias in newly}
    return sorted(fresh), newly & known.keys()


def _locations(*several: Iterable[Moment]) -> set[Name]:
    return {location for moments in several for _, location in moments}


def _bindings(part: Part) -> Iterable[tuple[Name, Moment]]:
    for mention in (*part.inputs, *part.outputs):
        for alias, location in bindings_of(mention):
            yield alias, (part.time_us, location)


def _parts(frame: DataFrame) -> Iterable[Part]:
    return (part for row in frame.select("parts").collect() for part in read_parts(row.parts))


def _changing(parsed: DataFrame, known: ByRun, stored: Stored) -> set[str]:
    """Return the runs of a batch that say DROP or RENAME, or of which there is something to know."""
    keys = parsed.where("changes").select("run_key")
    if known:
        keys = keys.unionByName(parsed.select("run_key").join(F.broadcast(stored.runs(known)), "run_key", "left_semi"))
    return {row.run_key for row in keys.distinct().collect()}


def _writing(parsed: DataFrame, naming: Naming, moved: Iterable[Span], stored: Stored) -> set[str]:
    """Return the runs whose writes tell which generation lived: of the batch, and of names that moved."""
    generations, found = naming.generations, set[str]()
    if names := _touched(naming, {*naming.bindings, *generations.touched(), *generations.renamed}):
        outputs = F.explode(F.from_json("written", "ARRAY<ARRAY<STRING>>")).alias("of")
        written = parsed.select("run_key", outputs).selectExpr("run_key", "of[0] AS namespace", "of[1] AS name")
        written = written.join(F.broadcast(stored.named(names)), ["namespace", "name"], "left_semi")
        found.update(row.run_key for row in written.select("run_key").distinct().collect())
    if moved:
        found.update(row.run_key for row in stored.users(moved).collect())
    return found


def _happened(run_keys: Set[str], stored: Stored) -> ByRun:
    """Return what runs drop, rename and write, all that is known of them now."""
    found: ByRun = {run_key: [] for run_key in run_keys}
    if run_keys:  # else table `runs` would be read for nothing
        rows = map_groups(stored.parts_of(stored.runs(run_keys)), "run_key", happened, HAPPENED)
        for row in rows.collect():
            found[row.run_key].append(tuple(row))
    return found
