"""Facets as sent, custom ones like any other: the newest of each run, job or dataset, straight from bronze."""

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.events.times import iso
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_id_of
from headwater.lineage.runs.newest_first import newest_events_first
from headwater.lineage.runs.sent_facets import SentFacet, read_stored, sent_facets
from headwater.questions.answers.list_answers import FacetItem, Facets

LOOKED_AT = 5_000
"""Newest events (rule 1) that hold a facet of the name asked for; an answer that met this limit says `truncated`."""


def newest_facets(bronze: Bronze, names: NameRules, *, entity: str, name: str, limit: int) -> Facets:
    """Answer the newest value of a facet for each entity (rule 1), newest first; where that is deleted it has none.

    names: canonical forms of datasets; entity: run, job or dataset; name: of the facet, such as `ownership`.
    """
    if not bronze.exists():
        return Facets([], 0, False)
    events = _events_with(bronze, name)
    newest: dict[Name, SentFacet] = {}
    for event_id, received_us, body in events:
        for sent in sent_facets(event_id, received_us, read_stored(body), names.canonical):
            known = newest.get(sent.name)
            if (sent.entity, sent.facet) == (entity, name) and (known is None or known.order < sent.order):
                newest[sent.name] = sent
    items = [_item(sent) for sent in newest.values() if not sent.is_deleted]
    return Facets(items[:limit], len(items), len(items) > limit or len(events) == LOOKED_AT)


def _events_with(bronze: Bronze, name: str) -> list[tuple[str, int, str]]:
    """Return (event id, receipt in us, body) of the newest events that may hold a facet."""
    pattern = name.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_").replace("'", "''")
    rows = bronze.events.query(
        "SELECT event_id, cast(received_at AS bigint) AS received_us, body FROM t "
        f"WHERE body LIKE '%\"{pattern}\"%' ORDER BY {newest_events_first()} LIMIT {LOOKED_AT}"
    ).to_pylist()
    return [(row["event_id"], row["received_us"], row["body"]) for row in rows]


def _item(sent: SentFacet) -> FacetItem:
    shown = {"runId": run_id_of(sent.name.name)} if sent.entity == "run" else sent.name.shown
    return FacetItem(**shown, eventTime=iso(sent.time_us), facet=decode(bytes(sent.value)))


def sql_of_run(bronze: Bronze, run_id: str) -> str | None:
    """Return the SQL text that a run reported; None where it reported none."""
    if not bronze.exists():
        return None
    quoted = run_id.lower().replace("'", "''")
    rows = bronze.events.query(
        f"SELECT body FROM t WHERE lower(run_id) = '{quoted}' AND body LIKE '%\"sql\"%' "
        f"ORDER BY {newest_events_first()} LIMIT 1"
    ).to_pylist()
    return text_at(decode(rows[0]["body"].encode()), "job", "facets", "sql", "query") if rows else None
