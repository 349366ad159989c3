"""Reads bronze as a stream: the events after a position, by partition."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from headwater.common.garbage_collection import gc_paused
from headwater.events.event import Sent
from headwater.events.position import Source
from headwater.events.stored_cells import SENT, StoredHead, sent_from_cells
from headwater.events.times import AHEAD_US
from headwater.lake.bronze_tables import REMOVED, Bronze
from headwater.lake.events_by_time import EVENT_US, ORDER
from headwater.lake.queries import QueryRows, day_of, quote_sql
from headwater.lake.settling import JUDGED
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_key
from headwater.lineage.runs.run_facts import TERMINAL_TYPES

Progress = Mapping[tuple[str, str], int]
"""The newest sequence that a consumer has processed, by (log epoch, partition)."""


class BronzeEvent(NamedTuple):
    """A stored event without its body. sent: the sent content in columns; None in rows that an older version wrote.

    For such a row, the caller must read the content from the body.
    """

    event_id: str
    received_us: int
    sequence: int
    sent: Sent | None


def sources_ahead(bronze: Bronze, progress: Progress) -> dict[Source, int]:
    """Return the newest sequence of each partition with events that the consumer has not processed.

    Reads no bodies, and skips files without new events by their statistics.
    """
    found = bronze.events.run_query(
        "SELECT log, incarnation, partition, max(sequence) AS head FROM t "
        f"WHERE {_unprocessed_condition(progress)} GROUP BY log, incarnation, partition "
        "ORDER BY min(received_at), partition"
    )
    return {Source(row["log"], row["incarnation"], row["partition"]): row["head"] for row in found.to_pylist()}


def has_lost_events(bronze: Bronze, progress: Progress) -> bool:
    """Whether retention has removed events that a consumer has not processed, because it was stopped for too long.

    This is the case if a partition begins after the consumer's next record, and the records in between are not all
    duplicates or rejected. Partitions without remaining events are ignored.
    """
    found = bronze.events.run_query(
        "SELECT log, incarnation, partition, min(sequence) AS oldest FROM t "
        f"WHERE {_unprocessed_condition(progress)} GROUP BY log, incarnation, partition"
    )
    for row in found.to_pylist():
        source = Source(row["log"], row["incarnation"], row["partition"])
        taken = progress.get((source.epoch, source.partition), 0)
        between = f"{_source_condition(source)} AND sequence > {taken} AND sequence < {row['oldest']}"
        counts = (bronze.tables[name].run_query(f"SELECT count(*) AS n FROM t WHERE {between}") for name in JUDGED)
        known = sum(count.column("n").to_pylist()[0] for count in counts)
        if taken + 1 + known < row["oldest"]:
            return True
    return False


def sources_before(bronze: Bronze, received_us: int) -> dict[Source, int]:
    """Return, by partition, the newest sequence that was received before a time (us, UTC); 0 if there is none."""
    found = bronze.events.run_query(
        "SELECT log, incarnation, partition, max(CASE WHEN cast(received_at AS bigint) < "
        f"{received_us} THEN sequence ELSE 0 END) AS head FROM t GROUP BY log, incarnation, partition"
    )
    return {Source(row["log"], row["incarnation"], row["partition"]): row["head"] for row in found.to_pylist()}


def oldest_ahead_us(bronze: Bronze, progress: Progress) -> int | None:
    """Return when the oldest unprocessed event was received (us, UTC), or None if all events are processed."""
    return count_unprocessed(bronze, progress)[1]


def count_unprocessed(bronze: Bronze, progress: Progress) -> tuple[int, int | None]:
    """Return the number of unprocessed events, and when the oldest of them was received (us, UTC; None without any)."""
    if not bronze.exists():
        return 0, None
    found = bronze.events.run_query(
        f"SELECT count(*) AS n, min(cast(received_at as bigint)) AS us FROM t WHERE {_unprocessed_condition(progress)}"
    )
    return found.column("n")[0].as_py(), found.column("us")[0].as_py()


def count_processed(bronze: Bronze, progress: Progress) -> tuple[str, int]:
    """Return the id of table `events`, and the number of processed rows, including rows that were removed since.

    The number changes only if unprocessed rows are removed, or if the table is restored to an older version. A consumer
    that finds the same number again can therefore continue without missing events. Raises LakeUnavailable.
    """
    table, rows, (removed,) = bronze.events.rows_within(_unprocessed_condition(progress), [REMOVED])
    return table, rows + removed


def _unprocessed_condition(progress: Progress) -> str:
    by_epoch: dict[str, dict[str, int]] = {}
    for (epoch, partition), sequence in progress.items():
        by_epoch.setdefault(epoch, {})[partition] = sequence
    cases = [_other_value_condition("incarnation", list(by_epoch))]
    for epoch, partitions in by_epoch.items():
        inside = [_other_value_condition("partition", list(partitions))]
        inside += [f"(partition = '{name}' AND sequence > {done})" for name, done in partitions.items()]
        cases.append(f"(incarnation = '{epoch}' AND ({' OR '.join(inside)}))")
    return " OR ".join(cases)


def _other_value_condition(column: str, known: list[str]) -> str:
    return "(" + (" AND ".join(f"{column} <> '{name}'" for name in known) or "true") + ")"


def stored_events(bronze: Bronze, source: Source, after: int, until: int) -> list[BronzeEvent]:
    """Return the events of a partition with sequences in (after, until], by ascending sequence."""
    sent = {**SENT, "event_time_us": "cast(event_time as bigint)"}
    found = bronze.events.run_query(
        "SELECT event_id, cast(received_at as bigint) AS received_us, sequence, "
        f"{', '.join(f'{column} AS {name}' for name, column in sent.items())} FROM t "
        f"WHERE {_source_condition(source)} AND sequence > {after} AND sequence <= {until} ORDER BY sequence"
    )
    with gc_paused():
        return _to_events(found, sent)


def _to_events(found: QueryRows, sent: Collection[str]) -> list[BronzeEvent]:
    who, what = ([found.column(name).to_pylist() for name in names] for names in (BronzeEvent._fields[:3], sent))
    return list(map(BronzeEvent, *who, map(sent_from_cells, zip(*what, strict=True))))


_ENDS = ", ".join(f"'{state}'" for state in TERMINAL_TYPES)
_ABOVE = ", ".join(f"{kind}_{name}" for kind in ("parent", "root") for name in ("run_id", "job_namespace", "job_name"))
_HEAD = (
    "sequence, event_id, cast(received_at as bigint) AS received_us, event_kind AS kind, event_type AS state, run_id, "
    "job_namespace, job_name, octet_length(body) AS size"
)


def stored_heads(bronze: Bronze, source: Source, after: int, until: int) -> list[StoredHead]:
    """Return the heads of a partition's events with sequences in (after, until], by ascending sequence."""
    within = f"{_source_condition(source)} AND sequence > {after} AND sequence <= {until}"
    return _to_heads(bronze.events.run_query(f"SELECT {_HEAD} FROM t WHERE {within} ORDER BY sequence"))


