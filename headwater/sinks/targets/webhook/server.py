"""Query a Headwater server for exposed columns and broken contracts.

See docs/reference/questions.md and docs/how-to/analytics-engineer/contracts.md.
"""

import hashlib
from collections.abc import Sequence
from typing import Any

import msgspec
from pydantic import Field

from headwater.common.errors import Retry
from headwater.sinks.connecting.headwater_answers import (
    MAX_ITEMS,
    decode_answer,
    request_list,
    request_question,
    unreadable_answer,
)
from headwater.sinks.connecting.http import Endpoint, Poster
from headwater.sinks.interface.options import Pause


class HeadwaterServer(Endpoint):
    """The address of a Headwater server, and what to query."""

    tags: tuple[str, ...] = Field(("pii",), min_length=1, description="Tags of the columns to watch.")
    every: Pause = Field(300.0, ge=1, description="Time between two queries.")


class ExposingStep(msgspec.Struct):
    """The last step of a shortest path to a column, as in the server's response."""

    namespace: str
    dataset: str
    column: str | None
    job: dict[str, str]
    transformation: dict[str, Any]


class ExposedColumn(msgspec.Struct):
    """A column that can be read, the tagged column whose values it contains, and the path between them."""

    namespace: str
    dataset: str
    column: str | None
    source: dict[str, str | None] | None
    via: ExposingStep

    def id_with_tag(self, tag: str) -> str:
        """Return an id that distinguishes the column from others; upper and lower case are the same column."""
        identity = msgspec.json.encode((tag, self.namespace, self.dataset, (self.column or "").casefold()))
        return hashlib.sha256(identity).hexdigest()[:16]


class _Item(msgspec.Struct):
    """tagged: whether the column itself has the tag; older servers omit this member and do not list such columns."""

    tagged: bool = False


class _SurfaceAnswer(msgspec.Struct):
    items: list[msgspec.Raw]
    truncated: bool


class _UnknownTag(msgspec.Struct):
    nearest: list[str]


class ExposedColumnsClient:
    """Requests exposed columns from one Headwater server."""

    def __init__(self, poster: Poster, url: str, tags: Sequence[str]) -> None:
        """url: address of the server, for error messages. tags: tags of the columns to request."""
        self._poster = poster
        self._url = url
        self._tags = tags

    def fetch_by_tag(self) -> dict[str, list[ExposedColumn]]:
        """Return, for each tag, all columns that contain the tag's values unmasked, without repeats.

        Columns that have the tag themselves are left out, because the person who set the tag knows these columns.
        Raises Retry if there is no response or it is incomplete.
        """
        return {tag: self._fetch_for_tag(tag) for tag in self._tags}

    def _fetch_for_tag(self, tag: str) -> list[ExposedColumn]:
        # With this order tagged columns are last, so they do not displace other columns.
        query = {"tag": tag, "exposure": "exposed", "sort": "-exposure"}
        answer = request_question(self._poster, "surface", query)
        if answer.status == 404 and decode_answer(answer.body, _UnknownTag) is not None:
            return []  # Headwater returns 404 for a tag only if no unread event could contain it
        found = decode_answer(answer.body, _SurfaceAnswer) if answer.status == 200 else None
        reached = None if found is None else _parse_untagged(found.items)
        if found is None or reached is None:
            raise unreadable_answer(self._url, "exposed columns", answer)
        if found.truncated and len(reached) == len(found.items):
            raise Retry(
                f"{self._url} has more than {MAX_ITEMS} exposed columns with the tag {tag!r}, "
                "so no notices about new ones are sent."
            )
        return list({each.id_with_tag(tag): each for each in reached}.values())

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def _parse_untagged(items: list[msgspec.Raw]) -> list[ExposedColumn] | None:
    """Return the columns that do not have the tag themselves, or None if an item cannot be read."""
    found = []
    for each in items:
        if (item := decode_answer(each, _Item)) is None:
            return None
        if not item.tagged:
            if (column := decode_answer(each, ExposedColumn)) is None:
                return None
            found.append(column)
    return found


class ContractBreach(msgspec.Struct):
    """A broken promise and its cause, as in the server's response."""

    kind: str
    dataset: str
    column: str | None
    message: str
    run: str | None
    time: str | None
    job: dict[str, str] | None
    warning: bool = False


class BrokenContract(msgspec.Struct):
    """A contract file with broken promises."""

    file: str
    dataset: str | None
    version: str | None
    state: str
    breaks: list[ContractBreach]

    @property
    def id(self) -> str:
        """Return an id that distinguishes the contract from others."""
        return hashlib.sha256(f"contract {self.file}".encode()).hexdigest()[:16]


class _ContractsAnswer(msgspec.Struct):
    items: list[BrokenContract]
    truncated: bool


class BrokenContractsClient:
    """Requests broken contracts from one Headwater server."""

    def __init__(self, poster: Poster, url: str) -> None:
        """url: address of the server, for error messages."""
        self._poster, self._url = poster, url

    def fetch_broken(self) -> list[BrokenContract]:
        """Return all broken contracts; raises Retry if there is no response or it is incomplete."""
        query = {"sort": "state"}
        found = request_list(self._poster, self._url, "contracts", query, _ContractsAnswer, content="broken contracts")
        broken = [each for each in found.items if each.state == "broken"]
        if found.truncated and len(broken) == len(found.items):  # broken contracts are listed first
            raise Retry(
                f"{self._url} has more than {MAX_ITEMS} broken contracts, so no notices about new ones are sent."
            )
        return broken

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()
