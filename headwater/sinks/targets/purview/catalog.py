"""Keep an account's catalog up to date: find the assets of datasets, create missing assets, delete replaced ones."""

import json
import re
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import groupby
from types import MappingProxyType

import msgspec

from headwater.sinks.targets.purview.account import PurviewAccount, RequestFailed
from headwater.sinks.targets.purview.atlas import (
    OUR_TYPES,
    PLACEHOLDER,
    PROCESS,
    AtlasEntity,
    Entity,
    FoundAsset,
    Key,
    entity_key,
    entity_reference,
    is_process,
    reference_key,
)
from headwater.sinks.targets.purview.columns import column_changes

_KNOWN = 100_000
"""Maximum number of datasets in the cache of existing assets."""
_LOOKUP_INTERVAL_S = 3600.0
"""Seconds after which the assets of datasets are looked up again, because a scan may have created them."""
_READERS, _MAKERS = "inputToProcesses", "outputFromProcesses"
_WORDS = re.compile(r"[^\W_]+")
_PATTERN = re.compile(r"/\{[^/{}]+\}$")
"""Matches the end of a resource set's name; a resource set represents the files of a folder."""


class PurviewCatalog:
    """The catalog of one account; methods raise RequestFailed if a response is missing or not as expected."""

    def __init__(self, account: PurviewAccount) -> None:
        self._account = account
        self._columns = ColumnSync(account)
        self._known: dict[Key, Key] = {}
        """Maps the key of a dataset to the key of the asset that represents the dataset."""
        self._looked_up_s = time.monotonic()

    def upsert_entities(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        """Create missing datasets and the processes that refer to them, then delete replaced datasets and processes.

        columns: maps the key of a dataset among the entities to its columns. Assets that the sink did not create keep
        their own columns.
        """
        try:
            self._upsert_all(entities, columns)
        except RequestFailed:
            self._clear_caches()  # references to a dataset that was deleted fail, so look up again what exists
            raise

    def _clear_caches(self) -> None:
        self._known.clear()
        self._columns.clear_cache()

    def _upsert_all(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        processes = [entity for entity in entities if is_process(entity)]
        stale = time.monotonic() - self._looked_up_s > _LOOKUP_INTERVAL_S
        if not processes or stale or len(self._known) > _KNOWN:
            # without processes this look-up is the only request that shows whether the target responds
            self._clear_caches()
            self._looked_up_s = time.monotonic()
        datasets = [entity for entity in entities if not is_process(entity) and entity_key(entity) not in self._known]
        found = self._find_assets(datasets)
        made = {entity_key(each): each for each in datasets if entity_key(each) not in found}
        self._account.post_entities([each for key, table in made.items() for each in (table, *columns.get(key, ()))])
        self._known |= {entity_key(each): found.get(entity_key(each), entity_key(each)) for each in datasets}
        self._columns.update_columns({key: own for key, own in columns.items() if self._known[key] == key}, made)
        sent = _newest_per_job(rewrite_references(process, self._known) for process in processes)
        self._account.post_entities(sent)
        self._replace_placeholders({was: now for was, now in found.items() if was[0] == PLACEHOLDER and now != was})
        self._delete_replaced([process for process in sent if "outputs" in process["attributes"]])

    def _find_assets(self, datasets: Sequence[Entity]) -> dict[Key, Key]:
        """Map the keys of datasets that exist to the keys of their assets.

        Existing assets must not be upserted, because an upsert would rename and move them.
        """
        found: dict[Key, Key] = {}
        for kind, own in groupby(sorted(datasets, key=entity_key), key=lambda each: str(each["typeName"])):
            by_name = {entity_key(each)[1]: each for each in own}
            there = {each.qualified_name for each in self._account.find_existing(kind, by_name)}
            for name, each in by_name.items():
                is_it = name in there and kind != PLACEHOLDER  # a placeholder's asset may have been scanned since then
                if not is_it and (asset := self._search_asset(each)):
                    found[kind, name] = asset
                elif name in there:
                    found[kind, name] = (kind, name)
        return found

    def _search_asset(self, dataset: Entity) -> Key | None:
        words = search_term(dataset)
        return match_asset(dataset, self._account.search_assets(words)) if words else None

    def _replace_placeholders(self, bound: Mapping[Key, Key]) -> None:
        """Replace references to placeholders with references to the assets in `bound`, and delete the placeholders."""
        there = [*self._account.find_existing(PLACEHOLDER, (name for _, name in bound), related=True)]
        by_guid = {each.guid: bound[PLACEHOLDER, each.qualified_name] for each in there}
        users = {guid for each in there for guid in (*_process_guids(each, _READERS), *_process_guids(each, _MAKERS))}
        others = [
            {"typeName": PROCESS, "attributes": each.attributes}
            for each in self._account.entities_by_guid(sorted(users))
        ]
        self._account.post_entities([rewrite_references(each, bound, by_guid) for each in others])
        self._account.delete_entities(by_guid)

    def _delete_replaced(self, made: Sequence[Entity]) -> None:
        """Delete processes that an older run of the same job created for the same outputs with other inputs."""
        newest: dict[str, str] = {}
        outputs: dict[str, set[str]] = defaultdict(set)
        makers: set[str] = set()
        for each in made:
            job = _job_of_process(entity_key(each)[1])
            newest[job] = max(newest.get(job, ""), each["attributes"]["lastEventTime"])
        for kind, keys in groupby(sorted({key for each in made for key in _output_keys(each)}), key=lambda key: key[0]):
            for asset in self._account.find_existing(kind, [name for _, name in keys], related=True):
                makers |= _process_guids(asset, _MAKERS)
                for each in made:
                    if (kind, asset.qualified_name) in _output_keys(each):
                        outputs[_job_of_process(entity_key(each)[1])].add(asset.guid)
        own = {entity_key(each)[1] for each in made}
        self._account.delete_entities(
            each.guid
            for each in [*self._account.entities_by_guid(sorted(makers))]
            if each.qualified_name not in own
            and {one["guid"] for one in each.attributes.get("outputs", ())}
            <= outputs[_job_of_process(each.qualified_name)]
            and each.attributes.get("lastEventTime", "") <= newest.get(_job_of_process(each.qualified_name), "")
        )


def _newest_per_job(processes: Iterable[Entity]) -> list[Entity]:
    """Return the processes without those that a later run of the same job in this batch replaces."""
    found: dict[tuple[str, ...], Entity] = {}
    for each in sorted(processes, key=lambda process: str(process["attributes"]["lastEventTime"])):
        name = entity_key(each)[1]
        outputs = json.dumps(each["attributes"].get("outputs", ()))
        found[(_job_of_process(name), outputs) if outputs != "[]" else (name,)] = each
    return [*found.values()]


def _process_guids(entity: AtlasEntity, side: str) -> set[str]:
    """Return the guids of our processes that read an asset (side `_READERS`) or write it (side `_MAKERS`)."""
    return {one["guid"] for one in entity.relationship_attributes.get(side) or () if one["typeName"] == PROCESS}


def _output_keys(process: Entity) -> list[Key]:
    return [*map(reference_key, process["attributes"]["outputs"])]


def _job_of_process(name: str) -> str:
    """Return the part of a process's qualified name that identifies its job."""
    return name.rpartition("/processes/")[0]


class ColumnSync:
    """Updates the columns of tables; methods raise RequestFailed if a response is missing or not as expected."""

    def __init__(self, account: PurviewAccount) -> None:
        self._account = account
        self._sent: dict[Key, bytes] = {}
        """Maps a table to the hash of the columns that were sent last, because every run repeats the schema."""

    def clear_cache(self) -> None:
        """Clear the cache."""
        self._sent.clear()

    def update_columns(self, columns: Mapping[Key, Sequence[Entity]], made: Collection[Key]) -> None:
        """Send changed columns and delete removed columns. made: tables that were just created with their columns."""
        news = {key: digest for key, own in columns.items() if (digest := _columns_digest(own)) != self._sent.get(key)}
        by_type: dict[str, list[str]] = defaultdict(list)
        for kind, name in news.keys() - made:
            by_type[kind].append(name)
        changed: list[Entity] = []
        removed: list[str] = []
        for kind, names in by_type.items():
            for table in self._account.find_existing(kind, sorted(names), related=True):
                own = columns[kind, table.qualified_name]
                sent, left = column_changes(table, self._existing_columns(table, own[0]["typeName"]), own)
                changed += sent
                removed += left
        self._account.post_entities(changed)
        self._account.delete_entities(removed)
        self._sent |= news

    def _existing_columns(self, table: AtlasEntity, kind: str) -> list[AtlasEntity]:
        sides = (side for side in table.relationship_attributes.values() if isinstance(side, list))
        guids = {one["guid"] for side in sides for one in side if one.get("typeName") == kind}
        return [*self._account.entities_by_guid(sorted(guids))]


def _columns_digest(columns: Sequence[Entity]) -> bytes:
    return sha256(msgspec.json.encode([each["attributes"] for each in columns])).digest()


def search_term(dataset: Entity) -> str:
    """Return the term for searching a dataset's asset: the last part of its path or dotted name."""
    name = str(dataset["attributes"].get("openlineageName") or dataset["attributes"]["name"]).rstrip("/")
    return name.rpartition("/" if "/" in name else ".")[2]


def match_asset(dataset: Entity, found: Iterable[FoundAsset]) -> Key | None:
    """Return the only asset that matches a dataset, or None if no asset or several match.

    A placeholder matches by the words of its name, all other datasets by normalised qualified name.
    """
    fits = _has_same_words if dataset["typeName"] == PLACEHOLDER else _has_same_name
    same = [each for each in found if each.entity_type not in OUR_TYPES and fits(dataset, each)]
    sets = [each for each in same if "resource_set" in each.entity_type]
    best = sorted({(each.entity_type, each.qualified_name) for each in sets or same})
    return best[0] if len(best) == 1 else None


def rewrite_references(
    entity: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key] = MappingProxyType({})
) -> Entity:
    """Return a process in which references in `bound` are replaced with their assets, also in its column mapping.

    by_guid: maps guids to keys of assets, because Atlas returns references by guid.
    """
    attributes = dict(entity["attributes"])
    for side in ("inputs", "outputs"):
        if side in attributes:
            references = [_rewrite_reference(each, bound, by_guid) for each in attributes[side]]
            attributes[side] = [each for place, each in enumerate(references) if each not in references[:place]]
    names = {was[1]: now[1] for was, now in bound.items()}
    mapping = json.loads(attributes.get("columnMapping") or "[]")
    for pair in mapping:
        pair["DatasetMapping"] = {end: names.get(name, name) for end, name in pair["DatasetMapping"].items()}
    if mapping:
        attributes["columnMapping"] = json.dumps(mapping, ensure_ascii=False, separators=(",", ":"))
    return {"typeName": entity["typeName"], "attributes": attributes}


def _rewrite_reference(found: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key]) -> Entity:
    if "guid" in found and found["guid"] not in by_guid:
        return {"typeName": found["typeName"], "guid": found["guid"]}
    key = by_guid[found["guid"]] if "guid" in found else reference_key(found)
    return entity_reference(*bound.get(key, key))


def _has_same_name(dataset: Entity, found: FoundAsset) -> bool:
    return _normalised_name(entity_key(dataset)[1]) == _normalised_name(found.qualified_name)


def _normalised_name(name: str) -> str:
    return _PATTERN.sub("", name.lower().rstrip("/")).rstrip("/").replace(".dfs.", ".blob.")


def _has_same_words(dataset: Entity, found: FoundAsset) -> bool:
    """Return whether an asset's name contains the words of the dataset's host, and of its name in the same order.

    The last word of both names must be equal.
    """
    there = _WORDS.findall(found.qualified_name.lower())
    attributes = dataset["attributes"]
    host = attributes["openlineageNamespace"].partition("://")[2]
    name = _WORDS.findall(attributes["openlineageName"].lower())
    left = iter(there)
    return bool(
        host and name and there and there[-1] == name[-1]
        and {*_WORDS.findall(host.lower())} <= {*there} and all(word in left for word in name)
    )  # fmt: skip
