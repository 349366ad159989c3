"""Which asset of an account a dataset is, where scans call it otherwise than our rules do; pure."""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headwater.sinks.targets.purview.purview_answers import FoundAsset
from headwater.sinks.targets.purview.purview_types import OUR_TYPES, PLACEHOLDER
from headwater.sinks.targets.purview.purview_wire import Entity, Key, entity_key, reference, reference_key

_WORDS = re.compile(r"[^\W_]+")
_PATTERN = re.compile(r"/\{[^/{}]+\}$")
"""End of a resource set, which stands for the files of a folder."""


def searched(dataset: Entity) -> str:
    """Return the word to search for: the end of a path; of a name with dots, which is a table, what it is called."""
    name = str(dataset["attributes"].get("openlineageName") or dataset["attributes"]["name"]).rstrip("/")
    return name.rpartition("/" if "/" in name else ".")[2]


def bound_to(dataset: Entity, found: Iterable[FoundAsset]) -> Key | None:
    """Return the asset that a dataset is: of a type by its normalised name, else the only one whose name fits."""
    fits = _is_named if dataset["typeName"] == PLACEHOLDER else _is_spelt
    same = [each for each in found if each.entity_type not in OUR_TYPES and fits(dataset, each)]
    sets = [each for each in same if "resource_set" in each.entity_type]
    best = sorted({(each.entity_type, each.qualified_name) for each in sets or same})
    return best[0] if len(best) == 1 else None


def rewritten(entity: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key] = MappingProxyType({})) -> Entity:
    """Return a process that refers to assets in place of what they are bound to, in its columns, too.

    by_guid: the assets in place of what Atlas knows by a guid, as the processes that it gives back refer to it.
    """
    attributes = dict(entity["attributes"])
    for side in ("inputs", "outputs"):
        if side in attributes:
            told = [_reference(each, bound, by_guid) for each in attributes[side]]
            attributes[side] = [each for place, each in enumerate(told) if each not in told[:place]]
    names = {was[1]: now[1] for was, now in bound.items()}
    mapping = json.loads(attributes.get("columnMapping") or "[]")
    for pair in mapping:
        pair["DatasetMapping"] = {end: names.get(name, name) for end, name in pair["DatasetMapping"].items()}
    if mapping:
        attributes["columnMapping"] = json.dumps(mapping, ensure_ascii=False, separators=(",", ":"))
    return {"typeName": entity["typeName"], "attributes": attributes}


def _reference(told: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key]) -> Entity:
    if "guid" in told and told["guid"] not in by_guid:
        return {"typeName": told["typeName"], "guid": told["guid"]}
    key = by_guid[told["guid"]] if "guid" in told else reference_key(told)
    return reference(*bound.get(key, key))


def _is_spelt(dataset: Entity, found: FoundAsset) -> bool:
    return _normal(entity_key(dataset)[1]) == _normal(found.qualified_name)


def _normal(name: str) -> str:
    return _PATTERN.sub("", name.lower().rstrip("/")).rstrip("/").replace(".dfs.", ".blob.")


def _is_named(dataset: Entity, found: FoundAsset) -> bool:
    """Tell whether an asset has all words of a dataset's host and, in order and to the last, those of its name."""
    there = _WORDS.findall(found.qualified_name.lower())
    attributes = dataset["attributes"]
    host = attributes["openlineageNamespace"].partition("://")[2]
    name = _WORDS.findall(attributes["openlineageName"].lower())
    left = iter(there)
    return bool(
        host and name and there and there[-1] == name[-1]
        and {*_WORDS.findall(host.lower())} <= {*there} and all(word in left for word in name)
    )  # fmt: skip
