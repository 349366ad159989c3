"""Reads rows of bronze by run, within a range of receipt times."""

from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec

from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lake.queries import day_of, quote_sql
from headwater.lineage.runs.event_order import newest_events_first_sql
from headwater.lineage.runs.jobs import parse_id_prefix, run_id_of
from headwater.tables import SHAPES

_ROW = (
    "lower(run_id) AS id, event_id, log, incarnation, partition, sequence, event_type, shape, run_facets, versions, "
    "coalesce(cast(event_time AS bigint), cast(received_at AS bigint)) AS time_us, job_namespace, job_name, "
    "producer, parent_run_id, inputs, outputs"
)


class ReceiptWindow(NamedTuple):
    """A range of receipt times [since, until) (us, UTC)."""

    since_us: int
    until_us: int

    @property
    def sql_condition(self) -> str:
        """The SQL condition for rows of `events` that were received in this range."""
        return (
            f"received_date BETWEEN '{day_of(self.since_us)}' AND '{day_of(self.until_us)}' "
            f"AND cast(received_at AS bigint) >= {self.since_us} AND cast(received_at AS bigint) < {self.until_us}"
        )


def complete_run_id(bronze: Bronze, run_id: str) -> str:
    """Return the run id that begins with a text. Returns the text itself if no run id or several begin with it.

    A complete UUID is returned unchanged. For a run key in JSON, `["id","namespace","job"]`, the id in it is returned.
    Raises LakeUnavailable.
    """
    if run_id.startswith('["') and run_id.endswith('"]'):
        with suppress(msgspec.DecodeError):
            return run_id_of(run_id)
    text, is_cut = parse_id_prefix(run_id)
    if not text or len(text) >= _UUID_CHARACTERS:
        return run_id
    fits = f"starts_with(lower(run_id), {quote_sql(text.lower())})"
    own = "" if is_cut else f" AND (length(run_id) = {_UUID_CHARACTERS} OR lower(run_id) = {quote_sql(run_id.lower())})"
    found = bronze.events.run_query(f"SELECT DISTINCT lower(run_id) AS id FROM t WHERE {fits}{own} LIMIT 2")
    ids = found.column("id").to_pylist()
    return str(ids[0]) if len(ids) == 1 else run_id


_UUID_CHARACTERS = 36


def run_page(bronze: Bronze, window: ReceiptWindow, after: str | None, limit: int) -> list[str]:
    """Return the first `limit` lower-case run ids after `after`, sorted. after: None for the first page."""
    found = bronze.events.run_query(
        f"SELECT DISTINCT lower(run_id) AS id FROM t WHERE {_run_condition(window, after)} ORDER BY id LIMIT {limit}"
    )
    return list(found.column("id").to_pylist())


def reported_rows(bronze: Bronze, window: ReceiptWindow, after: str | None, last: str) -> list[dict[str, Any]]:
    """Return the events of the runs with ids in (after, last], without bodies, in order of event time.

    after: None for the first page. last: the last run id of the page from `run_page`.
    """
    where = f"{_run_condition(window, after)} AND lower(run_id) <= {quote_sql(last)}"
    return bronze.events.run_query(f"SELECT {_ROW} FROM t WHERE {where} ORDER BY time_us, event_id").to_pylist()


def shapes_of(bronze: Bronze, shapes: Collection[str]) -> dict[str, dict[str, Any]]:
    """Return rows of table `shapes` by shape hash. shapes: the hashes."""
    if not shapes:
        return {}
    named = ", ".join(map(quote_sql, sorted(shapes)))
    rows = bronze.tables[SHAPES.name].run_query(
        f"SELECT shape, processing_type, run_facets, run_lineage, job_lineage, outputs FROM t WHERE shape IN ({named})"
    )
    return {row["shape"]: row for row in rows.to_pylist()}


def job_bodies_with(bronze: Bronze, window: ReceiptWindow, facet: str) -> list[str]:
    """Return the bodies of JobEvents that may have a facet with this name (one word), oldest first."""
    pattern = facet.replace("_", "\\_")
    rows = bronze.events.run_query(
        f"SELECT body FROM t WHERE event_kind = 'JOB' AND {window.sql_condition} AND body LIKE '%\"{pattern}\"%' "
        "ORDER BY received_at, event_id"
    )
    return list(rows.column("body").to_pylist())


def newest_job_bodies(bronze: Bronze, namespace: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield (job name, body of its newest JobEvent (rule 1)) of the jobs with this name prefix in a namespace.

    No other bodies are read.
    """
    is_it = (
        f"event_kind = 'JOB' AND job_namespace = {quote_sql(namespace)} AND starts_with(job_name, {quote_sql(prefix)})"
    )
    rows = bronze.events.run_query(
        f"SELECT job_name, log, incarnation, partition, sequence FROM t "
        f"WHERE {is_it} ORDER BY {newest_events_first_sql()}"
    ).to_pylist()
    newest = {row["job_name"]: row for row in reversed(rows)}
    places = {name: (row["log"], row["incarnation"], row["partition"], row["sequence"]) for name, row in newest.items()}
    found = events_at(bronze, places.values())
    return ((name, found[place].body) for name, place in sorted(places.items()) if place in found)


def _run_condition(window: ReceiptWindow, after: str | None) -> str:
    behind = f" AND lower(run_id) > {quote_sql(after)}" if after else ""
    return f"event_kind = 'RUN' AND run_id IS NOT NULL AND {window.sql_condition}{behind}"