def first_sequence_after(bronze: Bronze, source: Source, after: int) -> int | None:
    """Return the lowest sequence of a partition that is greater than `after`, or None if there is none."""
    found = bronze.events.run_query(
        f"SELECT min(sequence) AS first FROM t WHERE {_source_condition(source)} AND sequence > {after}"
    )
    first: int | None = found.column("first")[0].as_py()
    return first


def heads_by_id(bronze: Bronze, event_or_run_id: str, limit: int) -> list[tuple[Source, StoredHead]]:
    """Return the events with this event id or run id, each with its partition, in order of receipt."""
    is_it = f"event_id = {quote_sql(event_or_run_id)} OR run_id = {quote_sql(event_or_run_id)}"
    return _query_heads(bronze, f"{is_it} ORDER BY received_at, sequence LIMIT {limit}")


def newest_heads(
    bronze: Bronze, since_us: int | None, until_us: int | None, limit: int
) -> list[tuple[Source, StoredHead]]:
    """Return the newest events received in [since, until) (us, UTC; None: unbounded), newest first."""
    bounds = [f"cast(received_at AS bigint) >= {since_us}"] if since_us is not None else []
    bounds += [f"cast(received_at AS bigint) < {until_us}"] if until_us is not None else []
    return _query_heads(
        bronze, f"{' AND '.join(bounds) or 'true'} ORDER BY received_at DESC, sequence DESC LIMIT {limit}"
    )


def _query_heads(bronze: Bronze, where: str) -> list[tuple[Source, StoredHead]]:
    found = bronze.events.run_query(f"SELECT {_HEAD}, log, incarnation, partition FROM t WHERE {where}")
    sources = map(Source, *(found.column(each).to_pylist() for each in ("log", "incarnation", "partition")))
    return list(zip(sources, _to_heads(found), strict=True))


def terminal_events_of_runs(bronze: Bronze, run_ids: Collection[str], since_us: int) -> list[tuple[Source, StoredHead]]:
    """Return the terminal events of runs, in order of receipt.

    since_us: a time (us) on the first day (UTC) of receipt that is searched.
    """
    named, ends = (", ".join(map(quote_sql, some)) for some in (run_ids, TERMINAL_TYPES))
    return _query_heads(
        bronze,
        f"received_date >= '{day_of(since_us)}' AND event_type IN ({ends}) AND run_id IN ({named}) "
        "ORDER BY received_at, partition, sequence",
    )


