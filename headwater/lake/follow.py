"""Bronze as a stream: what stands behind a position, partition by partition."""

from collections.abc import Mapping

from headwater.events.position import Source
from headwater.lake.bronze import Bronze

Progress = Mapping[tuple[str, str], int]
"""(incarnation, partition) → the newest sequence that a consumer has taken."""


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
    by_incarnation: dict[str, dict[str, int]] = {}
    for (incarnation, partition), sequence in progress.items():
        by_incarnation.setdefault(incarnation, {})[partition] = sequence
    cases = [_elsewhere("incarnation", list(by_incarnation))]
    for incarnation, partitions in by_incarnation.items():
        inside = [_elsewhere("partition", list(partitions))]
        inside += [f"(partition = '{name}' AND sequence > {done})" for name, done in partitions.items()]
        cases.append(f"(incarnation = '{incarnation}' AND ({' OR '.join(inside)}))")
    return " OR ".join(cases)


def _elsewhere(column: str, known: list[str]) -> str:
    return "(" + (" AND ".join(f"{column} <> '{name}'" for name in known) or "true") + ")"


def stored_events(bronze: Bronze, source: Source, after: int, until: int) -> list[tuple[str, int, str, int]]:
    """Return (event_id, received_us, body, sequence) of the events of a partition in (after, until], in order."""
    found = bronze.events.query(
        "SELECT event_id, cast(received_at as bigint) AS received_us, body, sequence FROM t "
        f"WHERE log = '{source.log}' AND incarnation = '{source.incarnation}' AND partition = '{source.partition}' "
        f"AND sequence > {after} AND sequence <= {until} ORDER BY sequence"
    )
    columns = [found.column(name).to_pylist() for name in ("event_id", "received_us", "body", "sequence")]
    return list(zip(*columns, strict=True))
