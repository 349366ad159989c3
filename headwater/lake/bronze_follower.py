"""Bronze as a stream: what stands behind a position, partition by partition."""

from collections.abc import Collection, Mapping
from typing import NamedTuple

from headwater.events.event import Sent
from headwater.events.position import Source
from headwater.events.stored_cells import SENT, sent_of
from headwater.lake.bronze_tables import Bronze

Progress = Mapping[tuple[str, str], int]
"""(incarnation, partition) → the newest sequence that a consumer has taken."""


class BronzeEvent(NamedTuple):
    """An event as bronze has it, without its body; sent: None in rows of older versions, whose body alone says it."""

    event_id: str
    received_us: int
    sequence: int
    sent: Sent | None


def sources_ahead(bronze: Bronze, progress: Progress) -> dict[Source, int]:
    """Return, for each partition that holds more than the consumer has taken, its newest sequence.

    Reads no body, and by the statistics of the files only those that hold something new.
    """
    found = bronze.events.query(
        "SELECT log, incarnation, partition, max(sequence) AS head FROM t "
        f"WHERE {_ahead(progress)} GROUP BY log, incarnation, partition ORDER BY min(received_at), partition"
    )
    return {Source(row["log"], row["incarnation"], row["partition"]): row["head"] for row in found.to_pylist()}


def oldest_ahead_us(bronze: Bronze, progress: Progress) -> int | None:
    """Return when the oldest event was received that the consumer has not taken (us), None if it has all."""
    if not bronze.exists():
        return None
    found = bronze.events.query(f"SELECT min(cast(received_at as bigint)) AS us FROM t WHERE {_ahead(progress)}")
    oldest: int | None = found.column("us")[0].as_py()
    return oldest


def _ahead(progress: Progress) -> str:
    by_epoch: dict[str, dict[str, int]] = {}
    for (epoch, partition), sequence in progress.items():
        by_epoch.setdefault(epoch, {})[partition] = sequence
    cases = [_elsewhere("incarnation", list(by_epoch))]
    for epoch, partitions in by_epoch.items():
        inside = [_elsewhere("partition", list(partitions))]
        inside += [f"(partition = '{name}' AND sequence > {done})" for name, done in partitions.items()]
        cases.append(f"(incarnation = '{epoch}' AND ({' OR '.join(inside)}))")
    return " OR ".join(cases)


def _elsewhere(column: str, known: list[str]) -> str:
    return "(" + (" AND ".join(f"{column} <> '{name}'" for name in known) or "true") + ")"


def stored_events(bronze: Bronze, source: Source, after: int, until: int) -> list[BronzeEvent]:
    """Return the events of a partition in (after, until], in order."""
    sent = {**SENT, "event_time_us": "cast(event_time as bigint)"}
    found = bronze.events.query(
        "SELECT event_id, cast(received_at as bigint) AS received_us, sequence, "
        f"{', '.join(f'{column} AS {name}' for name, column in sent.items())} FROM t "
        f"WHERE {_of(source)} AND sequence > {after} AND sequence <= {until} ORDER BY sequence"
    )
    columns = [found.column(name).to_pylist() for name in ("event_id", "received_us", "sequence", *sent)]
    rows = zip(*columns, strict=True)
    return [BronzeEvent(event, received_us, number, sent_of(cells)) for event, received_us, number, *cells in rows]


def stored_bodies(bronze: Bronze, source: Source, sequences: Collection[int]) -> dict[int, str]:
    """Return the bodies of events of a partition by sequence."""
    if not sequences:
        return {}
    found = bronze.events.query(
        f"SELECT sequence, body FROM t WHERE {_of(source)} AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
        f"AND sequence IN ({', '.join(map(str, sequences))})"
    )
    return dict(zip(found.column("sequence").to_pylist(), found.column("body").to_pylist(), strict=True))


def _of(source: Source) -> str:
    return f"log = '{source.log}' AND incarnation = '{source.epoch}' AND partition = '{source.partition}'"
