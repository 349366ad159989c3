"""Events as bronze has them, by their places."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from headwater.events.decode import decode
from headwater.index.stored.facet_names_table import Place
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import SentFacet, read_stored, sent_facets


class StoredBody(NamedTuple):
    """A row of table `events`; time in us, UTC."""

    event_id: str
    received_us: int
    body: str


def read_events(bronze: Bronze, places: Iterable[Place]) -> dict[Place, StoredBody]:
    """Return events; those that bronze has no more are left out."""
    by_partition: dict[tuple[str, str, str], list[int]] = {}
    for *partition, sequence in places:
        by_partition.setdefault((partition[0], partition[1], partition[2]), []).append(sequence)
    found: dict[Place, StoredBody] = {}
    for (log, epoch, part), sequences in by_partition.items():
        rows = bronze.events.query(
            "SELECT sequence, event_id, cast(received_at AS bigint) AS received_us, body FROM t "
            f"WHERE log = '{log}' AND incarnation = '{epoch}' AND partition = '{part}' "
            f"AND sequence BETWEEN {min(sequences)} AND {max(sequences)} "
            f"AND sequence IN ({','.join(map(str, sequences))})"
        ).to_pylist()
        for row in rows:
            stored = StoredBody(row["event_id"], row["received_us"], row["body"])
            found[log, epoch, part, row["sequence"]] = stored
    return found


def newest_facets(events: Iterable[StoredBody], entity: str) -> dict[str, Any]:
    """Return the facets of a run or job as its events say together: of each the newest value, none that was deleted."""
    newest: dict[str, SentFacet] = {}
    for event in events:
        for sent in sent_facets(event.event_id, event.received_us, read_stored(event.body), Name):
            known = newest.get(sent.facet)
            if sent.entity == entity and (known is None or known.order < sent.order):
                newest[sent.facet] = sent
    return {facet: decode(bytes(sent.value)) for facet, sent in newest.items() if not sent.is_deleted}
