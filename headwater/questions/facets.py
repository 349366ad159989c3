"""The question `facets`: the newest value of any facet for each run, job or dataset, read from bronze."""

from collections.abc import Iterable
from typing import Any

from headwater.common.paging import ListPage, RowOrder
from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.events.times import iso_time
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import StoredBody, events_with_member, newest_event_with_member
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_id_of
from headwater.lineage.runs.sent_facets import SentFacet, parse_stored_event, sent_facets
from headwater.questions.answer_types.lists import FacetItem, Facets

MAX_EVENTS = 5_000
"""Maximum number of events with the facet that are read, newest first. Beyond this limit, the answer is `truncated`."""


def newest_facets(bronze: Bronze, names: NameRules, *, entity: str, name: str, page: ListPage) -> Facets:
    """Answer the newest value of a facet for each entity (rule 1), newest first, without deleted values.

    names: rules for canonical names. entity: `run`, `job` or `dataset`. name: name of the facet, such as `ownership`.
    For datasets, this includes input and output facets, such as `subset`.
    """
    if not bronze.exists():
        return Facets([], totalCount=0, truncated=False, next=None)
    events = events_with_member(bronze, name, MAX_EVENTS)
    newest: dict[Name, SentFacet] = {}
    for event_id, received_us, body in events:
        for sent in sent_facets(
            event_id,
            received_us,
            parse_stored_event(body),
            names.canonical_in_event,
            names.canonical_job,
            has_run_specific_facets=True,
        ):
            known = newest.get(sent.name)
            if (sent.entity, sent.facet) == (entity, name) and (known is None or known.order < sent.order):
                newest[sent.name] = sent
    result = _ORDER.page((sent for sent in newest.values() if not sent.is_deleted), page)
    result = result._replace(is_partial=len(events) == MAX_EVENTS)
    return Facets([_to_facet_item(sent) for sent in result.rows], **result.info)


_ORDER = RowOrder[SentFacet](
    "facets",
    {
        "order": lambda sent: sent.order, "eventTime": lambda sent: sent.time_us,
        "namespace": lambda sent: sent.name.namespace, "name": lambda sent: sent.name.name,
    },
    "-order",
    lambda sent: sent.name.parts,
    ties=2,
    texts=lambda sent: (*sent.name.parts, bytes(sent.value).decode()),
)  # fmt: skip


def _to_facet_item(sent: SentFacet) -> FacetItem:
    shown = {"runId": run_id_of(sent.name.name)} if sent.entity == "run" else sent.name.as_json
    return FacetItem(**shown, eventTime=iso_time(sent.time_us), facet=decode(bytes(sent.value)))


def sql_of_run(bronze: Bronze, run_id: str) -> str | None:
    """Return the SQL that a run reported; None if the run reported no SQL."""
    if not bronze.exists():
        return None
    body = newest_event_with_member(bronze, run_id, "sql")
    return text_at(decode(body.encode()), "job", "facets", "sql", "query") if body else None


def merge_facets(events: Iterable[StoredBody], entity: str) -> dict[str, Any]:
    """Return the newest value of each facet of a run or job, by facet name, without deleted facets.

    events: all events of the run or job. entity: `run` or `job`.
    """
    newest: dict[str, SentFacet] = {}
    for event in events:
        for sent in sent_facets(event.event_id, event.received_us, parse_stored_event(event.body), lambda *_: Name):
            known = newest.get(sent.facet)
            if sent.entity == entity and (known is None or known.order < sent.order):
                newest[sent.facet] = sent
    return {facet: decode(bytes(sent.value)) for facet, sent in newest.items() if not sent.is_deleted}
