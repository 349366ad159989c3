"""Which votes count, once those of a batch have come: few stay `open`, all others are history and `closed`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.current import Group, Vote
from headwater.lineage.name import Name
from headwater.lineage.outcome import that_matter
from headwater.spark.arrow import Row, map_groups
from headwater.spark.derive import VOTE
from headwater.tables import EDGE_SETS, Table, without

OPEN, CLOSED = "open", "closed"

COLUMNS = (*VOTE.fields, "part", "voted", "change")
JUDGED = Table(
    "judged",
    {**without(EDGE_SETS, "batch", "rules_hash"), "was": "string"},
)
"""Rows of `edge_sets` that are new or other than before; `was`: the part where they were."""


def judge(stored: DataFrame, changes: DataFrame, batch: int) -> DataFrame:
    """Hold new votes against those that are stored.

    stored: rows of `edge_sets` that may matter: all open ones of the outputs that change, and of the closed ones
    those of executions that say something new, and of outputs that lose a vote.
    """
    old = stored.withColumns({"replaced": F.lit(False), "change": F.lit(False)}).select(*COLUMNS)
    more = {"part": F.lit(None).cast("string"), "voted": F.lit(batch), "change": F.lit(True)}
    rows = old.unionByName(changes.withColumns(more).select(*COLUMNS))
    return map_groups(rows, "output_key", judged, JUDGED)


class _Row(NamedTuple):
    group_key: str
    output_key: str
    run_key: str
    execution: str
    layer: str
    job_namespace: str
    job_name: str
    dataset_namespace: str | None
    dataset_name: str | None
    generation: str | None
    time_us: int
    tie: str
    started_us: int
    last_us: int
    weight: int
    landed: bool
    rewrites: bool
    borrowed: bool
    asks: str | None
    kin: str | None
    retracted: bool
    content: str
    replaced: bool
    part: str | None
    voted: int
    change: bool

    @property
    def group(self) -> Group:
        output = None
        if self.dataset_name is not None:
            output = Name(self.dataset_namespace or "", self.dataset_name, self.generation or "")
        return Group(self.layer, Name(self.job_namespace, self.job_name), output)

    @property
    def vote(self) -> Vote[None]:
        return Vote(
            self.time_us, self.tie, self.run_key, self.execution, self.started_us, self.last_us, self.weight,
            self.landed, self.rewrites, None,
        )  # fmt: skip


_Key = tuple[str, str]


def judged(rows: Sequence[Row]) -> Iterator[Row]:
    """Take all rows of one output in the columns `COLUMNS`; yield rows of `JUDGED`."""
    every = [_Row(*row) for row in rows]
    before = {(row.group_key, row.run_key): row for row in every if not row.change}
    changes = {(row.group_key, row.run_key): row for row in every if row.change}
    after = {key: row for key, row in (before | changes).items() if not row.retracted}
    matter = _that_matter(after)
    late = _late(before, changes)
    for key, row in (before | changes).items():
        old = before.get(key)
        whole = old._replace(retracted=True, voted=row.voted) if row.retracted and old else row
        part = OPEN if key in matter else CLOSED
        if (row.change and (old or not row.retracted)) or (old and part != old.part):
            yield _judged(whole, part, old.part if old else None, late=key[0] in late)


def _judged(row: _Row, part: str, was: str | None, *, late: bool) -> Row:
    named = row._asdict() | {"part": part, "late": late, "was": was}
    return tuple(named[column] for column in JUDGED.columns)


def _that_matter(rows: dict[_Key, _Row]) -> set[_Key]:
    groups: dict[Group, list[Vote[None]]] = defaultdict(list)
    keys: dict[Group, str] = {}
    for row in rows.values():
        group = row.group
        groups[group].append(row.vote)
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
