"""A lineage whose names contain characters that could escape quotes, paths, lines, HTML or the text direction."""

import json
from itertools import pairwise

from tests.reference.world_events import at, column_lineage, dataset, facet, run_event, schema, source, step

NAMESPACE = 'w9999x it\'s <b>"odd"</b> 🦆'
NAMES = (
    'it\'s "quoted" `twice`',
    "a/b\\c//d",
    "two\nlines\tand a tab",
    "🦆 family 👩‍👩‍👧",
    "\u202egnp.elif\u202c \u200f\u05e9\u05dc\u05dd",
    "<script>alert('x')</script>",
    "${jndi:ldap://x} {} %s #{x}",
    "x'; DROP TABLE runs; --",
)
COLUMNS = tuple(f"{name} col.umn" for name in NAMES)
EDGES = {((before, f"{before} col.umn"), (after, f"{after} col.umn")) for before, after in pairwise(NAMES)}
JOB = (NAMESPACE, "job \"of\"\n<i>'all'</i> \u202e🦆")


def copies() -> list[bytes]:
    """Return one run for each step from one name to the next. The first column is tagged as personal data."""
    return [json.dumps(_copy(number, str(number), 100 + number)).encode() for number in range(len(NAMES) - 1)]


def one_more(run: str, second: float) -> bytes:
    """Return another run of the last step."""
    return json.dumps(_copy(len(NAMES) - 2, run, second)).encode()


def _copy(number: int, run: str, second: float) -> dict[str, object]:
    before, after = ((NAMESPACE, NAMES[place]) for place in (number, number + 1))
    tags = {"tags": facet(tags=[{"key": "pii", "value": "true", "field": COLUMNS[0]}])} if number == 0 else {}
    fields = {COLUMNS[number + 1]: [source(before, COLUMNS[number], step("DIRECT"))]}
    inputs = [dataset(before, schema=schema([COLUMNS[number]]), **tags)]
    outputs = [dataset(after, schema=schema([COLUMNS[number + 1]]), columnLineage=column_lineage(fields))]
    job = (JOB[0], f"{JOB[1]} {number}")
    return run_event("COMPLETE", at(second), run, job, inputs=inputs, outputs=outputs)
