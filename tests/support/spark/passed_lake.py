"""One lake that pass after pass has grown, and what each read: several files ask it."""

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.spark.repeated_passes import run_passes
from headwater.tables import COLUMN_EDGES, EDGE_SETS, EVENTS, RUN_DATASETS, RUNS, TABLE_EDGES
from tests.lake.test_bronze_shapes import made, samples, spoiled
from tests.reference.world_events import at, column_lineage, dataset, facet, run_event, schema, source, step
from tests.support.spark.spark_files import FilesRead
from tests.support.spark.spark_lake import RULES, SparkLake

RUNS_EACH, RECURRING, LATER_RECURRING = 20, range(10), range(10, 12)
SPACE = "w0001x"
RECURS = "recurs"
"""Of what the recurring job reads and writes, and of nothing else in this lake."""

STREAMING = {"jobType": facet(processingType="STREAMING", integration="SPARK")}
LATE = RUNS_EACH + 5
GROWING = (
    ("silver", RUNS),
    ("silver", RUN_DATASETS),
    ("silver", EDGE_SETS),
    ("gold", COLUMN_EDGES),
    ("gold", TABLE_EDGES),
)
Files = dict[str, int]


def event(
    minute: int, state: str, *, job: str = "load", at_minute: float | None = None, streams: bool = False
) -> bytes:
    """Return an event of a run that began in that minute; its id begins with that, as listeners send them."""
    run = f"{0x0195C000 + minute:08x}-0000-7000-8000-000000000001"
    fields = {"a": [source((SPACE, "from"), "a", step("DIRECT"))]}
    inputs = [dataset((SPACE, "from"), schema=schema(["a"]))]
    outputs = [dataset((SPACE, f"{job} to"), schema=schema(["a"]), columnLineage=column_lineage(fields))]
    second = 60 * (minute if at_minute is None else at_minute)
    found = run_event(state, at(second), run, (SPACE, job), inputs=inputs, outputs=outputs)
    return json.dumps({**found, "job": {**found["job"], "facets": STREAMING if streams else {}}}).encode()


def recurring(numbers: range, **run_facets: Any) -> Iterator[bytes]:
    """Runs of one job that reads and writes the same, again and again; all began before those of `event`."""
    lineage = facet(fields={"b": {"inputFields": [{"namespace": RECURS, "name": "in", "field": "a"}]}})
    out = dataset((RECURS, "out"), schema=facet(fields=[{"name": "b"}]), columnLineage=lineage)
    read = dataset((RECURS, "in"), schema=facet(fields=[{"name": "a"}]), note=facet(text="kept by hash"))
    for number in numbers:
        run = f"{0x0195B000 + number:08x}-0000-7000-8000-000000000001"
        for kind, minute in (("START", 2 * number), ("COMPLETE", 2 * number + 1)):
            told = {"processing_engine": facet(version=str(number))} | run_facets
            found = run_event(kind, at(minute), run, inputs=[read], outputs=[out], run_facets=told)
            yield json.dumps(found).encode()


class PassedLake(SparkLake):
    """The lake: two passes by a session that goes on, the second over odd events, too; then one over runs of that one.

    sent, taken: how many events there were for each of the first two passes, and how many each took; columns: of
    bronze, by pass, what each scan of its events read, the first two as one; most: of a pass, by table that grows, the
    most files that one scan of it read.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        super().__init__(spark, folder)
        self.sent: list[int] = []
        self.columns: dict[str, list[str]] = {}
        self.most: dict[str, Files] = {}
        self.taken = self._grown()
        again = [event(500, "COMPLETE", at_minute=501), event(LATE, "OTHER", at_minute=LATE + 0.5)]
        updates = [event(600, "RUNNING", job="stream", at_minute=600 + each, streams=True) for each in range(1, 51)]
        assert self._pass("known runs", [*again, *updates]) == 52

    def _grown(self) -> list[int]:
        """Make passes until interrupted: tables have a file of each; a run and a stream have begun."""
        read, taken = FilesRead(self.spark), list[int]()
        begun = [event(500, "START"), event(600, "START", job="stream", streams=True)]
        odd = [*recurring(LATER_RECURRING, long=facet(text="x" * 5000)), *samples(), *spoiled(), *made()]
        rest = [[*runs(RUNS_EACH), *begun, *odd]]
        self._send([*recurring(RECURRING), *runs(0)])
        for count, _ in run_passes(self.spark, self.uri, lambda: RULES, every_s=0.1):
            taken.append(count)
            if rest:
                self._send(rest.pop())
            else:
                signal.raise_signal(signal.SIGINT)
        self.columns["odd"] = self._scanned(read)
        return taken

    def _send(self, bodies: list[bytes]) -> None:
        self.sent.append(len(bodies))
        self.store(bodies)

    def _pass(self, name: str, bodies: list[bytes]) -> int:
        self.store(bodies)
        read = FilesRead(self.spark)
        taken = self.build()
        most = read.most()
        self.most[name] = {table.name: most.get(self.folder(layer, table), 0) for layer, table in GROWING}
        self.columns[name] = self._scanned(read)
        return taken

    def _scanned(self, read: FilesRead) -> list[str]:
        return read.columns(self.world.folder / "lake" / "bronze" / EVENTS.name)


def runs(first: int) -> list[bytes]:
    return [event(minute, "COMPLETE") for minute in range(first, first + RUNS_EACH)]
