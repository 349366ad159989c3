"""Events with different values for the same thing, and which value is the newest by rule 1, case by case."""

import json
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from tests.reference.world_events import Json, at, dataset, facet, parent, run_event, schema, uuid
from tests.support.lake_check import rows

DAY = 24 * 3600
GONE = object()
"""The value of a deleted facet (`_deleted`)."""
SPEAKS = '"_deleted"'


class Said(NamedTuple):
    """An event's type, the second of its time (as text: no time), its value for everything, and its output's value, if
    any.
    """

    kind: str
    second: float | str
    value: Any
    output: str | None = None


CASES: dict[str, tuple[list[Said], str | None]] = {
    "the later": ([Said("START", 1, "a"), Said("COMPLETE", 2, "b")], "b"),
    "the later, whatever its type": ([Said("COMPLETE", 1, "a"), Said("START", 2, "b")], "b"),
    "at one instant RUNNING behind START": ([Said("START", 1, "b"), Said("RUNNING", 1, "a")], "a"),
    "at one instant COMPLETE behind START": ([Said("START", 1, "b"), Said("COMPLETE", 1, "a")], "a"),
    "at one instant FAIL behind RUNNING": ([Said("RUNNING", 1, "b"), Said("FAIL", 1, "a")], "a"),
    "at one instant OTHER behind COMPLETE": ([Said("COMPLETE", 1, "b"), Said("OTHER", 1, "a")], "a"),
    "a clock 8 days ahead is below all": ([Said("START", 1, "a"), Said("COMPLETE", 8 * DAY, "b")], "a"),
    "a clock a few hours ahead is believed": ([Said("START", 1, "a"), Said("COMPLETE", 20 * 3600, "b")], "b"),
    "of clocks ahead the later": ([Said("START", 8 * DAY, "b"), Said("COMPLETE", 9 * DAY, "a")], "a"),
    "what is no time is the receipt": ([Said("COMPLETE", -1, "b"), Said("START", "soon", "a")], "a"),
    "null says nothing": ([Said("START", 1, "a"), Said("COMPLETE", 2, None)], "a"),
    "what was deleted is gone": ([Said("START", 1, "a"), Said("COMPLETE", 2, GONE)], None),
    "what was deleted may come again": ([Said("START", 1, GONE), Said("COMPLETE", 2, "a")], "a"),
    "speaking of _deleted deletes nothing": ([Said("START", 1, "b"), Said("COMPLETE", 2, SPEAKS)], SPEAKS),
    "in one event the output behind the input": ([Said("START", 1, "b"), Said("COMPLETE", 2, "b", "a")], "a"),
    "what was said once stays": ([Said("START", 0, "a"), *(Said("RUNNING", n, None) for n in range(1, 120))], "a"),
}  # fmt: skip
TIED = [Said("RUNNING", 1, value) for value in "abcdef"]
"""Only the event ids decide which of these events is the newest."""

NAMES = [*CASES, "the event id decides"]
NOMINAL = {value: f"2025-01-0{day}T00:00:00.000Z" for day, value in enumerate("abcdef", 1)}


UNKNOWN_BROKER = "kafka://null:-1"
SENT_PLACES = {NAMES[0]: UNKNOWN_BROKER}
"""Cases with a topic whose canonical name depends on the job namespace of the event (rule 2.1)."""


def place(name: str) -> tuple[str, str]:
    """Return the canonical name of the dataset of a case."""
    namespace = f"{UNKNOWN_BROKER}/newest" if name in SENT_PLACES else "s3://newest"
    return (namespace, f"d{NAMES.index(name)}")


def sent_place(name: str) -> tuple[str, str]:
    return (SENT_PLACES.get(name, "s3://newest"), f"d{NAMES.index(name)}")


def events_of(name: str) -> list[Json]:
    """Return the events of a case: one run of one job about one dataset."""
    told = CASES[name][0] if name in CASES else TIED
    return [_event(name, said, number) for number, said in enumerate(told)]


def _event(name: str, said: Said, number: int) -> Json:
    note = {"note": _note(said.value), "count": facet(of=number)}
    of_run = note | {"nominalTime": None, "parent": None}
    if said.value in NOMINAL:
        of_run["nominalTime"] = facet(nominalStartTime=NOMINAL[said.value])
        of_run["parent"] = parent(uuid(900), ("jobs", f"parent {said.value}"))
    of_output = [dataset(sent_place(name), **_described(note | {"note": _note(said.output)}, said.output))]
    time = said.second if isinstance(said.second, str) else at(said.second)
    return run_event(
        said.kind, time, uuid(NAMES.index(name)), ("newest", name), run_facets=of_run, job_facets=note,
        inputs=[dataset(sent_place(name), **_described(note, said.value))], outputs=of_output if said.output else [],
    )  # fmt: skip


def _described(note: Json, value: Any) -> Json:
    return note | ({"schema": schema([value])} if isinstance(value, str) else {})


def _note(value: Any) -> Json | None:
    if value is None:
        return None
    return facet(_deleted=True) if value is GONE else facet(text=value)


ELSE = {
    ("run", "in one event the output behind the input"): "b",
    ("job", "in one event the output behind the input"): "b",
    ("schema", "what was deleted is gone"): "a",
    ("parent", "what was deleted is gone"): "a",
    ("parent", "in one event the output behind the input"): "b",
    ("parent", "speaking of _deleted deletes nothing"): "b",
}
"""Expected values where not all events of a case contain the value."""


def case_of(name: str) -> str:
    """Return the case to which a run, job or dataset belongs."""
    return next(each for each in NAMES if name in (uuid(NAMES.index(each)), each, place(each)[1]))


def expected(folder: Path, what: str) -> dict[str, str]:
    """Return the newest values by rule 1. what: run, job, dataset, schema or parent."""
    found = {name: ELSE.get((what, name), value) for name, (_, value) in CASES.items()}
    found[NAMES[-1]] = _decided_by_id(folder)
    return {name: value for name, value in found.items() if value is not None}


@cache
def _decided_by_id(folder: Path) -> str:
    """Return the newest value of the last case from a lake that contains all its events."""
    tied = {row["event_id"]: json.loads(row["body"]) for row in rows(folder, "events")}
    newest = max(key for key, event in tied.items() if event.get("job", {}).get("name") == NAMES[-1])
    text: str = tied[newest]["job"]["facets"]["note"]["text"]
    return text


def shuffled(chance: Random) -> list[bytes]:
    found = [json.dumps(event).encode() for name in NAMES for event in events_of(name)]
    return chance.sample(found, len(found))
