"""Texts in answers: facets as JSON, and forms that Marquez's Java client can parse.

Answers contain facets without decoding them, unless an answer needs a member. The Java client rejects a whole list for
one invalid URL, URI or time.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import quote

from msgspec import Raw

from headwater.events.decode import decode

T = TypeVar("T")

_URL = re.compile(r"(?i)(https?|ftp|file)://([^/?#@]*@)?(\[[^]]*]|[^/?#:@[]*)(:[0-9]{0,5})?(?=[/?#]|\Z)")
_PART = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\-]|%[0-9A-Fa-f]{2})*"
_LEGAL = re.compile(rf"{_PART}(?:#{_PART})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!\Z|#|//(?:\Z|[?#]))")
_IN_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?Z")


def raw_facets(facets: Mapping[str, str]) -> dict[str, Raw]:
    """Return facets for an answer without decoding them."""
    return {name: Raw(text.encode()) for name, text in facets.items()}


def text_in(facets: Mapping[str, str], facet: str, member: str, kind: type[T] = str) -> T | None:  # type: ignore[assignment]
    """Return a member of a facet, None if the member is missing or not of the type `kind`."""
    text = facets.get(facet)
    value = decode(text.encode()) if text and f'"{member}"' in text else None
    found = value.get(member) if isinstance(value, dict) else None
    return found if isinstance(found, kind) else None


def url_in(facets: Mapping[str, str], facet: str, member: str) -> str | None:
    """Return a member of a facet, None if the member is missing or not a URL."""
    return url_or_none(text_in(facets, facet, member))


def schema_fields(facets: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return the top-level columns of a schema facet."""
    listed = text_in(facets, "schema", "fields", list) or []
    return [each for each in listed if isinstance(each, dict) and isinstance(each.get("name"), str)]


def url_or_none(text: str | None) -> str | None:
    """Return the text if Java's class `URL` accepts it, else None."""
    return text if text and _URL.match(text) else None


@lru_cache(4096)
def uri_text(text: str) -> str:
    """Return the text if it is a URI (RFC 2396), otherwise the percent-encoded text."""
    first = re.split("[/?#]", text, maxsplit=1)[0]
    is_uri = _LEGAL.fullmatch(text) and (_SCHEME.match(text) if ":" in first else not text.startswith("//"))
    return text if is_uri else quote(text.encode("utf-8", "replace"), safe="")


def utc_text(text: object) -> str | None:
    """Return a time in UTC with `Z`; None if it is not a time. A time without a zone is in UTC."""
    if not isinstance(text, str):
        return None
    if _IN_UTC.fullmatch(text):
        return text
    try:
        sent = datetime.fromisoformat(text)
        moment = sent.replace(tzinfo=UTC) if sent.tzinfo is None else sent.astimezone(UTC)
    except (ValueError, OverflowError):
        return None
    return moment.replace(tzinfo=None).isoformat() + "Z"
