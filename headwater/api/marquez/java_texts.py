"""Make texts readable for Marquez's Java client, which rejects a whole list for one invalid URL, URI or time."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from urllib.parse import quote

_URL = re.compile(r"(?i)(https?|ftp|file)://([^/?#@]*@)?(\[[^]]*]|[^/?#:@[]*)(:[0-9]{0,5})?(?=[/?#]|\Z)")
_PART = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@/?\-]|%[0-9A-Fa-f]{2})*"
_LEGAL = re.compile(rf"{_PART}(?:#{_PART})?")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:(?!\Z|#|//(?:\Z|[?#]))")
_IN_UTC = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,9})?)?Z")


def url_or_none(text: str | None) -> str | None:
    """Return the text if Java's class `URL` accepts it, else None."""
    return text if text and _URL.match(text) else None


@lru_cache(4096)
def uri_text(text: str) -> str:
    """Return the text if it is a URI (RFC 2396), else its percent-encoded form."""
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
