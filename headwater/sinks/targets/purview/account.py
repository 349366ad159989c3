"""Requests to a Purview account: types, assets and their search, bulk upserts and deletes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import quote

import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.common.http_connection import HttpAnswer
from headwater.sinks.connecting.http import Poster, failure_outcome
from headwater.sinks.interface.shape import Outcome, retry_all
from headwater.sinks.targets.purview.atlas import (
    OUR_TYPES,
    AtlasEntities,
    AtlasEntity,
    Entity,
    FoundAsset,
    FoundAssets,
    assign_guids,
    type_definitions,
)

_ATLAS = "/datamap/api/atlas/v2"
_VERSION = "api-version=2023-09-01"
_LONGEST = 4_000
"""Maximum length of an address in characters, unless a single name is longer."""
T = TypeVar("T")


class PurviewAccount:
    """A connection to one account; methods raise RequestFailed if a response is missing or not as expected."""

    def __init__(self, poster: Poster, batch: int, collection: str | None) -> None:
        """batch: maximum number of entities per request.

        collection: id of the collection for new entities, or None for the default collection.
        """
        self._poster = poster
        self._batch = batch
        self._bulk = f"{_ATLAS}/entity/bulk?{_VERSION}" + (f"&collectionId={collection}" if collection else "")
        self._types: set[str] = set()

    def check_answer(self) -> None:
        """Raise WrongSetting if the account does not respond like Purview or denies reading."""
        answer = self._poster.request("GET", _type_path("Process"))
        if answer.status != 200:
            raise WrongSetting(
                f"The type Process returned status {answer.status}. Correct `url`, or give this identity the role "
                "Data Curator on the collection."
            )

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def create_types_and_list_unknown(self, types: set[str]) -> set[str]:
        """Return the types that the account does not know; creates our own types if they are missing."""
        asked = sorted(types - self._types)
        missing = {each for each in asked if self._request("GET", _type_path(each)).status == 404}
        if fresh := sorted(missing & OUR_TYPES):
            definitions = type_definitions(fresh)
            concurrent = (409,)  # another process created them
            self._request("POST", f"{_ATLAS}/types/typedefs?{_VERSION}", definitions, accepted_statuses=concurrent)
        missing -= OUR_TYPES
        self._types |= types - missing
        return missing

    def find_existing(self, kind: str, names: Iterable[str], *, related: bool = False) -> Iterator[AtlasEntity]:
        """Yield the assets of type `kind` that exist and have one of the qualified names.

        related: whether to include the relationships of each asset.
        """
        address = f"{_ATLAS}/entity/bulk/uniqueAttribute/type/{kind}?{_VERSION}&minExtInfo=true" + (
            "" if related else "&ignoreRelationships=true"
        )
        for asked in _addresses_in_batches(address, "&attr_{}:qualifiedName=", names):
            yield from self._read_entities(asked)

    def entities_by_guid(self, guids: Iterable[str]) -> Iterator[AtlasEntity]:
        """Yield the entities that have one of the guids."""
        for asked in _addresses_in_batches(f"{_ATLAS}/entity/bulk?{_VERSION}", "&guid=", guids):
            yield from self._read_entities(asked)

    def search_assets(self, words: str) -> list[FoundAsset]:
        """Return up to 50 assets that the account's search finds for these words."""
        answer = self._request(
            "POST", f"/datamap/api/search/query?{_VERSION}", {"keywords": words, "limit": 50}, accepted_statuses=()
        )
        return decode_answer(answer, FoundAssets).value

    def post_entities(self, entities: Sequence[Entity]) -> None:
        """Create or update entities in batches; a later entity may refer to an earlier one."""
        for first in range(0, len(entities), self._batch):
            some = entities[first : first + self._batch]
            self._request("POST", self._bulk, {"entities": assign_guids(some)}, accepted_statuses=())

    def delete_entities(self, guids: Iterable[str]) -> None:
        """Delete entities by guid."""
        for asked in _addresses_in_batches(f"{_ATLAS}/entity/bulk?{_VERSION}", "&guid=", guids):
            self._request("DELETE", asked)

    def _read_entities(self, address: str) -> list[AtlasEntity]:
        answer = self._request("GET", address)
        return [] if answer.status == 404 else decode_answer(answer, AtlasEntities).entities

    def _request(
        self, method: str, path: str, value: object = None, accepted_statuses: Sequence[int] = (404,)
    ) -> HttpAnswer:
        """Make one request; raises RequestFailed for a response that is neither 2xx nor among `accepted_statuses`."""
        try:
            answer = self._poster.request(method, path, None if value is None else msgspec.json.encode(value))
        except (Retry, WrongSetting) as error:
            raise RequestFailed(str(error)) from error
        if not 200 <= answer.status < 300 and answer.status not in accepted_statuses:
            raise RequestFailed(answer)
        return answer


class RequestFailed(Exception):
    """Ends an attempt. cause: the unexpected response, or the reason why there was no response."""

    def __init__(self, cause: HttpAnswer | str) -> None:
        super().__init__()
        self._cause = cause

    def outcome_for(self, count: int) -> Outcome:
        """Return the outcome of the attempt for its `count` payloads."""
        return retry_all(count, self._cause) if isinstance(self._cause, str) else failure_outcome(self._cause, count)


def decode_answer(answer: HttpAnswer, into: type[T]) -> T:
    """Decode a response; raises RequestFailed if it does not have the expected structure."""
    try:
        return msgspec.json.decode(answer.body, type=into)
    except msgspec.DecodeError as error:
        raise RequestFailed(f"Cannot decode its response about assets: {error}.") from error


def _type_path(name: str) -> str:
    return f"{_ATLAS}/types/entitydef/name/{name}?{_VERSION}"


def _addresses_in_batches(address: str, argument: str, values: Iterable[str]) -> Iterator[str]:
    """Yield addresses with at most _LONGEST characters that together contain all values as query arguments.

    argument: name of the query argument; a placeholder `{}` is replaced with the number of the value in the address.
    """
    asked, number = address, 0
    for value in values:
        text = quote(value, "")
        if number and len(asked) + len(text) > _LONGEST:
            yield asked
            asked, number = address, 0
        number += 1
        asked += argument.format(number) + text
    if number:
        yield asked
