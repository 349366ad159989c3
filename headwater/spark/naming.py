"""Symlinks and renames, learnt from a batch: small, so they live on the driver and go to every worker."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.name import Name
from headwater.lineage.naming import Moment, Naming, Rename, bindings_of, bound_renames, sent_renames
from headwater.lineage.part import Part
from headwater.spark.texts import read_parts
from headwater.tables import BINDINGS

BINDING, RENAME, PENDING = "binding", "rename", "pending"
KEYS = tuple(name for name in BINDINGS.columns if name not in ("batch", "rules_hash"))

Row = tuple[Any, ...]


class Stored(Protocol):
    """What silver holds, the batch at hand included."""

    def named(self, names: Iterable[Name]) -> DataFrame:
        """Return names as rows (`namespace`, `name`)."""

    def users(self, names: Iterable[Name]) -> DataFrame:
        """Return `run_key` of the stored runs that use one of these names, as sent."""

    def parts_of(self, run_keys: DataFrame) -> DataFrame:
        """Return rows with `parts` and `contents` of these runs."""


@dataclass
class Learnt:
    """A naming, and what the batch taught it.

    moved: names that mean something else now; rows, gone: of table `bindings`, in the columns `KEYS`.
    """

    naming: Naming
    moved: set[Name]
    rows: list[Row]
    gone: list[Row]


def learn(table: DataFrame, parsed: DataFrame, stored: Stored, *, bindings: bool, renames: bool) -> Learnt:
    """Take the symlinks and renames of a batch, if it has any; `table`: `bindings` as it was before."""
    known = _known(table)
    aliases = _by_alias(row for row in known if row[0] == BINDING)
    before = _renames(row for row in known if row[0] != BINDING)
    naming = _naming(aliases, before)
    fresh, newly_several = _new_bindings(parsed, aliases, stored) if bindings else ([], set())
    moved = {alias for alias, moment in fresh if naming.bind(alias, moment)} | newly_several
    renaming = _renaming_runs(parsed, before, stored) if renames or before else {}
    after = before | {key: sent_renames(parts) for key, parts in renaming.items()}
    for run_key, sent in after.items():
        moved |= naming.set_renames(run_key, bound_renames(sent, naming))
    rows = [(BINDING, *alias, *location, time_us, None, None) for alias, (time_us, location) in fresh]
    rows += [row for run_key, sent in after.items() if sent != before.get(run_key) for row in _rows(run_key, sent)]
    gone = [row for row in known if row[0] != BINDING and after[row[6]] != before[row[6]]]
    return Learnt(naming, moved, rows, [row for row in gone if row not in rows])


def naming_of(table: DataFrame) -> Naming:
    """Return what the rows of `bindings` say."""
    known = _known(table)
    return _naming(
        _by_alias(row for row in known if row[0] == BINDING), _renames(row for row in known if row[0] != BINDING)
    )


def _known(table: DataFrame) -> list[Row]:
    return [tuple(row[name] for name in KEYS) for row in table.collect()]


def _naming(aliases: Mapping[Name, Sequence[Moment]], renames: Mapping[str, list[Rename]]) -> Naming:
    naming = Naming()
    for alias, moments in aliases.items():
        for moment in moments:
            naming.bind(alias, moment)
    for run_key, sent in renames.items():
        naming.set_renames(run_key, bound_renames(sent, naming))
    return naming


def _by_alias(rows: Iterable[Row]) -> dict[Name, list[Moment]]:
    found: dict[Name, list[Moment]] = {}
    for row in rows:
        found.setdefault(Name(row[1], row[2]), []).append((row[5], Name(row[3], row[4])))
    return found


def _renames(rows: Iterable[Row]) -> dict[str, list[Rename]]:
    """Return by run what it renames; a run that is not COMPLETE is there, too, without."""
    found: dict[str, list[Rename]] = {}
    for row in sorted(rows, key=lambda row: row[7]):
        sent = found.setdefault(row[6], [])
        if row[0] == RENAME:
            sent.append((row[5], Name(row[1], row[2]), Name(row[3], row[4])))
    return found


def _rows(run_key: str, sent: Sequence[Rename]) -> list[Row]:
    if not sent:
        return [(PENDING, "", "", "", "", 0, run_key, 0)]
    return [(RENAME, *old, *new, time_us, run_key, place) for place, (time_us, old, new) in enumerate(sent)]


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
        old = stored.parts_of(stored.users(newly))
        fresh |= {(alias, at) for part in _parts(old) for alias, at in _bindings(part) if alias in newly}
    return sorted(fresh), newly & known.keys()


def _locations(*several: Iterable[Moment]) -> set[Name]:
    return {location for moments in several for _, location in moments}


def _bindings(part: Part) -> Iterable[tuple[Name, Moment]]:
    for mention in (*part.inputs, *part.outputs):
        for alias, location in bindings_of(mention):
            yield alias, (part.time_us, location)


def _renaming_runs(parsed: DataFrame, known: Mapping[str, object], stored: Stored) -> dict[str, list[Part]]:
    renaming = F.col("renames") | F.col("run_key").isin(sorted(known)) if known else F.col("renames")
    keys = parsed.where(renaming).select("run_key").distinct()
    found: dict[str, list[Part]] = {}
    if not keys.isEmpty():  # else table `runs` would be read for nothing
        for part in _parts(stored.parts_of(keys)):
            found.setdefault(part.run_key, []).append(part)
    return found


def _parts(frame: DataFrame) -> Iterable[Part]:
    return (part for row in frame.select("parts").collect() for part in read_parts(row.parts))
