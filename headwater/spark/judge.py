"""Which votes count, once those of a batch have come: few stay `open`, all others are history and `closed`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict, replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.current import CARRIES, Group, Vote
from headwater.lineage.outcome import that_matter
from headwater.spark.arrow import Row, map_groups
from headwater.spark.delta import Folder
from headwater.spark.votes import COLUMNS, VOTE, VoteRow
from headwater.tables import Table

OPEN, CLOSED = "open", "closed"

_COLUMNS = (*VOTE.fields, "part", "fresh")
JUDGED = Table(
    "judged",
    {
        **COLUMNS,
        "gone": "boolean",
        "fresh": "boolean",
        "part": "string",
        "was": "string",
        "late": "boolean",
        "quiet": "boolean",
    },
)
"""Votes that are new or other than before (`fresh`), or that come to count or count no more.

part, was: where they belong, and where they were; late: their group does not simply go on; quiet: it says what it said.
"""


def judge(folder: Folder, stored: DataFrame, changes: DataFrame) -> DataFrame:
    """Hold new votes against those that are stored.

    stored: votes with their `part` that may matter: all open ones of the outputs that change, and of the closed ones
    those of executions that say something new, and of outputs that lose a vote.
    """
    old = stored.withColumns(dict.fromkeys(("gone", "replaced", "fresh"), F.lit(False))).select(*_COLUMNS)
    more = {"part": F.lit(None).cast("string"), "fresh": F.lit(True)}
    rows = folder.few(old.unionByName(changes.withColumns(more).select(*_COLUMNS)))
    return map_groups(rows, "output_key", judged, JUDGED, small=folder.small)


class _Row(VoteRow):
    gone: bool
    replaced: bool
    part: str | None
    fresh: bool


_Key = tuple[str, str]


def judged(rows: Sequence[Row]) -> Iterator[Row]:
    """Take all rows of one output in the columns `_COLUMNS`; yield rows of `JUDGED`."""
    every = [_Row(*row) for row in rows]
    before = {(row.group_key, row.run_key): row for row in every if not row.fresh}
    changes = {(row.group_key, row.run_key): row for row in every if row.fresh}
    after = {key: row for key, row in (before | changes).items() if not row.gone}
    matter = _that_matter(after)
    late = _late(before, changes)
    quiet = _quiet(before, changes) - late
    for key, row in (before | changes).items():
        old = before.get(key)
        part = OPEN if key in matter else CLOSED
        if (row.fresh and (old or not row.gone)) or (old and part != old.part):
            whole = replace(old, gone=True, fresh=True) if row.gone and old else row
            yield _judged(whole, part, old.part if old else None, late=key[0] in late, quiet=key[0] in quiet)


def _judged(row: _Row, part: str, was: str | None, *, late: bool, quiet: bool) -> Row:
    named = asdict(row) | {"part": part, "late": late, "was": was, "quiet": quiet}
    return tuple(named[column] for column in JUDGED.columns)


def _that_matter(rows: dict[_Key, _Row]) -> set[_Key]:
    groups: dict[Group, list[Vote[None]]] = defaultdict(list)
    keys: dict[Group, str] = {}
    for row in rows.values():
        group = row.group
        groups[group].append(row.vote(None))
        keys[group] = row.group_key
    borrowed = {key for key, row in rows.items() if row.borrowed}  # found by their dataset when its schema comes
    return borrowed | {(keys[group], run_key) for group, run_key in that_matter(groups)}


def _late(before: dict[_Key, _Row], changes: dict[_Key, _Row]) -> set[str]:
    """Return the groups that do not simply go on: a vote is replaced, taken back, or not newer than those known."""
    newest: dict[str, int] = {}
    past = {(row.group_key, row.execution) for row in before.values() if row.part == CLOSED}
    for row in before.values():
        newest[row.group_key] = max(newest.get(row.group_key, row.time_us), row.time_us)
    return {
        group_key
        for (group_key, _), row in changes.items()
        if row.replaced
        or (group_key, row.execution) in past  # it may count again for a moment only, with all that it ever said
        or (group_key in newest and row.time_us <= newest[group_key])
    }


def _quiet(before: dict[_Key, _Row], changes: dict[_Key, _Row]) -> set[str]:
    """Return the groups in which runs only say once more what stands, as recurring ones do: no edge changes by that.

    None where anything about the output is opaque, declared or of several generations: there votes count by each other.
    """
    standing = [row for row in before.values() if row.part == OPEN]
    rows = [*standing, *changes.values()]
    groups = {row.group_key: row.group for row in rows if not row.gone}
    jobs = {(group.layer, group.job) for group in groups.values()}
    if len(jobs) < len(groups) or not all(map(_is_plain, rows)):
        return set()
    return {key for key in groups if _says_again(standing, list(changes.values()), key)}


def _is_plain(row: _Row) -> bool:
    plain = row.layer == "observed" and row.weight == CARRIES and row.dataset_name is not None
    return plain and not (row.asks or row.borrowed or row.gone or row.replaced)


def _says_again(standing: Sequence[_Row], changes: Sequence[_Row], group_key: str) -> bool:
    stands = [row for row in standing if row.group_key == group_key]
    comes = [row for row in changes if row.group_key == group_key]
    times, landed = {row.time_us for row in comes}, any(row.landed for row in stands)
    same = len({row.content for row in (*stands, *comes)}) == 1
    return bool(stands) and same and len(times) == len(comes) and (landed or not any(row.landed for row in comes))
