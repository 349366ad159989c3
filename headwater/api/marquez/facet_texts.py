"""Facets as texts, passed on as they are, read only where an answer needs what is in them."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Raw

from headwater.api.marquez.java_texts import url_or_none
from headwater.events.decode import decode

T = TypeVar("T")


def raw_facets(facets: Mapping[str, str]) -> dict[str, Raw]:
    """Return facets for an answer, undecoded."""
    return {name: Raw(text.encode()) for name, text in facets.items()}


def text_in(facets: Mapping[str, str], facet: str, member: str, kind: type[T] = str) -> T | None:  # type: ignore[assignment]
    """Return a member of a facet if it is of the kind that it should be."""
    text = facets.get(facet)
    value = decode(text.encode()) if text and f'"{member}"' in text else None
    found = value.get(member) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def url_in(facets: Mapping[str, str], facet: str, member: str) -> str | None:
    """Return a member of a facet that is a URL."""
    return url_or_none(text_in(facets, facet, member))


def schema_fields(facets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the columns of a schema facet at its top level."""
    listed = text_in(facets, "schema", "fields", list) or []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
