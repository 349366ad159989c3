"""Microsoft Purview: runs as Atlas entities, by bulk upserts; assets that are there already are never changed."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, groupby
from pathlib import Path
from typing import Any, Literal, cast
from urllib.parse import quote

import msgspec
from pydantic import Field

from headwater.errors import Retry, WrongQuestion, WrongSetting
from headwater.index.rules_files import RulesFiles
from headwater.lineage.names.canonical_names import NameRules, default_rules
from headwater.lineage.runs.run_facts import RunFacts
from headwater.sinks.earlier_events import History
from headwater.sinks.http_options import EntraId, HttpOptions, open_poster
from headwater.sinks.http_post import HttpAnswer, Poster, failure
from headwater.sinks.purview_entities import Entity, EntityBuilder, entity_key, is_process, type_definitions, united
from headwater.sinks.purview_names import PLACEHOLDER, QualifiedNameRule, QualifiedNames
from headwater.sinks.sink_options import Options, Reveal
from headwater.sinks.sink_shape import Outcome, Payload, SinkEvent, whole_again

SCOPE = "https://purview.azure.net/.default"
_ATLAS = "/datamap/api/atlas/v2"
_VERSION = "api-version=2023-09-01"
_LONGEST = 4_000
"""Characters of an address, unless a single name is longer."""
_KNOWN = 100_000
"""Datasets that one connection remembers to be there."""


class PurviewOptions(HttpOptions):
    """Options of the type `purview`; without a credential it asks Entra ID as this machine's identity."""

    type: Literal["purview"]
    batch: int = Field(100, ge=1, le=1000, description="Entities of a request.")
    collection: str | None = Field(None, pattern=r"^[\w-]+$", description="Id of the collection of new entities.")
    names: tuple[QualifiedNameRule, ...] = Field((), description="Rules for qualified names, before the shipped ones.")
    rules: Path | None = Field(None, description="Folder of your rules for names, as the setting `rules`.")


OPTIONS = PurviewOptions


