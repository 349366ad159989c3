"""A Delta table of whole runs, for Spark downstream: a row each, appended exactly once."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Literal, cast

import msgspec
from pydantic import Field

from headwater.errors import LakeUnavailable
from headwater.events.position import Position
from headwater.events.rule_facets import text_at
from headwater.lake.delta_table import LakeTable
from headwater.lineage.runs.job_identity import run_key
from headwater.sinks.contract.sink_holdings import Holding, Holdings, as_sent
from headwater.sinks.contract.sink_options import Options, Pause, Place, Reveal, SecretReference, revealed
from headwater.sinks.contract.sink_shape import History, Outcome, Payload, SinkEvent, whole_again
from headwater.sinks.merging.merged_event import MergedEvent, facet
from headwater.sinks.merging.run_event import due_runs, held_of_runs, run_event
from headwater.tables import SENT_RUNS


class DeltaOptions(Options):
    """Options of the type `delta`."""

    type: Literal["delta"]
    table: Place = Field(description="Folder, `abfss://` or `s3://` address of the table, made if it is missing.")
    options: dict[str, str | SecretReference] = Field({}, description="Storage options of delta-rs.")
    every: Pause = Field(60.0, description="Least time between two commits.")


OPTIONS = DeltaOptions


def holdings(options: Options) -> Holdings:
    """Return what a row holds: columns, and the whole run as one event."""
    declared = (Holding("event", kind, "not", "a row is a run") for kind in ("JOB", "DATASET"))
    began = Holding("state", "START", "part", "when it began")
    others = (each for each in held_of_runs if each.names != began.names)
    return (*declared, began, *others, *as_sent(options))


class NamedDataset(msgspec.Struct):
    """A dataset by its name as sent."""

    namespace: str
    name: str


class SentRun(msgspec.Struct):
    """A row of SENT_RUNS as it is previewed: times in us, UTC; without what the event's place says."""

    run_key: str
    run_id: str
    job_namespace: str
    job_name: str
    state: str
    started_at: int
    ended_at: int | None
    last_event_at: int
    producer: str
    parent_run_id: str | None
    inputs: list[NamedDataset]
    outputs: list[NamedDataset]
    event: str


class DeltaTarget:
    """One table. app: the name under which commits say how far they are, another one for another filter."""

    largest = 2_000

    def __init__(self, table: LakeTable, app: str) -> None:
        """Touch nothing yet."""
        self._table = table
        self._app = app
        self._created = False

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing came before."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return the row of each run that has ended, and of a stream as it stands."""
        return [
            Payload(last, msgspec.json.encode(_row(said)))
            for last, said in due_runs(events, history)
            if said.kind == "RUN"
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Append rows in one commit of each partition, whose transaction leaves out what is there already."""
        try:
            self._create()
            for source, some in groupby(payloads, lambda payload: payload.event.source):
                rows = [(each.event.head.sequence, _cells(each)) for each in some]
                app = f"{self._app}/{source.log}/{source.epoch}/{source.partition}"
                self._table.append_once(app, self._table.prepare(rows), rows[-1][0])
        except LakeUnavailable as error:
            return whole_again(len(payloads), str(error))
        return Outcome()

    def check(self) -> str:
        """Open the table, or make it."""
        self._create()
        return f"the table is there, at version {self._table.handle().version()}"

    def close(self) -> None:
        """Nothing is open."""

    def _create(self) -> None:
        if not self._created:
            self._table.create({})
            self._created = True


def open_target(options: Options, reveal: Reveal) -> DeltaTarget:
    """Open a table; raises WrongSetting while a secret is missing."""
    given = cast("DeltaOptions", options)
    uri = given.table if "://" in given.table else str(Path(given.table).expanduser().resolve())
    app = f"headwater/{sha256(given.only.model_dump_json().encode()).hexdigest()[:16]}"
    return DeltaTarget(LakeTable(uri, SENT_RUNS, revealed(given.options, reveal)), app)


def _row(said: MergedEvent) -> SentRun:
    return SentRun(
        run_key=run_key(said.run_id or "", said.job),
        run_id=said.run_id or "",
        job_namespace=said.job.namespace,
        job_name=said.job.name,
        state=said.state or "RUNNING",
        started_at=said.began_us,
        ended_at=said.ended_us,
        last_event_at=said.newest_us,
        producer=said.producer,
        parent_run_id=text_at(facet(said.of_run, "parent"), "run", "runId"),
        inputs=[NamedDataset(*name.parts) for name in said.inputs],
        outputs=[NamedDataset(*name.parts) for name in said.outputs],
        event=run_event(said).decode(),
    )


def _cells(payload: Payload) -> tuple[object, ...]:
    """Return a row in the order of the table's columns."""
    source, head, _ = payload.event
    row = msgspec.json.decode(payload.body, type=SentRun)
    place = Position(source, head.sequence, head.received_us)
    return *msgspec.structs.astuple(row), *place.cells(), datetime.fromtimestamp(head.received_us / 1e6, UTC).date()
