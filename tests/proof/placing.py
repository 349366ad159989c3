"""Add a prefix to the namespaces of worlds that share a lake or index, and remove it from answers."""

import json
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any

from tests.proof.campaign import EACH, Variant, variants
from tests.proof.streams import Stream
from tests.reference.names import Name
from tests.reference.world_events import Json
from tests.reference.worlds import world_in

PLACED = ("arn:", "oracle:", "jdbc:")
"""Prefixes of namespaces that would become invalid with a prefix. Their streams are left out."""


def portable_variants(numbers: Iterable[int], each: int = EACH) -> Iterator[Variant]:
    """Yield the variants whose namespaces can have a prefix."""
    return (_portable(variant) for variant in variants(numbers, each) if not _is_placed(variant))


def by_world(rows: Iterable[Any]) -> dict[str, list[Any]]:
    """Group rows by world, using the prefix of their namespaces."""
    found: dict[str, list[Any]] = {}
    for row in rows:
        if world := world_in(row.namespace):
            found.setdefault(world, []).append(row)
    return found


def plain(named: Any, world: str) -> Any:
    """Return a dataset or column of a world under its original name."""
    return (named[0].replace(world, ""), *named[1:])


def _is_placed(variant: Variant) -> bool:
    text = json.dumps(variant.stream.events)
    # the canonical form depends on the order of the host names
    several_hosts = re.search(r'"namespace": "[^"]*,', text)
    return bool(several_hosts) or any(f'"namespace": "{begin}' in text for begin in PLACED)


def _portable(variant: Variant) -> Variant:
    """Return a variant whose files are in a bucket, because a prefix would turn a namespace without `://` into another
    system.
    """
    stream = Stream(variant.stream.name, [_in_bucket(event) for event in variant.stream.events])
    moved = variant.mutation.moved
    mutation = replace(
        variant.mutation,
        events=[None if event is None else _in_bucket(event) for event in variant.mutation.events],
        moved=(_name_in_bucket(moved[0]), _name_in_bucket(moved[1])) if moved else None,
    )
    asked = replace(
        variant.asked,
        impact=tuple((_bucket(each[0]), *each[1:]) for each in variant.asked.impact),
        upstream=tuple((_bucket(each[0]), *each[1:]) for each in variant.asked.upstream),
    )
    return variant._replace(stream=stream, mutation=mutation, asked=asked)


def _in_bucket(event: Json) -> Json:
    moved: Json = json.loads(text := json.dumps(event))
    if '"namespace": "file' in text:
        _on_members(moved, "namespace", _bucket)
    return moved


def _name_in_bucket(name: Name) -> Name:
    return _bucket(name[0]), name[1]


def _bucket(namespace: str) -> str:
    return "s3://local-files" if namespace == "file" or namespace.startswith("file:") else namespace


def bodies_in(events: Iterable[Json], world: str) -> list[bytes]:
    """Return the events of a world with prefixed namespaces, as a producer sends them."""
    return [json.dumps(event).encode() for event in moved_events(events, world)]


def moved_events(events: Iterable[Json], world: str) -> list[Json]:
    """Return the events of a world with prefixed namespaces and run ids."""
    placed: list[Json] = json.loads(json.dumps(list(events)))
    for event in placed:
        _on_members(event, "namespace", lambda namespace: prefixed(namespace, world))
        _on_members(event, "runId", lambda run_id: _own_run(run_id, world))
    return placed


def prefixed(namespace: str, world: str) -> str:
    """Return a namespace with the prefix of a world."""
    scheme, mark, rest = namespace.rpartition("://")
    return f"{scheme}{mark}{world}{rest}"


def _own_run(run_id: str, world: str) -> str:
    """Return a different run id for each world. Within a world, ids keep their order, except those of
    several clocks.
    """
    if not re.match("[0-9a-fA-F]{8}-", run_id):
        return run_id
    block = zlib.crc32(world.encode()) ^ int(run_id[:8], 16)
    moved = f"{block:08x}{run_id[8:]}"
    return moved.upper() if run_id.isupper() else moved


def _on_members(value: Any, key: str, change: Any) -> None:
    if isinstance(value, dict):
        if isinstance(value.get(key), str):
            value[key] = change(value[key])
        value = list(value.values())
    for each in value if isinstance(value, list) else ():
        _on_members(each, key, change)