class PurviewTarget:
    """One account."""

    def __init__(self, poster: Poster, names: QualifiedNames, batch: int, collection: str | None) -> None:
        """Connect to nothing yet."""
        self.largest = batch
        self._poster = poster
        self._names = names
        self._batch = batch
        self._bulk = f"{_ATLAS}/entity/bulk?{_VERSION}" + (f"&collectionId={collection}" if collection else "")
        self._known: set[tuple[str, str]] = set()
        self._types: set[str] = set()

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing came before."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Say what a run did with its last event; those before it tell the job's state."""
        builder = EntityBuilder(self._names)
        runs: dict[str, list[RunFacts]] = defaultdict(list)
        for event in chain.from_iterable(history.values()):
            fact = builder.facts(event)
            runs[fact.run_key].append(fact)
        facts = [builder.facts(event) for event in events]
        last: dict[str, RunFacts] = {}
        for fact in facts:
            runs[fact.run_key].append(fact)
            last[fact.run_key] = fact
        return [
            _payload(event, _entities(builder, fact, runs[fact.run_key], is_last=fact is last[fact.run_key]))
            for event, fact in zip(events, facts, strict=True)
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post what datasets are not there yet, then what refers to them; an event of unknown types is refused."""
        entities = [msgspec.json.decode(payload.body)["entities"] for payload in payloads]
        try:
            missing = self._missing_types({each["typeName"] for own in entities for each in own})
            refused = {
                place: _refusal(unknown)
                for place, own in enumerate(entities)
                if (unknown := sorted(missing & {each["typeName"] for each in own}))
            }
            places = [place for place in range(len(payloads)) if place not in refused]
            self._upsert(united(entities[place] for place in places))
        except _NotTaken as error:
            self._known.clear()  # what refers to a dataset that somebody deleted fails: ask anew what is there
            return error.outcome(len(payloads))
        return Outcome(refused=refused)

    def check(self) -> str:
        """Ask for the types that rules give."""
        answer = self._poster.ask("GET", _type_path("Process"))
        if answer.status != 200:
            raise WrongSetting(
                f"It answers {answer.status} for the type Process. Correct `url`, or give this identity the role "
                "Data Curator on the collection."
            )
        try:
            missing = self._missing_types(set(self._names.types))
        except _NotTaken as error:
            raise Retry(error.outcome(1).trouble or "It does not say which types it knows.") from error
        unknown = f"; it does not know {', '.join(sorted(missing))}: see `names`" if missing else ""
        return f"it answers as Purview does{unknown}"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()

    def _missing_types(self, types: set[str]) -> set[str]:
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
                raise _NotTaken(f"Its answer about assets of type {kind} cannot be read: {error}.") from error
            found |= {each.attributes.get("qualifiedName", "") for each in entities}
        return found

    def _post(self, entities: Sequence[Entity]) -> None:
        numbered = [entity | {"guid": f"-{number}"} for number, entity in enumerate(entities, 1)]
        self._ask("POST", self._bulk, {"entities": numbered}, fine=())

    def _ask(self, method: str, path: str, value: object = None, fine: Sequence[int] = (404,)) -> HttpAnswer:
        """Make one request; raises _NotTaken for an answer that is neither a success nor among `fine`."""
        try:
            answer = self._poster.ask(method, path, None if value is None else msgspec.json.encode(value))
        except (Retry, WrongSetting) as error:
            raise _NotTaken(str(error)) from error
        if not 200 <= answer.status < 300 and answer.status not in fine:
            raise _NotTaken(answer)
        return answer


class _FoundEntity(msgspec.Struct):
    attributes: dict[str, Any]


class _FoundEntities(msgspec.Struct):
    """Entities as Atlas gives them back."""

    entities: list[_FoundEntity] = []


class _NotTaken(Exception):
    """Ends an attempt: what was answered, or why nothing was."""

    def __init__(self, said: HttpAnswer | str) -> None:
        super().__init__()
        self._said = said

    def outcome(self, count: int) -> Outcome:
        """Return what it means for so many payloads."""
        return whole_again(count, self._said) if isinstance(self._said, str) else failure(self._said, count)


def open_target(options: Options, reveal: Reveal) -> PurviewTarget:
    """Open an account."""
    given = cast("PurviewOptions", options)
    if not (given.key or given.oauth or given.entra):
        given = given.model_copy(update={"entra": EntraId(scope=SCOPE)})
    return PurviewTarget(open_poster(given, reveal), qualified_names(given), given.batch, given.collection)


def qualified_names(options: Options) -> QualifiedNames:
    """Return a sink's rules for names; raises WrongQuestion for a sink of another type, WrongSetting."""
    if not isinstance(options, PurviewOptions):
        raise WrongQuestion(f"A sink of type {options.type} sends names as they are. Ask for one of type purview.")
    return QualifiedNames(options.names, _rules(options.rules))


def _rules(folder: Path | None) -> NameRules:
    if folder is None:
        return default_rules()
    if not folder.expanduser().is_dir():
        raise WrongSetting(f"No folder {folder}. Create it, or correct `rules`.")
    files = RulesFiles(folder.expanduser())
    rules = files.current().names
    if files.problems:
        raise WrongSetting(files.problems[0])
    return rules


def _entities(builder: EntityBuilder, fact: RunFacts, run: Sequence[RunFacts], *, is_last: bool) -> list[Entity]:
    if fact.kind != "RUN":
        return builder.of_run([fact])
    return builder.of_run(run) if is_last else builder.of_state(fact)


def _payload(event: SinkEvent, entities: Sequence[Entity]) -> Payload:
    body = msgspec.json.encode({"entities": entities})
    return Payload(event, body, None if entities else "it is about nothing that a catalog holds")


def _refusal(types: Sequence[str]) -> str:
    return f"It does not know the type {', '.join(types)}. Correct `names`, or register such a source; then redrive."


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
