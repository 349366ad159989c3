"""A Purview account as far as a sink needs it: which types it knows, which assets it has, bulk upserts."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any
from urllib.parse import quote

import msgspec

from headwater.errors import Retry, WrongSetting
from headwater.sinks.http_post import Poster, failure
from headwater.sinks.kept_connection import HttpAnswer
from headwater.sinks.purview_entities import Entity, entity_key, is_process, type_definitions
from headwater.sinks.purview_names import PLACEHOLDER
from headwater.sinks.sink_shape import Outcome, whole_again

_ATLAS = "/datamap/api/atlas/v2"
_VERSION = "api-version=2023-09-01"
_LONGEST = 4_000
"""Characters of an address, unless a single name is longer."""
_KNOWN = 100_000
"""Datasets that one connection remembers to be there."""


class PurviewAccount:
    """One account, by one connection. Where it does not answer as it should, NotTaken ends the attempt."""

    def __init__(self, poster: Poster, batch: int, collection: str | None) -> None:
        """Connect to nothing yet. batch: entities of a request; collection: id, where what is made goes."""
        self._poster = poster
        self._batch = batch
        self._bulk = f"{_ATLAS}/entity/bulk?{_VERSION}" + (f"&collectionId={collection}" if collection else "")
        self._known: set[tuple[str, str]] = set()
        self._types: set[str] = set()

    def check_answer(self) -> None:
        """Raise WrongSetting unless it answers as a Purview that lets us read."""
        answer = self._poster.ask("GET", _type_path("Process"))
        if answer.status != 200:
            raise WrongSetting(
                f"It answers {answer.status} for the type Process. Correct `url`, or give this identity the role "
                "Data Curator on the collection."
            )

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def missing_types(self, types: set[str]) -> set[str]:
        """Return which types are not there; ours are made where they are missing."""
        asked = sorted(types - self._types)
        missing = {each for each in asked if self._ask("GET", _type_path(each)).status == 404}
        ours = type_definitions()
        if fresh := sorted(missing & ours.keys()):
            others: dict[str, list[Entity]] = {
                f"{kind}Defs": [] for kind in ("enum", "struct", "classification", "relationship")
            }
            definitions = {"entityDefs": [ours[each] for each in fresh], **others}
            self._ask("POST", f"{_ATLAS}/types/typedefs?{_VERSION}", definitions, fine=(409,))  # another made them now
        missing -= ours.keys()
        self._types |= types - missing
        return missing

    def upsert(self, entities: Sequence[Entity]) -> None:
        """Make the datasets that are not there, then make or update what refers to them."""
        try:
            self._upsert(entities)
        except NotTaken:
            self._known.clear()  # what refers to a dataset that somebody deleted fails: ask anew what is there
            raise

    def _upsert(self, entities: Sequence[Entity]) -> None:
        processes = [entity for entity in entities if is_process(entity)]
        if not processes:
            self._known.clear()  # or nothing at all would be asked, and nobody know whether the target is there
        datasets = [entity for entity in entities if not is_process(entity) and entity_key(entity) not in self._known]
        for some in _parts([*self._absent(datasets)], self._batch):
            self._post(some)
        if len(self._known) > _KNOWN:
            self._known.clear()
        self._known |= {entity_key(entity) for entity in datasets}
        for some in _parts(processes, self._batch):
            self._post(some)

    def _absent(self, datasets: Sequence[Entity]) -> Iterator[Entity]:
        """Yield assets that are not there: an upsert of one that is would rename it and move it to our collection."""
        for kind, own in groupby(sorted(datasets, key=entity_key), key=lambda each: str(each["typeName"])):
            by_name = {entity_key(each)[1]: each for each in own}
            there = set() if kind == PLACEHOLDER else self._there(kind, by_name)
            yield from (each for name, each in by_name.items() if name not in there)

    def _there(self, kind: str, names: Iterable[str]) -> set[str]:
        """Return which of these assets are there."""
        address = (
            f"{_ATLAS}/entity/bulk/uniqueAttribute/type/{kind}?{_VERSION}&minExtInfo=true&ignoreRelationships=true"
        )
        found: set[str] = set()
        for asked in _addresses(address, names):
            answer = self._ask("GET", asked)
            if answer.status == 404:
                continue
            try:
                entities = msgspec.json.decode(answer.body, type=_FoundEntities).entities
            except msgspec.DecodeError as error:
                raise NotTaken(f"Its answer about assets of type {kind} cannot be read: {error}.") from error
            found |= {each.attributes.get("qualifiedName", "") for each in entities}
        return found

    def _post(self, entities: Sequence[Entity]) -> None:
        numbered = [entity | {"guid": f"-{number}"} for number, entity in enumerate(entities, 1)]
        self._ask("POST", self._bulk, {"entities": numbered}, fine=())

    def _ask(self, method: str, path: str, value: object = None, fine: Sequence[int] = (404,)) -> HttpAnswer:
        """Make one request; raises NotTaken for an answer that is neither a success nor among `fine`."""
        try:
            answer = self._poster.ask(method, path, None if value is None else msgspec.json.encode(value))
        except (Retry, WrongSetting) as error:
            raise NotTaken(str(error)) from error
        if not 200 <= answer.status < 300 and answer.status not in fine:
            raise NotTaken(answer)
        return answer


class _FoundEntity(msgspec.Struct):
    attributes: dict[str, Any]


class _FoundEntities(msgspec.Struct):
    """Entities as Atlas gives them back."""

    entities: list[_FoundEntity] = []


class NotTaken(Exception):
    """Ends an attempt: what was answered, or why nothing was."""

    def __init__(self, said: HttpAnswer | str) -> None:
        super().__init__()
        self._said = said

    def outcome(self, count: int) -> Outcome:
        """Return what it means for so many payloads."""
        return whole_again(count, self._said) if isinstance(self._said, str) else failure(self._said, count)


def _type_path(name: str) -> str:
    return f"{_ATLAS}/types/entitydef/name/{name}?{_VERSION}"


def _addresses(address: str, names: Iterable[str]) -> Iterator[str]:
    """Yield addresses that ask for assets by qualified name, as many in one as it may be long."""
    asked, number = address, 0
    for name in names:
        text = quote(name, "")
        if number and len(asked) + len(text) > _LONGEST:
            yield asked
            asked, number = address, 0
        number += 1
        asked += f"&attr_{number}:qualifiedName={text}"
    yield asked


def _parts(entities: Sequence[Entity], most: int) -> Iterator[Sequence[Entity]]:
    return (entities[first : first + most] for first in range(0, len(entities), most))
