"""Build DataHub's metadata change proposals, as upserts or patches; D6 and D10 in docs/reference/sinks.md."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw

from headwater.events.decode import decode
from headwater.sinks.targets.datahub.urns import escape_urn

Aspect = dict[str, Any]

MAX_TEXT_CHARS = 1000
"""Maximum length of the value of a property, in characters."""
MAX_PROPERTIES = 200
"""Maximum number of properties in one aspect."""
_POINTER = str.maketrans({"~": "~0", "/": "~1"})
_KEYS = {
    "inputDatasetEdges": "destinationUrn", "outputDatasetEdges": "destinationUrn",
    "inputDatajobEdges": "destinationUrn", "upstreams": "dataset",
}  # fmt: skip
_SOURCE = "attribution␟source"


def upsert_proposal(urn: str, name: str, aspect: Aspect) -> Aspect:
    """Return the proposal that replaces an aspect."""
    return _change_proposal(urn, name, "UPSERT", aspect, "application/json")


def add_lineage_proposals(urn: str, name: str, aspect: Aspect) -> Iterator[Aspect]:
    """Yield the proposal that adds the edges of an aspect to the existing edges; yields nothing without edges."""
    if operations := [_add_operation(path, value) for path, value in _edges_with_paths(aspect)]:
        yield _change_proposal(urn, name, "PATCH", operations, "application/json-patch+json")


def add_tags_proposals(urn: str, tags: Iterable[str]) -> Iterator[Aspect]:
    """Yield the proposal that adds tags and keeps the tags that people have set in DataHub; nothing without tags."""
    added = [_add_operation(("tags", "", tag), {"tag": tag}) for tag in sorted({tag_urn(each) for each in tags})]
    if added:
        yield _patch_proposal(urn, "globalTags", {"tags": [_SOURCE, "tag"]}, added)


def add_owners_proposals(urn: str, owners: Iterable[tuple[str, str]]) -> Iterator[Aspect]:
    """Yield the proposal that adds owners and keeps the owners that people have set in DataHub; nothing without owners.

    owners: pairs of the owner's URN and the type of ownership.
    """
    added = [
        _add_operation(("owners", owner, kind, "", ""), {"owner": owner, "type": kind})
        for owner, kind in sorted({*owners})
    ]
    if added:
        yield _patch_proposal(urn, "ownership", {"owners": ["owner", "type", "typeUrn", _SOURCE]}, added)


def tag_urn(tag: str) -> str:
    """Return the URN of a tag; texts that are already tag URNs stay unchanged."""
    return tag if tag.startswith("urn:li:tag:") else f"urn:li:tag:{escape_urn(tag)}"


def audit_stamp(time_us: int) -> Aspect:
    """Return an audit stamp for a time (us, UTC) with an unknown actor."""
    return {"time": time_us // 1000, "actor": "urn:li:corpuser:unknown"}


def platform_instance_proposal(urn: str, platform: str, instance: str | None) -> Aspect:
    """Return the proposal that sets the platform of an entity, and the platform instance if there is one."""
    aspect = {"platform": platform}
    return upsert_proposal(
        urn, "dataPlatformInstance",
        aspect | ({"instance": f"urn:li:dataPlatformInstance:({platform},{escape_urn(instance)})"} if instance else {}),
    )  # fmt: skip


def facet_properties(facets: Mapping[str, Raw]) -> dict[str, str]:
    """Return the texts, numbers and booleans of facets by name: `facet.member`, or `facet.member.member` if nested.

    Returns at most MAX_PROPERTIES values, cut off after MAX_TEXT_CHARS characters.
    """
    found: dict[str, str] = {}
    for name, raw in sorted(facets.items()):
        for key, text in _scalar_members(name, decode(bytes(raw)), 2):
            if len(found) == MAX_PROPERTIES:
                return found
            found[key] = text[:MAX_TEXT_CHARS]
    return found


def _scalar_members(name: str, value: Any, deeper: int) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, member in value.items() if deeper else ():
            if not key.startswith("_"):
                yield from _scalar_members(f"{name}.{key}", member, deeper - 1)
    elif isinstance(value, str):
        yield name, value
    elif value is not None and not isinstance(value, list):
        yield name, msgspec.json.encode(value).decode()


def _edges_with_paths(aspect: Aspect) -> Iterator[tuple[Sequence[str], Any]]:
    for member, key in _KEYS.items():
        yield from (((member, each[key]), each) for each in aspect.get(member, ()))
    for fine in aspect.get("fineGrainedLineages", ()):
        way, score = fine.get("transformOperation", "NONE"), {"confidenceScore": fine["confidenceScore"]}
        for to in fine["downstreams"]:
            yield from ((("fineGrainedLineages", way, to, "NONE", of), score) for of in fine["upstreams"])


def _add_operation(path: Sequence[str], value: Any) -> Aspect:
    return {"op": "add", "path": "/" + "/".join(step.translate(_POINTER) for step in path), "value": value}


def _patch_proposal(urn: str, name: str, keys: Aspect, operations: Sequence[Aspect]) -> Aspect:
    patch = {"arrayPrimaryKeys": keys, "patch": operations}
    return _change_proposal(urn, name, "PATCH", patch, "application/json-patch+json")


def _change_proposal(urn: str, name: str, change: str, value: Any, content: str) -> Aspect:
    return {
        "entityType": urn.split(":", 3)[2],
        "entityUrn": urn,
        "changeType": change,
        "aspectName": name,
        "aspect": {"value": msgspec.json.encode(value).decode(), "contentType": content},
    }
