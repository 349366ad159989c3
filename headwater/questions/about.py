"""Descriptions, owners, code locations and tags of datasets, jobs and runs, as producers send them."""

from collections.abc import Iterable, Mapping
from typing import Any

from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.lineage.runs.run_facts import Tag
from headwater.questions.answer_types.health import About, AboutTag, CodeSource, Owner

_MAX_ITEMS = 100
"""Maximum number of owners or tags in an answer."""


def about_from_facets(facets: Mapping[str, Any], tags: Iterable[Tag] = ()) -> About:
    """Return the description, owners, code location and tags in decoded facets.

    facets: maps facet names to decoded facets. tags: the current tags of a dataset. If there are any, they replace the
    tags in the `tags` facet.
    """
    sent_tags = _items_of_facet(facets, "tags", "tags")
    code = facets.get("sourceCodeLocation")
    url = text_at(code, "url") or text_at(code, "repoUrl")
    keys = [AboutTag(tag.key, tag.value) for tag in tags if tag.column is None] or [
        AboutTag(key, text_at(each, "value") or "") for each in sent_tags if (key := text_at(each, "key"))
    ]
    return About(
        text_at(facets.get("documentation"), "description"),
        owners_in_facets(facets),
        CodeSource(url, *(text_at(code, name) for name in ("type", "path", "version"))) if url else None,
        keys[:_MAX_ITEMS],
    )


def owners_in_facets(facets: Mapping[str, Any]) -> list[Owner]:
    """Return the owners in the facet `ownership` of a job or dataset. facets: maps facet names to decoded facets."""
    owners = _items_of_facet(facets, "ownership", "owners")
    return [Owner(name, text_at(each, "type")) for each in owners[:_MAX_ITEMS] if (name := text_at(each, "name"))]


def decode_facets(facets: Mapping[str, str]) -> dict[str, Any]:
    """Decode the JSON texts of facets, by facet name."""
    return {name: decode(text.encode()) for name, text in facets.items()}


def _items_of_facet(facets: Mapping[str, Any], facet: str, member: str) -> list[Any]:
    value = facets.get(facet)
    listed = value.get(member) if isinstance(value, dict) else None
    return listed if isinstance(listed, list) else []
