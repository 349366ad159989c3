"""Facets as JSON texts. They are passed on without decoding, unless an answer needs one of their members."""

from collections.abc import Mapping
from typing import Any, TypeVar

from msgspec import Raw

from headwater.api.marquez.java_texts import url_or_none
from headwater.events.decode import decode

T = TypeVar("T")


def raw_facets(facets: Mapping[str, str]) -> dict[str, Raw]:
    """Return facets for an answer without decoding them."""
    return {name: Raw(text.encode()) for name, text in facets.items()}


def text_in(facets: Mapping[str, str], facet: str, member: str, kind: type[T] = str) -> T | None:  # type: ignore[assignment]
    """Return a member of a facet; None if it is missing or not of the type `kind`."""
    text = facets.get(facet)
    value = decode(text.encode()) if text and f'"{member}"' in text else None
    found = value.get(member) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def url_in(facets: Mapping[str, str], facet: str, member: str) -> str | None:
    """Return a member of a facet; None if it is not a URL."""
    return url_or_none(text_in(facets, facet, member))


def schema_fields(facets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the top-level columns of a schema facet."""
    listed = text_in(facets, "schema", "fields", list) or []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]
