"""What a sink does to an account's catalogue: binds, makes what is not there, and takes away what is no longer so."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from headwater.sinks.targets.purview.purview_account import PurviewAccount
from headwater.sinks.targets.purview.purview_answers import AtlasEntity, NotTaken
from headwater.sinks.targets.purview.purview_binding import bound_to, rewritten, searched
from headwater.sinks.targets.purview.purview_types import PLACEHOLDER, PROCESS
from headwater.sinks.targets.purview.purview_upkeep import ColumnUpkeep
from headwater.sinks.targets.purview.purview_wire import Entity, Key, entity_key, is_process, reference_key

_KNOWN = 100_000
"""Datasets that one connection remembers to be there."""
_LOOKS_AGAIN_S = 3600.0
"""After so long it looks anew what a dataset is bound to: scans come later."""
_READERS, _MAKERS = "inputToProcesses", "outputFromProcesses"


class PurviewCatalog:
    """One account by one sink. Where it does not answer as it should, NotTaken ends the attempt."""

    def __init__(self, account: PurviewAccount) -> None:
        """Ask nothing yet."""
        self._account = account
        self._upkeep = ColumnUpkeep(account)
        self._known: dict[Key, Key] = {}
        """Dataset → the asset that it is."""
        self._looked_s = time.monotonic()

    def upsert(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        """Make the datasets that are not there, then what refers to them; then delete what these replace.

        columns: of datasets among them; those of assets that the sink did not make are left to whoever did.
        """
        try:
            self._upsert(entities, columns)
        except NotTaken:
            self._forget()  # what refers to a dataset that somebody deleted fails: ask anew what is there
            raise

    def _forget(self) -> None:
        self._known.clear()
        self._upkeep.forget()

    def _upsert(self, entities: Sequence[Entity], columns: Mapping[Key, Sequence[Entity]]) -> None:
        processes = [entity for entity in entities if is_process(entity)]
        stale = time.monotonic() - self._looked_s > _LOOKS_AGAIN_S
        if not processes or stale or len(self._known) > _KNOWN:
            self._forget()  # without a question nobody would know whether the target is there
            self._looked_s = time.monotonic()
        datasets = [entity for entity in entities if not is_process(entity) and entity_key(entity) not in self._known]
        found = self._found(datasets)
        made = {entity_key(each): each for each in datasets if entity_key(each) not in found}
        self._account.post([each for key, table in made.items() for each in (table, *columns.get(key, ()))])
        self._known |= {entity_key(each): found.get(entity_key(each), entity_key(each)) for each in datasets}
        self._upkeep.update({key: own for key, own in columns.items() if self._known[key] == key}, made)
        sent = _newest(rewritten(process, self._known) for process in processes)
        self._account.post(sent)
        self._delete_placeholders({was: now for was, now in found.items() if was[0] == PLACEHOLDER and now != was})
        self._delete_replaced([process for process in sent if "outputs" in process["attributes"]])

    def _found(self, datasets: Sequence[Entity]) -> dict[Key, Key]:
        """Return which asset each dataset is that need not be made: an upsert would rename and move what is there."""
        found: dict[Key, Key] = {}
        for kind, own in groupby(sorted(datasets, key=entity_key), key=lambda each: str(each["typeName"])):
            by_name = {entity_key(each)[1]: each for each in own}
            there = {each.qualified_name for each in self._account.there(kind, by_name)}
            for name, each in by_name.items():
                is_it = name in there and kind != PLACEHOLDER  # that of a placeholder may have come since
                if not is_it and (asset := self._search(each)):
                    found[kind, name] = asset
                elif name in there:
                    found[kind, name] = (kind, name)
        return found

    def _search(self, dataset: Entity) -> Key | None:
        words = searched(dataset)
        return bound_to(dataset, self._account.search(words)) if words else None

    def _delete_placeholders(self, bound: Mapping[Key, Key]) -> None:
        """Let whatever refers to placeholders refer to the assets that they stood for; then delete them."""
        there = [*self._account.there(PLACEHOLDER, (name for _, name in bound), related=True)]
        by_guid = {each.guid: bound[PLACEHOLDER, each.qualified_name] for each in there}
        users = {guid for each in there for guid in (*_processes(each, _READERS), *_processes(each, _MAKERS))}
        others = [{"typeName": PROCESS, "attributes": each.attributes} for each in self._account.by_guid(sorted(users))]
        self._account.post([rewritten(each, bound, by_guid) for each in others])
        self._account.delete(by_guid)

    def _delete_replaced(self, made: Sequence[Entity]) -> None:
        """Delete what a job made of datasets before it made them otherwise: its newest run counts."""
        newest: dict[str, str] = {}
        outputs: dict[str, set[str]] = defaultdict(set)
        makers: set[str] = set()
        for each in made:
            job = _job(entity_key(each)[1])
            newest[job] = max(newest.get(job, ""), each["attributes"]["lastEventTime"])
        for kind, keys in groupby(sorted({key for each in made for key in _outputs(each)}), key=lambda key: key[0]):
            for asset in self._account.there(kind, [name for _, name in keys], related=True):
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
    """Leave out what a later run of the job in the same batch made otherwise."""
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
    """Return the part of a process's qualified name that names its job."""
    return name.rpartition("/processes/")[0]
