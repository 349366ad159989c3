"""Keep an account's catalog up to date: bind datasets to assets, create missing ones, delete replaced ones."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from headwater.sinks.targets.purview.account import PurviewAccount
from headwater.sinks.targets.purview.answers import AtlasEntity, RequestFailed
from headwater.sinks.targets.purview.binding import match_asset, rewrite_references, search_term
from headwater.sinks.targets.purview.column_sync import ColumnSync
from headwater.sinks.targets.purview.entity_types import PLACEHOLDER, PROCESS
from headwater.sinks.targets.purview.wire import Entity, Key, entity_key, is_process, reference_key

_KNOWN = 100_000
"""Maximum number of datasets that one connection caches as existing."""
_LOOKS_AGAIN_S = 3600.0
"""After this time the binding of a dataset is looked up again, because scans may have found it."""
_READERS, _MAKERS = "inputToProcesses", "outputFromProcesses"


class PurviewCatalog:
    """The catalog of one account; RequestFailed ends the attempt if a response is not as expected."""

    def __init__(self, account: PurviewAccount) -> None:
        self._account = account
        self._upkeep = ColumnSync(account)
        self._known: dict[Key, Key] = {}
        """Dataset to the asset that represents it."""
        self._looked_s = time.monotonic()

    def upsert(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        """Create missing datasets, then the processes that refer to them; then delete what these replace.

        columns: columns of datasets among the entities; assets that the sink did not create keep their own columns.
        """
        try:
            self._upsert(entities, columns)
        except RequestFailed:
            self._forget()  # references to a dataset that was deleted fail, so look up again what exists
            raise

    def _forget(self) -> None:
        self._known.clear()
        self._upkeep.forget()

    def _upsert(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        processes = [entity for entity in entities if is_process(entity)]
        stale = time.monotonic() - self._looked_s > _LOOKS_AGAIN_S
        if not processes or stale or len(self._known) > _KNOWN:
            self._forget()  # without processes this look-up is the only request that shows whether the target responds
            self._looked_s = time.monotonic()
        datasets = [entity for entity in entities if not is_process(entity) and entity_key(entity) not in self._known]
        found = self._found(datasets)
        made = {entity_key(each): each for each in datasets if entity_key(each) not in found}
        self._account.post([each for key, table in made.items() for each in (table, *columns.get(key, ()))])
        self._known |= {entity_key(each): found.get(entity_key(each), entity_key(each)) for each in datasets}
        self._upkeep.update({key: own for key, own in columns.items() if self._known[key] == key}, made)
        sent = _newest(rewrite_references(process, self._known) for process in processes)
        self._account.post(sent)
        self._delete_placeholders({was: now for was, now in found.items() if was[0] == PLACEHOLDER and now != was})
        self._delete_replaced([process for process in sent if "outputs" in process["attributes"]])

    def _found(self, datasets: Sequence[Entity]) -> dict[Key, Key]:
        """Return the datasets that exist with their assets; an upsert of an existing asset would rename and move it."""
        found: dict[Key, Key] = {}
        for kind, own in groupby(sorted(datasets, key=entity_key), key=lambda each: str(each["typeName"])):
            by_name = {entity_key(each)[1]: each for each in own}
            there = {each.qualified_name for each in self._account.existing(kind, by_name)}
            for name, each in by_name.items():
                is_it = name in there and kind != PLACEHOLDER  # a placeholder's asset may have been scanned since then
                if not is_it and (asset := self._search(each)):
                    found[kind, name] = asset
                elif name in there:
                    found[kind, name] = (kind, name)
        return found

    def _search(self, dataset: Entity) -> Key | None:
        words = search_term(dataset)
        return match_asset(dataset, self._account.search(words)) if words else None

    def _delete_placeholders(self, bound: Mapping[Key, Key]) -> None:
        """Move all references from placeholders to the assets that they stand for, then delete the placeholders."""
        there = [*self._account.existing(PLACEHOLDER, (name for _, name in bound), related=True)]
        by_guid = {each.guid: bound[PLACEHOLDER, each.qualified_name] for each in there}
        users = {guid for each in there for guid in (*_processes(each, _READERS), *_processes(each, _MAKERS))}
        others = [{"typeName": PROCESS, "attributes": each.attributes} for each in self._account.by_guid(sorted(users))]
        self._account.post([rewrite_references(each, bound, by_guid) for each in others])
        self._account.delete(by_guid)

    def _delete_replaced(self, made: Sequence[Entity]) -> None:
        """Delete processes of a job with the same outputs that an older run created with other inputs."""
        newest: dict[str, str] = {}
        outputs: dict[str, set[str]] = defaultdict(set)
        makers: set[str] = set()
        for each in made:
            job = _job(entity_key(each)[1])
            newest[job] = max(newest.get(job, ""), each["attributes"]["lastEventTime"])
        for kind, keys in groupby(sorted({key for each in made for key in _outputs(each)}), key=lambda key: key[0]):
            for asset in self._account.existing(kind, [name for _, name in keys], related=True):
                makers |= _processes(asset, _MAKERS)
                for each in made:
                    if (kind, asset.qualified_name) in _outputs(each):
                        outputs[_job(entity_key(each)[1])].add(asset.guid)
        own = {entity_key(each)[1] for each in made}
        self._account.delete(
            each.guid
            for each in [*self._account.by_guid(sorted(makers))]
            if each.qualified_name not in own
            and {one["guid"] for one in each.attributes.get("outputs", ())} <= outputs[_job(each.qualified_name)]
            and each.attributes.get("lastEventTime", "") <= newest.get(_job(each.qualified_name), "")
        )


def _newest(processes: Iterable[Entity]) -> list[Entity]:
    """Leave out processes that a later run of the same job in this batch replaces."""
    found: dict[tuple[str, ...], Entity] = {}
    for each in sorted(processes, key=lambda process: str(process["attributes"]["lastEventTime"])):
        name = entity_key(each)[1]
        outputs = json.dumps(each["attributes"].get("outputs", ()))
        found[(_job(name), outputs) if outputs != "[]" else (name,)] = each
    return [*found.values()]


def _processes(entity: AtlasEntity, side: str) -> set[str]:
    """Return the guids of our processes that read or write an asset."""
    return {one["guid"] for one in entity.relationship_attributes.get(side) or () if one["typeName"] == PROCESS}


def _outputs(process: Entity) -> list[Key]:
    return [*map(reference_key, process["attributes"]["outputs"])]


def _job(name: str) -> str:
    """Return the part of a process's qualified name that identifies its job."""
    return name.rpartition("/processes/")[0]
