"""What an account answers, read: its assets, or why it does not take what it is told."""

from typing import Any, TypeVar

import msgspec

from headwater.sinks.connecting.http_post import failure
from headwater.sinks.connecting.kept_connection import HttpAnswer
from headwater.sinks.contract.sink_shape import Outcome, whole_again

T = TypeVar("T")


class AtlasEntity(msgspec.Struct, rename="camel"):
    """An entity as Atlas gives it back; of what refers to it: type and guid, by the name of the relationship.

    custom_attributes: what others than its type say of it.
    """

    type_name: str
    guid: str
    attributes: dict[str, Any]
    relationship_attributes: dict[str, Any] = {}
    custom_attributes: dict[str, str] | None = None

    @property
    def qualified_name(self) -> str:
        """By what it is known among those of its type."""
        return str(self.attributes.get("qualifiedName", ""))


class FoundAsset(msgspec.Struct, rename="camel"):
    """What a search says of an asset."""

    qualified_name: str = ""
    entity_type: str = ""


class AtlasEntities(msgspec.Struct):
    """Assets as Atlas gives them back."""

    entities: list[AtlasEntity] = []


class FoundAssets(msgspec.Struct):
    """What a search finds."""

    value: list[FoundAsset] = []


class NotTaken(Exception):
    """Ends an attempt: what was answered, or why nothing was."""

    def __init__(self, said: HttpAnswer | str) -> None:
        super().__init__()
        self._said = said

    def outcome(self, count: int) -> Outcome:
        """Return what it means for so many payloads."""
        return whole_again(count, self._said) if isinstance(self._said, str) else failure(self._said, count)


def decoded(answer: HttpAnswer, into: type[T]) -> T:
    """Read an answer; raises NotTaken."""
    try:
        return msgspec.json.decode(answer.body, type=into)
    except msgspec.DecodeError as error:
        raise NotTaken(f"Its answer about assets cannot be read: {error}.") from error
