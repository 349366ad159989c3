"""Which candidates count, once those of a batch have come: few stay `open`, all others are history and `closed`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict, replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.current_candidates import CARRIES, Candidate, JobOutput, newness
from headwater.lineage.edges.edge_sets import that_matter
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.candidate_rows import CANDIDATE, COLUMNS, CandidateRow
from headwater.tables import Table

OPEN, CLOSED = "open", "closed"

_COLUMNS = (*CANDIDATE.fields, "part", "fresh")
COUNTED = Table(
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
"""Candidates that are new or other than before (`fresh`), or that come to count or count no more.

part, was: where they belong, and where they were; late: their group does not simply go on; quiet: it says what it said.
"""


def count(folder: TableFolder, stored: DataFrame, changes: DataFrame) -> DataFrame:
    """Hold new candidates against those that are stored.

    stored: candidates with their `part` that may matter: all open ones of the outputs that change, and of the closed
    ones those of executions that say something new, and of outputs that lose a candidate.
    """
    old = stored.withColumns(dict.fromkeys(("gone", "replaced", "fresh"), F.lit(False))).select(*_COLUMNS)
    more = {"part": F.lit(None).cast("string"), "fresh": F.lit(True)}
    rows = folder.few(old.unionByName(changes.withColumns(more).select(*_COLUMNS)))
    return map_groups(rows, "output_key", counted, COUNTED, small=folder.small)


class _GroupedRow(CandidateRow):
    gone: bool
    replaced: bool
    part: str | None
    fresh: bool


_Key = tuple[str, str]


def counted(rows: Sequence[Row]) -> Iterator[Row]:
    """Take all rows of one output in the columns `_COLUMNS`; yield rows of `COUNTED`."""
    every = [_GroupedRow(*row) for row in rows]
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
            yield _counted(whole, part, old.part if old else None, late=key[0] in late, quiet=key[0] in quiet)


def _counted(row: _GroupedRow, part: str, was: str | None, *, late: bool, quiet: bool) -> Row:
    named = asdict(row) | {"part": part, "late": late, "was": was, "quiet": quiet}
    return tuple(named[column] for column in COUNTED.columns)


def _that_matter(rows: dict[_Key, _GroupedRow]) -> set[_Key]:
    job_outputs: dict[JobOutput, list[Candidate[str]]] = defaultdict(list)
    keys: dict[JobOutput, str] = {}
    for row in rows.values():
        job_output = row.job_output
        job_outputs[job_output].append(row.candidate(row.content))
        keys[job_output] = row.group_key
    return {(keys[job_output], run_key) for job_output, run_key in that_matter(job_outputs)}


def _late(before: dict[_Key, _GroupedRow], changes: dict[_Key, _GroupedRow]) -> set[str]:
    """Return the groups that do not simply go on: a candidate is replaced, taken back, or not the newest."""
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


def _quiet(before: dict[_Key, _GroupedRow], changes: dict[_Key, _GroupedRow]) -> set[str]:
    """Return the groups in which runs only say once more what stands, as recurring ones do: no edge changes by that.

    None where anything about the output is opaque, declared or of several generations: there candidates count by each
    other.
    """
    standing = [row for row in before.values() if row.part == OPEN]
    rows = [*standing, *changes.values()]
    job_outputs = {row.group_key: row.job_output for row in rows if not row.gone}
    jobs = {(job_output.layer, job_output.job) for job_output in job_outputs.values()}
    newest = _of_newest_executions(standing)
    if len(jobs) < len(job_outputs) or not all(map(_is_plain, (*newest, *changes.values()))):
        return set()
    return {key for key in job_outputs if _says_again(newest, list(changes.values()), key)}


def _of_newest_executions(rows: Sequence[_GroupedRow]) -> list[_GroupedRow]:
    """Return the rows of each group's newest execution; what earlier ones said stays as it is."""
    newest: dict[str, _GroupedRow] = {}
    for row in sorted(rows, key=lambda row: newness(row.candidate(None))):
        newest[row.group_key] = row
    return [row for row in rows if row.execution == newest[row.group_key].execution]


def _is_plain(row: _GroupedRow) -> bool:
    plain = row.layer == "observed" and row.weight == CARRIES and row.dataset_name is not None
    return plain and not (row.asks or row.gone or row.replaced)


def _says_again(standing: Sequence[_GroupedRow], changes: Sequence[_GroupedRow], group_key: str) -> bool:
    stands = [row for row in standing if row.group_key == group_key]
    comes = [row for row in changes if row.group_key == group_key]
    times, landed = {row.time_us for row in comes}, any(row.landed for row in stands)
    same = len({row.content for row in (*stands, *comes)}) == 1
    return bool(stands) and same and len(times) == len(comes) and (landed or not any(row.landed for row in comes))
