"""Decode the responses of an account: its assets, or the outcome of a failed request."""

from typing import Any, TypeVar

import msgspec

from headwater.common.http_connection import HttpAnswer
from headwater.sinks.connecting.http_post import failure_outcome
from headwater.sinks.contract.sink_shape import Outcome, retry_all

T = TypeVar("T")


class AtlasEntity(msgspec.Struct, rename="camel"):
    """An entity as Atlas returns it. relationship_attributes: type and guid of related entities, by relationship.

    custom_attributes: attributes that are not part of the type.
    """

    type_name: str
    guid: str
    attributes: dict[str, Any]
    relationship_attributes: dict[str, Any] = {}
    custom_attributes: dict[str, str] | None = None

    @property
    def qualified_name(self) -> str:
        """Return the unique name among entities of the same type."""
        return str(self.attributes.get("qualifiedName", ""))


class FoundAsset(msgspec.Struct, rename="camel"):
    """An asset in a search result."""

    qualified_name: str = ""
    entity_type: str = ""


class AtlasEntities(msgspec.Struct):
    """Assets as Atlas returns them."""

    entities: list[AtlasEntity] = []


class FoundAssets(msgspec.Struct):
    """A search result."""

    value: list[FoundAsset] = []


class RequestFailed(Exception):
    """Ends an attempt, with the response or the reason why there was none."""

    def __init__(self, cause: HttpAnswer | str) -> None:
        super().__init__()
        self._cause = cause

    def outcome(self, count: int) -> Outcome:
        """Return the outcome for `count` payloads."""
        return retry_all(count, self._cause) if isinstance(self._cause, str) else failure_outcome(self._cause, count)


def decoded(answer: HttpAnswer, into: type[T]) -> T:
    """Decode a response; raises RequestFailed."""
    try:
        return msgspec.json.decode(answer.body, type=into)
    except msgspec.DecodeError as error:
        raise RequestFailed(f"Cannot decode its response about assets: {error}.") from error