def events_of_runs(
    bronze: Bronze, source: Source, run_ids: Collection[str], *, before: int, since_us: int, limit: int
) -> list[tuple[StoredHead, str]]:
    """Return (head, body) of the events of runs in a partition before a sequence, by ascending sequence.

    since_us: a time (us) on the first day (UTC) of receipt that is searched. limit: the maximum number of events of
    each run; if a run has more, the first and the last `limit // 2` events are returned.
    """
    named = ", ".join(quote_sql(each) for each in run_ids)
    placed = ", ".join(
        f"row_number() OVER (PARTITION BY run_id ORDER BY sequence {way}) AS from_{way}" for way in ("asc", "desc")
    )
    found = bronze.events.run_query(
        f"SELECT * FROM (SELECT {_HEAD}, body, {placed} FROM t WHERE {_source_condition(source)} "
        f"AND sequence < {before} "
        f"AND received_date >= '{day_of(since_us)}' AND run_id IN ({named})) "
        f"WHERE from_asc <= {limit // 2} OR from_desc <= {limit // 2} ORDER BY sequence"
    )
    return list(zip(_to_heads(found), found.column("body").to_pylist(), strict=True))


def heads_by_time(bronze: Bronze, run_ids: Collection[str], since_us: int) -> list[tuple[Source, StoredHead]]:
    """Return the events of runs since an event time (us, UTC), in order of event time."""
    named = ", ".join(map(quote_sql, run_ids))
    return _query_heads(bronze, f"run_id IN ({named}) AND {EVENT_US} >= {since_us} ORDER BY {ORDER}")


def heads_at_sequences(bronze: Bronze, source: Source, sequences: Collection[int]) -> dict[int, StoredHead]:
    """Return the events of a partition with these sequences, by sequence. sequences: at least one."""
    within = " OR ".join(f"sequence BETWEEN {first} AND {last}" for first, last in _to_ranges(sequences))
    found = bronze.events.run_query(
        f"SELECT {_HEAD} FROM t WHERE {_source_condition(source)} "
        f"AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
        f"AND ({within})"
    )
    return {head.sequence: head for head in _to_heads(found)}


class MemberHead(NamedTuple):
    """An event of a run, its source, and the id of the parent run."""

    source: Source
    head: StoredHead
    parent_run_id: str | None


def parent_ids_at_sequences(bronze: Bronze, source: Source, sequences: Collection[int]) -> set[str]:
    """Return the parent run ids of a partition's events from the lowest to the highest of these sequences."""
    return _query_parent_ids(
        bronze, f"{_source_condition(source)} AND sequence BETWEEN {min(sequences)} AND {max(sequences)}"
    )


def parent_ids_received_between(bronze: Bronze, from_us: int, to_us: int) -> set[str]:
    """Return the parent run ids of the events received in (from, to] (us, UTC)."""
    return _query_parent_ids(bronze, _received_condition(from_us, to_us))


def _query_parent_ids(bronze: Bronze, where: str) -> set[str]:
    found = bronze.events.run_query(f"SELECT DISTINCT parent_run_id FROM t WHERE parent_run_id IS NOT NULL AND {where}")
    return set(found.column("parent_run_id").to_pylist())


def silent_runs(bronze: Bronze, since_us: int, until_us: int, silence_us: int) -> list[tuple[str, int]]:
    """Return (run id, time (us, UTC) at which the run became silent) of runs that became silent in (since, until].

    A run without an end event becomes silent `silence_us` after its newest event time, or when its last event arrives
    if that is later. The query reads only recent events, so callers must check for an end event that was received
    earlier.
    """
    time_us, received_us = (f"cast({name} AS bigint)" for name in ("event_time", "received_at"))
    newest = f"coalesce(max(CASE WHEN {time_us} <= {received_us} + {AHEAD_US} THEN {time_us} END), max({time_us}))"
    silent_runs_sql = (
        f"SELECT run_id, {newest} + {silence_us + 1} AS quiet_us, max({received_us}) AS came_us FROM t "
        f"WHERE event_kind = 'RUN' AND {_received_condition(since_us - silence_us - AHEAD_US, until_us)} "
        f"GROUP BY run_id, job_namespace, job_name HAVING count(CASE WHEN event_type IN ({_ENDS}) THEN 1 END) = 0"
    )
    found = bronze.events.run_query(
        f"SELECT run_id, max(greatest(quiet_us, came_us)) AS since_us FROM ({silent_runs_sql}) "
        f"WHERE quiet_us <= {until_us} "
        f"GROUP BY run_id HAVING max(greatest(quiet_us, came_us)) > {since_us}"
    )
    return list(zip(found.column("run_id").to_pylist(), found.column("since_us").to_pylist(), strict=True))


