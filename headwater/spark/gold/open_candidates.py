"""Decide which candidates the rules need after a batch. Candidates that they need are `open`, others are `closed`."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from msgspec.structs import asdict, replace
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.candidates import REPORTED_LINEAGE, Candidate, JobOutput, candidate_order_key
from headwater.lineage.edges.edge_sets import needed_candidates
from headwater.spark.delta.arrow_rows import Row, map_groups
from headwater.spark.delta.spark_delta import TableFolder
from headwater.spark.silver.candidate_rows import CANDIDATE, COLUMNS, CandidateRow
from headwater.tables import Table

OPEN, CLOSED = "open", "closed"

_COLUMNS = (*CANDIDATE.fields, "part", "fresh")
COUNTED = Table(
    "counted",
    {
        **COLUMNS,
        "gone": "boolean",
        "fresh": "boolean",
        "part": "string",
        "was": "string",
        "recompute": "boolean",
        "repeats_lineage": "boolean",
        "previous_chars": "long",
    },
)
"""Candidates that are new or changed (`fresh`), or that move between `open` and `closed`.

part: `open` or `closed` after the batch. was: the same before the batch; null for a new candidate.
recompute: the history of the candidate's group must be computed again.
repeats_lineage: the batch only repeats the current lineage of the candidate's group.
previous_chars: length of `content` before the batch if the candidate was open then, else 0.
"""


def compare_candidates(folder: TableFolder, stored: DataFrame, changes: DataFrame) -> DataFrame:
    """Compare changed candidates with stored candidates. Returns rows of `COUNTED`.

    stored: stored candidates with their `part`. They must include all open candidates of the outputs in `changes`, and
    the closed candidates of executions with changes and of outputs that lose a candidate.
    changes: new, changed and removed candidates, in the columns `CANDIDATE`.
    """
    old = stored.withColumns(dict.fromkeys(("gone", "replaced", "fresh"), F.lit(False))).select(*_COLUMNS)
    more = {"part": F.lit(None).cast("string"), "fresh": F.lit(True)}
    rows = folder.coalesce_if_small(old.unionByName(changes.withColumns(more).select(*_COLUMNS)))
    return map_groups(rows, "output_key", with_candidate_changes, COUNTED, small=folder.small)


class _GroupedRow(CandidateRow):
    gone: bool
    replaced: bool
    part: str | None
    fresh: bool


_Key = tuple[str, str]


def with_candidate_changes(rows: Sequence[Row]) -> Iterator[Row]:
    """Convert all rows of one output, in the columns `_COLUMNS`, to rows of `COUNTED`."""
    every = [_GroupedRow(*row) for row in rows]
    before = {(row.group_key, row.run_key): row for row in every if not row.fresh}
    changes = {(row.group_key, row.run_key): row for row in every if row.fresh}
    after = {key: row for key, row in (before | changes).items() if not row.gone}
    needed = _keys_of_needed_candidates(after)
    to_recompute = _groups_to_recompute(before, changes)
    repeating = _repeating_groups(before, changes) - to_recompute
    for key, row in (before | changes).items():
        old = before.get(key)
        part = OPEN if key in needed else CLOSED
        if (row.fresh and (old or not row.gone)) or (old and part != old.part):
            changed = replace(old, gone=True, fresh=True) if row.gone and old else row
            yield _counted_row(
                changed, part, old, recompute=key[0] in to_recompute, repeats_lineage=key[0] in repeating
            )


def _counted_row(
    row: _GroupedRow, part: str, old: _GroupedRow | None, *, recompute: bool, repeats_lineage: bool
) -> Row:
    was, previous_chars = (old.part, len(old.content) if old.part == OPEN else 0) if old else (None, 0)
    named = asdict(row) | {
        "part": part,
        "recompute": recompute,
        "was": was,
        "repeats_lineage": repeats_lineage,
        "previous_chars": previous_chars,
    }
    return tuple(named[column] for column in COUNTED.columns)


def _keys_of_needed_candidates(rows: dict[_Key, _GroupedRow]) -> set[_Key]:
    job_outputs: dict[JobOutput, list[Candidate[str]]] = defaultdict(list)
    keys: dict[JobOutput, str] = {}
    for row in rows.values():
        job_output = row.job_output
        job_outputs[job_output].append(row.candidate(row.content))
        keys[job_output] = row.group_key
    return {(keys[job_output], run_key) for job_output, run_key in needed_candidates(job_outputs)}


def _groups_to_recompute(before: dict[_Key, _GroupedRow], changes: dict[_Key, _GroupedRow]) -> set[str]:
    """Return the keys of groups in which a candidate is replaced, removed or not the newest.

    The history of these groups must be computed again. before, changes: by (`group_key`, `run_key`).
    """
    newest: dict[str, int] = {}
    closed_groups = {(row.group_key, row.execution) for row in before.values() if row.part == CLOSED}
    for row in before.values():
        newest[row.group_key] = max(newest.get(row.group_key, row.time_us), row.time_us)
    return {
        group_key
        for (group_key, _), row in changes.items()
        if row.replaced
        or (group_key, row.execution) in closed_groups  # all its candidates may count again for a moment
        or (group_key in newest and row.time_us <= newest[group_key])
    }


def _repeating_groups(before: dict[_Key, _GroupedRow], changes: dict[_Key, _GroupedRow]) -> set[str]:
    """Return the keys of groups in which the changed runs only repeat the current lineage, so that no edge changes.

    Returns none if the output has opaque or declared candidates, or several generations. For such outputs, other
    candidates decide whether a candidate counts.
    """
    standing = [row for row in before.values() if row.part == OPEN]
    rows = [*standing, *changes.values()]
    job_outputs = {row.group_key: row.job_output for row in rows if not row.gone}
    jobs = {(job_output.layer, job_output.job) for job_output in job_outputs.values()}
    newest = _of_newest_executions(standing)
    if len(jobs) < len(job_outputs) or not all(map(_is_observed_lineage, (*newest, *changes.values()))):
        return set()
    return {key for key in job_outputs if _repeats_current_lineage(newest, list(changes.values()), key)}


def _of_newest_executions(rows: Sequence[_GroupedRow]) -> list[_GroupedRow]:
    """Return the rows of each group's newest execution. A repetition does not affect earlier executions."""
    newest: dict[str, _GroupedRow] = {}
    for row in sorted(rows, key=lambda row: candidate_order_key(row.candidate(None))):
        newest[row.group_key] = row
    return [row for row in rows if row.execution == newest[row.group_key].execution]


def _is_observed_lineage(row: _GroupedRow) -> bool:
    plain = row.layer == "observed" and row.weight == REPORTED_LINEAGE and row.dataset_name is not None
    return plain and not (row.asks or row.gone or row.replaced)


def _repeats_current_lineage(standing: Sequence[_GroupedRow], changes: Sequence[_GroupedRow], group_key: str) -> bool:
    current = [row for row in standing if row.group_key == group_key]
    arriving = [row for row in changes if row.group_key == group_key]
    times, landed = {row.time_us for row in arriving}, any(row.landed for row in current)
    same = len({row.content for row in (*current, *arriving)}) == 1
    return (
        bool(current) and same and len(times) == len(arriving) and (landed or not any(row.landed for row in arriving))
    )
