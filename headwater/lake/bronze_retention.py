"""Retention of bronze by age: deletes whole days of events, then the rows of other tables to which no event refers."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

from headwater.events.position import Source
from headwater.lake.bronze_tables import REMOVED, Bronze
from headwater.tables import COLUMN_LINEAGE, EVENTS, HASHED, REJECTED, SCHEMAS, SHAPES, VALUES
from headwater.tables.bronze import REMOVED_BEFORE

BLANKED = ("http", "body")
"""Columns of `rejected` with sent content. Retention sets them to null, and keeps the rows for the audit's counts."""

_SIDES = ("inputs", "outputs")
_NAMED_BY_EVENTS = (
    "shape",
    "lineage_hashes[]",
    *(f"{s}[].{n}" for s in _SIDES for n in ("schema_hash", "lineage_hash")),
)
_OF_SHAPES = ("schema", "lineage", "declared", "facets[].content_hash")
_NAMED_BY_SHAPES = (
    "run_lineage", "job_lineage", "job_facets[].content_hash", *(f"{s}[].{n}" for s in _SIDES for n in _OF_SHAPES)
)  # fmt: skip
_AT_ONCE = 10_000


def delete_old_events(bronze: Bronze, keep_days: int) -> None:
    """Delete events older than `keep_days` days, and blank the sent content of rejected requests. Idempotent.

    keep_days: days to keep events, or 0 to keep all. Must exceed the dedupe window of two days, because duplicates are
    found in these rows. The index, silver, gold and sinks keep what they derived from deleted events. Raises
    LakeUnavailable.
    """
    if not (keep_days and bronze.exists()):
        return
    day = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=keep_days)
    bronze.events.delete(
        f"received_date < CAST('{day.date()}' AS DATE)",
        count_transaction=REMOVED,
        transactions={REMOVED_BEFORE: int(day.timestamp()) * 1_000_000},
    )
    rejected = bronze.tables[REJECTED.name]
    old = f"cast(received_at AS bigint) < {int(day.timestamp())}000000 AND body IS NOT NULL"
    if rejected.run_query(f"SELECT count(*) AS n FROM t WHERE {old}").column("n")[0].as_py():
        rejected.set_to_null(BLANKED, old)


def remove_unreferenced(bronze: Bronze, sources: list[Source]) -> int:
    """Delete schemas, lineage, shapes and facets to which no event refers. Returns the number of deleted hashes.

    No process may write to bronze meanwhile. Afterwards, every writer must reload its known hashes, because it does not
    write rows with known hashes. Does nothing if a batch is incomplete, because the rows of a batch are committed
    before its events. sources: all partitions of the log.
    """
    if not bronze.exists() or _is_batch_incomplete(bronze, sources):
        return 0
    gone = 0
    for table, column in reversed(HASHED):  # shapes first, because other rows are referenced only by shapes
        used = set(_referenced_hashes(bronze, EVENTS.name, _NAMED_BY_EVENTS))
        used.update(_referenced_hashes(bronze, SHAPES.name, _NAMED_BY_SHAPES))
        rows = (
            bronze.tables[table.name].run_query(f"SELECT DISTINCT {column} AS hash FROM t").column("hash").to_pylist()
        )
        unnamed = sorted(set(rows) - used)
        for start in range(0, len(unnamed), _AT_ONCE):
            listed = ", ".join(f"'{each}'" for each in unnamed[start : start + _AT_ONCE])
            bronze.tables[table.name].delete(f"{column} IN ({listed})")
        gone += len(unnamed)
    return gone


def _is_batch_incomplete(bronze: Bronze, sources: list[Source]) -> bool:
    apps = [source.app_id for source in sources]
    done = bronze.events.watermarks(apps)
    tables = (COLUMN_LINEAGE, SCHEMAS, VALUES, SHAPES)
    marks = (bronze.tables[table.name].watermarks(apps) for table in tables)
    return any(mark > end for table in marks for mark, end in zip(table, done, strict=True))


def _referenced_hashes(bronze: Bronze, table: str, paths: tuple[str, ...]) -> Iterator[str]:
    """Yield the hashes at these paths of a table, such as `inputs[].facets[].content_hash`."""
    for path in paths:
        *lists, last = path.split("[]")
        found, at = "t", ""
        for column in lists:
            found, at = f"(SELECT unnest({_nested_path_sql(at, column)}) AS d FROM {found})", "d"
        sql = f"SELECT DISTINCT {_nested_path_sql(at, last)} AS hash FROM {found}"
        yield from filter(None, bronze.tables[table].run_query(sql).column("hash").to_pylist())


def _nested_path_sql(at: str, member: str) -> str:
    name = member.removeprefix(".")
    return f"{at}['{name}']" if at and name else at or name