def ends_of_parents_and_roots(bronze: Bronze, run_ids: Collection[str], since_us: int) -> dict[str, list[int]]:
    """Return the known end times (us, UTC) of the parent and the root run of each run, by run id.

    The newest event of a run determines its parent and root run. since_us: a time (us) on the first day (UTC) of
    receipt that is searched.
    """
    named = ", ".join(quote_sql(each) for each in run_ids)
    received = f"received_date >= '{day_of(since_us)}'"
    parents = bronze.events.run_query(
        f"SELECT run_id, {_ABOVE}, max(cast(event_time AS bigint)) AS us FROM t "
        f"WHERE {received} AND run_id IN ({named}) AND coalesce(parent_run_id, root_run_id) IS NOT NULL "
        f"GROUP BY run_id, {_ABOVE} ORDER BY us"
    ).to_pylist()
    above = {
        each["run_id"]: [*_parent_and_root(each)] for each in parents
    }  # sorted by time, so the newest event of a run wins
    ids = sorted({run_id for own in above.values() for run_id, _ in own})
    if not ids:
        return {}
    time_us, received_us = "cast(event_time AS bigint)", "cast(received_at AS bigint)"
    ended = bronze.events.run_query(
        f"SELECT run_id, job_namespace, job_name, max({time_us}) AS us FROM t "
        f"WHERE {received} AND event_type IN ({_ENDS}) "
        f"AND run_id IN ({', '.join(map(quote_sql, ids))}) AND {time_us} <= {received_us} + {AHEAD_US} "
        f"GROUP BY run_id, job_namespace, job_name"
    ).to_pylist()
    ends: dict[str, int] = {}
    for each in ended:
        key = run_key(each["run_id"], Name(each["job_namespace"] or "", each["job_name"] or ""))
        ends[key] = max(each["us"], ends.get(key, 0))
    return {run: [ends[key] for _, key in own if key in ends] for run, own in above.items()}


def _parent_and_root(row: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (run id, run key) of the parent run and of the root run, if the row names them."""
    for kind in ("parent", "root"):
        run_id = row[f"{kind}_run_id"]
        if run_id:
            yield run_id, run_key(run_id, Name(row[f"{kind}_job_namespace"] or "", row[f"{kind}_job_name"] or ""))


def heads_of_runs_and_children(
    bronze: Bronze, run_ids: Collection[str], since_us: int, until_us: int, *, without_children: bool = False
) -> list[MemberHead]:
    """Return the events of runs and of their child runs, in order of receipt.

    since_us: a time (us) on the first day (UTC) of receipt that is searched. until_us: the last time of receipt (us).
    without_children: return only the events of the runs themselves.
    """
    named = ", ".join(quote_sql(each) for each in run_ids)
    of = f"run_id IN ({named})" if without_children else f"(run_id IN ({named}) OR parent_run_id IN ({named}))"
    found = bronze.events.run_query(
        f"SELECT {_HEAD}, log, incarnation, partition, parent_run_id FROM t "
        f"WHERE received_date >= '{day_of(since_us)}' AND cast(received_at AS bigint) <= {until_us} "
        f"AND {of} ORDER BY received_at, partition, sequence"
    )
    sources = map(Source, *(found.column(each).to_pylist() for each in ("log", "incarnation", "partition")))
    return list(map(MemberHead, sources, _to_heads(found), found.column("parent_run_id").to_pylist()))


def _received_condition(from_us: int, to_us: int) -> str:
    return (
        f"received_date BETWEEN '{day_of(from_us)}' AND '{day_of(to_us)}' "
        f"AND cast(received_at AS bigint) > {from_us} AND cast(received_at AS bigint) <= {to_us}"
    )


def stored_bodies(bronze: Bronze, source: Source, sequences: Collection[int]) -> dict[int, str]:
    """Return the bodies of a partition's events, by sequence."""
    if not sequences:
        return {}
    within = " OR ".join(f"sequence BETWEEN {first} AND {last}" for first, last in _to_ranges(sequences))
    found = bronze.events.run_query(
        f"SELECT sequence, body FROM t WHERE {_source_condition(source)} "
        f"AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
        f"AND ({within})"
    )
    return dict(zip(found.column("sequence").to_pylist(), found.column("body").to_pylist(), strict=True))


def _to_ranges(sequences: Collection[int]) -> list[tuple[int, int]]:
    """Convert numbers to inclusive ranges, because a condition with 2,000 numbers takes ten times as long as a read."""
    found: list[tuple[int, int]] = []
    for number in sorted(sequences):
        if found and found[-1][1] == number - 1:
            found[-1] = found[-1][0], number
        else:
            found.append((number, number))
    return found


def _source_condition(source: Source) -> str:
    return f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"


def _to_heads(found: QueryRows) -> list[StoredHead]:
    return list(map(StoredHead, *(found.column(name).to_pylist() for name in StoredHead._fields)))
