"""Generate small worlds: the events of a few jobs on a few datasets, with all kinds of faults.

The code is the same for Hypothesis, which draws and shrinks the choices, and for `random.Random`, which draws batches.
"""

import random
import re
import zlib
from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from tests.reference.draws import Draw
from tests.reference.records import Delivered
from tests.reference.world_events import Json, deliver
from tests.reference.world_gaps import add_gaps, add_unlisted
from tests.reference.world_lives import LivingWorld
from tests.reference.world_sql import add_sql
from tests.reference.world_writes import add_copies, add_fed_jobs, add_jobs, add_writes, commits, declarations

LONGEST = 16  # number of events of a world before some are duplicated
FEW = (10, 14, 23, 26, 37, 46, 56, 67, 91, 95, 97, 99, 102, 112, 134, 147, 160, 162, 172, 193, 213, 234, 258, 259)
"""Seeds of worlds that together contain every feature, most of them three times."""
FEWEST = (10, 23, 46, 67, 91, 95, 160, 172, 193, 258)
"""Those of them that have all of it at least once, for the lake of silver and gold."""

BYTES = 1200  # number of choices that Hypothesis draws; later choices are the simplest


class RandomDraw(Draw):
    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def number(self, low: int, high: int) -> int:
        return self._random.randint(low, high)


class BytesDraw(Draw):
    """Take choices from bytes that Hypothesis draws at once, because a separate draw for each is ten times slower."""

    def __init__(self, choices: bytes) -> None:
        self._choices = iter(choices)

    def number(self, low: int, high: int) -> int:
        return low + next(self._choices, 0) * (high - low + 1) // 256


@st.composite
def worlds(draw: st.DrawFn) -> list[Delivered]:
    return make_world(BytesDraw(draw(st.binary(min_size=BYTES, max_size=BYTES))))


def random_world(seed: int) -> list[Delivered]:
    return make_world(RandomDraw(seed))


def make_world(draw: Draw) -> list[Delivered]:
    world = LivingWorld(draw)
    wanted = draw.number(2, LONGEST)
    while len(world.events) < wanted:
        world.play()
    events = world.events[:LONGEST]
    for _ in range(draw.number(0, 2) if draw.chance(30) else 0):
        events.insert(draw.number(0, len(events)), draw.choice(events))
    sent = _shuffled(draw, events) if draw.chance(50) else events
    add_sql(draw, sent)
    add_gaps(draw, sent)
    add_unlisted(draw, sent)
    add_writes(sent)
    add_copies(sent)
    add_jobs(sent)
    add_fed_jobs(sent)
    return deliver([*sent, *declarations(sent), *commits(sent)])


def world_in_namespace(world: list[Delivered], prefix: str) -> list[Delivered]:
    """Return the world with prefixed namespaces and run ids, so that one lake can contain many worlds.

    prefix: lower-case letters, digits and dashes. Run ids and event ids keep their order.
    """
    return [replace(each, event=_moved(each.event, prefix), event_id=prefix + each.event_id) for each in world]


def prefix(seed: int) -> str:
    """Return the namespace prefix of a world that shares a lake with others."""
    return f"w{seed:04d}x"


def world_in(text: str) -> str | None:
    """Return the first world that a text names, or None."""
    found = re.search(r"w\d{4}x", text)
    return found[0] if found else None


def _moved(value: Any, prefix: str) -> Any:
    if isinstance(value, list):
        return [_moved(each, prefix) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: _moved_member(key, each, prefix) for key, each in value.items()}


def _moved_member(key: str, value: Any, prefix: str) -> Any:
    if key == "namespace":
        return _moved_namespace(value, prefix)
    if key in ("inlets", "outlets") and isinstance(value, str):  # a Python list of addresses as text
        return re.sub("(?<=://)", prefix, value)
    is_run_id = key == "runId" or (key == "run" and isinstance(value, str))
    return _moved_run_id(value, prefix) if is_run_id else _moved(value, prefix)


def _moved_namespace(value: str, prefix: str) -> str:
    if value == "headwater":  # the rules treat this namespace specially
        return value
    scheme, mark, rest = value.rpartition("://")
    return f"{scheme}{mark}{prefix}{rest}"


def _moved_run_id(value: str, prefix: str) -> str:
    head, dash, rest = value.partition("-")
    block = f"{zlib.crc32(prefix.encode()):08x}"
    moved = block if head.lower() == "0195c000" else f"{head}{block}"
    return f"{moved.upper() if value.isupper() else moved}{dash}{rest}"


def _shuffled(draw: Draw, events: list[Json]) -> list[Json]:
    left, shuffled = list(events), []
    while left:
        shuffled.append(left.pop(draw.number(0, len(left) - 1)))
    return shuffled
