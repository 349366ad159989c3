"""Which tagged columns can be read: asked of a Headwater over HTTP, as anybody may ask it (docs/questions.md)."""

import hashlib
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import urlencode

import msgspec
from pydantic import Field

from headwater.errors import Retry
from headwater.sinks.connecting.http_options import Endpoint
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.contract.sink_options import Pause

_T = TypeVar("_T", bound=msgspec.Struct)

_MOST = 10_000
"""Columns that the question answers with at most."""
_MOST_BYTES = 64 << 20
"""Of an answer, whose names may be long; what is cut off is no answer."""


class SurfaceAsked(Endpoint):
    """Where a Headwater answers questions, and what is asked."""

    tags: tuple[str, ...] = Field(("pii",), min_length=1, description="Tags of columns that matter.")
    every: Pause = Field(300.0, ge=1, description="Time between two looks.")


class ExposedBy(msgspec.Struct):
    """The last step on a shortest way to a column, as the question answers with it."""

    namespace: str
    dataset: str
    column: str | None
    job: dict[str, str]
    transformation: dict[str, Any]


class ExposedColumn(msgspec.Struct):
    """A column that can be read, the tagged one whose values it has, and how they come there."""

    namespace: str
    dataset: str
    column: str | None
    source: dict[str, str | None] | None
    via: ExposedBy

    def id_of(self, tag: str) -> str:
        """Return what tells it from others, in whatever case it is written."""
        told = msgspec.json.encode((tag, self.namespace, self.dataset, (self.column or "").casefold()))
        return hashlib.sha256(told).hexdigest()[:16]


class _Item(msgspec.Struct):
    """What of an item tells whether the column has the tag itself; older servers list no such columns."""

    tagged: bool = False


class _SurfaceAnswer(msgspec.Struct):
    items: list[msgspec.Raw]
    truncated: bool


class _UnknownTag(msgspec.Struct):
    nearest: list[str]


class ExposedColumns:
    """A connection to one Headwater."""

    def __init__(self, poster: Poster, url: str, tags: Sequence[str]) -> None:
        """Connect to nothing yet. url: where it is, for messages."""
        self._poster = poster
        self._url = url
        self._tags = tags

    def by_tag(self) -> dict[str, list[ExposedColumn]]:
        """Return the columns that hold a tag's values in the clear, each once: all of them.

        Columns that have the tag themselves are left out: whoever tagged them knows them.
        Raises Retry where it does not answer, or not with all.
        """
        return {tag: self._of(tag) for tag in self._tags}

    def _of(self, tag: str) -> list[ExposedColumn]:
        # In this order, tagged columns are last and take no place from the others.
        asked = urlencode({"tag": tag, "exposure": "exposed", "sort": "-exposure", "limit": _MOST})
        answer = self._poster.ask("GET", f"/api/headwater/v1/surface?{asked}", most=_MOST_BYTES)
        if answer.status == 404 and _reads(answer.body, _UnknownTag) is not None:
            return []  # Headwater says 404 of a tag only if no event that may bring it waits
        found = _reads(answer.body, _SurfaceAnswer) if answer.status == 200 else None
        reached = None if found is None else _untagged(found.items)
        if found is None or reached is None:
            why = answer.body[:200].decode("utf-8", "replace").strip()
            raise Retry(f"{self._url} does not say which columns are exposed, status {answer.status}: {why}")
        if found.truncated and len(reached) == len(found.items):
            raise Retry(
                f"{self._url} has more than {_MOST} exposed columns with the tag {tag!r}: new ones are not told."
            )
        return list({each.id_of(tag): each for each in reached}.values())

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def _untagged(items: list[msgspec.Raw]) -> list[ExposedColumn] | None:
    """Return the items without the tag, None if an item is not one."""
    found = []
    for each in items:
        if (item := _reads(each, _Item)) is None:
            return None
        if not item.tagged:
            if (column := _reads(each, ExposedColumn)) is None:
                return None
            found.append(column)
    return found


def _reads(body: bytes | msgspec.Raw, kind: type[_T]) -> _T | None:
    try:
        return msgspec.json.decode(body, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return None
