"""Silver and gold as a judge: many worlds in one lake, each in namespaces of its own."""

import copy
import json
import re
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from headwater.lineage.time.snapshot import Window
from headwater.spark.gold.gold_answers import counting
from headwater.spark.gold.snapshot_of_rows import SnapshotOfRows
from headwater.spark.silver.silver_names import LearntNames
from headwater.tables import BINDINGS, DATASETS, MASKING_SURFACE, UNUSED_COLUMNS
from tests.proof.campaign import Tally, Variant, Violation, variants
from tests.proof.judges import SURFACE_FIRST, TAG, USE_FIRST, column_of, exposure_of, folded, reached
from tests.proof.ranks import Answers, Asked, Reached, unsafe_answers
from tests.proof.streams import Stream
from tests.reference.names import Name
from tests.reference.world_events import Json
from tests.spark_lake import RULES, SparkLake, prefix, world_in

FIRST = 7_000
"""Number of the first world: others share the lake."""
PLACED = ("arn:", "oracle:", "jdbc:")
"""How namespaces begin that are none any more with something before them; their streams are left out."""


def placed_variants(numbers: Iterable[int]) -> list[tuple[int, Variant]]:
    """Return variants, and the number under which each lies in the lake: before it, behind it after the operator."""
    found = [_portable(each) for each in variants(numbers) if not _is_placed(each)]
    return [(FIRST + 2 * at, variant) for at, variant in enumerate(found)]


def bodies(placed: Iterable[tuple[int, Variant]]) -> Iterator[list[bytes]]:
    """Yield the events of each world before an operator, and after it."""
    for number, variant in placed:
        yield _bodies(variant.stream.events, prefix(number))
        yield _bodies(variant.mutation.after, prefix(number + 1))


class SparkJudge:
    """What gold says, and the graph of silver's open candidates."""

    def __init__(self, lake: SparkLake) -> None:
        rows = counting(lake.candidates(), lake.read("silver", DATASETS)).collect()
        naming = LearntNames(lake.read("silver", BINDINGS).collect()).naming
        position = lake.position()
        self._now = SnapshotOfRows(RULES, naming, (tuple(row) for row in rows), position.parted)
        self._now.newest_us = position.newest_us
        self._counted = self._now.counted_since(Window())
        self._surface = _by_world(row for row in lake.gold(MASKING_SURFACE) if row.tag == TAG)
        self._unused = _by_world(lake.gold(UNUSED_COLUMNS))

    def answers(self, number: int, asked: Asked) -> Answers:
        world = prefix(number)
        used = ((_plain(column_of(row), world), row.verdict) for row in self._unused.get(world, ()))
        shown = ((_plain(column_of(row), world), exposure_of(row)) for row in self._surface.get(world, ()))
        return Answers(
            folded(used, USE_FIRST),
            folded(shown, SURFACE_FIRST),
            [self._reached(column, world, asked, forward=True) for column in asked.impact],
            [self._reached(column, world, asked, forward=False) for column in asked.upstream],
        )

    def campaign(self, placed: Sequence[tuple[int, Variant]]) -> Tally:
        tally = Tally()
        for number, variant in placed:
            before = self.answers(number, variant.asked)
            after = self.answers(number + 1, variant.asked_after)
            unsafe = unsafe_answers(variant.asked, before, after, variant.stream.events, variant.mutation)
            tally.add(variant, [Violation(variant, each) for each in unsafe], is_effective=before != after)
        return tally

    def _reached(self, column: Any, world: str, asked: Asked, *, forward: bool) -> Reached:
        there = (_prefixed(column[0], world), *column[1:])
        found = reached(self._now, self._counted, there, asked.mode, forward=forward)
        return Reached(
            frozenset(_plain(each, world) for each in found.columns),
            frozenset(_plain(each, world) for each in found.stops),
        )


def _by_world(rows: Iterable[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for row in rows:
        if world := world_in(row.namespace):
            found.setdefault(world, []).append(row)
    return found


def _plain(named: Any, world: str) -> Any:
    return (named[0].replace(world, ""), *named[1:])


def _is_placed(variant: Variant) -> bool:
    text = json.dumps(variant.stream.events)
    return any(f'"namespace": "{begin}' in text for begin in PLACED)


def _portable(variant: Variant) -> Variant:
    """Return a variant in which files lie in a bucket: what has no `://` is another system with something before it."""
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
    moved = copy.deepcopy(event)
    _on_members(moved, "namespace", _bucket)
    return moved


def _name_in_bucket(name: Name) -> Name:
    return _bucket(name[0]), name[1]


def _bucket(namespace: str) -> str:
    return "s3://local-files" if namespace == "file" or namespace.startswith("file:") else namespace


def _bodies(events: Iterable[Json], world: str) -> list[bytes]:
    placed = copy.deepcopy(list(events))
    for event in placed:
        _on_members(event, "namespace", lambda namespace: _prefixed(namespace, world))
        _on_members(event, "runId", lambda run_id: _own_run(run_id, world))
    return [json.dumps(event).encode() for event in placed]


def _prefixed(namespace: str, world: str) -> str:
    scheme, mark, rest = namespace.rpartition("://")
    return f"{scheme}{mark}{world}{rest}"


def _own_run(run_id: str, world: str) -> str:
    """Return another id for each world; ids of one world keep their order, but for those of several clocks."""
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
