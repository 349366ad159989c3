"""The exposures that dbt declares for a model: dashboards, notebooks and applications that send no events."""

from collections.abc import Iterable
from typing import Any

from headwater.events.rule_facets import text_at
from headwater.index.reading.facets import DescriptiveFacets
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.shown_rules import LinkRule, allowed_link
from headwater.questions.about import decode_facets
from headwater.questions.answer_types.runs import Exposure

_FACET = "dbt_exposures"
_MAX_EXPOSURES = 200


def exposures_of(live: LiveGraph, dataset: Name, links: Iterable[LinkRule]) -> list[Exposure]:
    """Return the exposures in the newest facet `dbt_exposures` of a dataset, sorted by name, at most 200.

    links: rules for hosts that may be linked to.
    """
    facet = decode_facets(DescriptiveFacets(live).dataset_facets(dataset, _FACET)).get(_FACET)
    listed = facet.get("exposures") if isinstance(facet, dict) else None
    rules = tuple(links)
    found = [_to_exposure(each, rules) for each in listed if text_at(each, "name")] if isinstance(listed, list) else []
    return sorted(found, key=lambda each: (each.name, each.id or ""))[:_MAX_EXPOSURES]


def _to_exposure(sent: Any, links: tuple[LinkRule, ...]) -> Exposure:
    address = text_at(sent, "url")
    return Exposure(
        text_at(sent, "unique_id"),
        text_at(sent, "name") or "",
        text_at(sent, "type"),
        address,
        allowed_link(links, address) if address else None,
        text_at(sent, "owner", "name") or text_at(sent, "owner", "email") or text_at(sent, "owner"),
    )
