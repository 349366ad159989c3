"""Find the asset of a dataset if scans name it differently than our rules do; pure functions."""

import json
import re
from collections.abc import Iterable, Mapping
from types import MappingProxyType

from headwater.sinks.targets.purview.answers import FoundAsset
from headwater.sinks.targets.purview.entity_types import OUR_TYPES, PLACEHOLDER
from headwater.sinks.targets.purview.wire import Entity, Key, entity_key, reference, reference_key

_WORDS = re.compile(r"[^\W_]+")
_PATTERN = re.compile(r"/\{[^/{}]+\}$")
"""End of a resource set, which represents the files of a folder."""


def search_term(dataset: Entity) -> str:
    """Return the search term: the last part of a path, or of a table's dotted name."""
    name = str(dataset["attributes"].get("openlineageName") or dataset["attributes"]["name"]).rstrip("/")
    return name.rpartition("/" if "/" in name else ".")[2]


def match_asset(dataset: Entity, found: Iterable[FoundAsset]) -> Key | None:
    """Return the matching asset: for known types by normalised name, else the only asset whose words match."""
    fits = _has_same_words if dataset["typeName"] == PLACEHOLDER else _has_same_name
    same = [each for each in found if each.entity_type not in OUR_TYPES and fits(dataset, each)]
    sets = [each for each in same if "resource_set" in each.entity_type]
    best = sorted({(each.entity_type, each.qualified_name) for each in sets or same})
    return best[0] if len(best) == 1 else None


def rewrite_references(
    entity: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key] = MappingProxyType({})
) -> Entity:
    """Return a process with references replaced by the assets that they are bound to, also in its column mapping.

    by_guid: keys of assets by guid, for references as Atlas returns them.
    """
    attributes = dict(entity["attributes"])
    for side in ("inputs", "outputs"):
        if side in attributes:
            references = [_reference(each, bound, by_guid) for each in attributes[side]]
            attributes[side] = [each for place, each in enumerate(references) if each not in references[:place]]
    names = {was[1]: now[1] for was, now in bound.items()}
    mapping = json.loads(attributes.get("columnMapping") or "[]")
    for pair in mapping:
        pair["DatasetMapping"] = {end: names.get(name, name) for end, name in pair["DatasetMapping"].items()}
    if mapping:
        attributes["columnMapping"] = json.dumps(mapping, ensure_ascii=False, separators=(",", ":"))
    return {"typeName": entity["typeName"], "attributes": attributes}


def _reference(found: Entity, bound: Mapping[Key, Key], by_guid: Mapping[str, Key]) -> Entity:
    if "guid" in found and found["guid"] not in by_guid:
        return {"typeName": found["typeName"], "guid": found["guid"]}
    key = by_guid[found["guid"]] if "guid" in found else reference_key(found)
    return reference(*bound.get(key, key))


def _has_same_name(dataset: Entity, found: FoundAsset) -> bool:
    return _normal(entity_key(dataset)[1]) == _normal(found.qualified_name)


def _normal(name: str) -> str:
    return _PATTERN.sub("", name.lower().rstrip("/")).rstrip("/").replace(".dfs.", ".blob.")


def _has_same_words(dataset: Entity, found: FoundAsset) -> bool:
    """Return whether an asset has all words of the dataset's host, and those of its name in order up to the last."""
    there = _WORDS.findall(found.qualified_name.lower())
    attributes = dataset["attributes"]
    host = attributes["openlineageNamespace"].partition("://")[2]
    name = _WORDS.findall(attributes["openlineageName"].lower())
    left = iter(there)
    return bool(
        host and name and there and there[-1] == name[-1]
        and {*_WORDS.findall(host.lower())} <= {*there} and all(word in left for word in name)
    )  # fmt: skip
