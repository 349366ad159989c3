"""Write whole runs to a Delta table, for use in Spark: one row per run, appended exactly once."""

from collections.abc import Sequence
from datetime import UTC, datetime
from hashlib import sha256
from itertools import groupby
from pathlib import Path
from typing import Literal, cast

import msgspec
from pydantic import Field

from headwater.common.errors import LakeUnavailable
from headwater.events.position import Position
from headwater.events.rule_facets import text_at
from headwater.lake.delta_table import LakeTable
from headwater.lineage.runs.jobs import run_key
from headwater.sinks.interface.options import (
    Options,
    Pause,
    SecretReference,
    SecretResolver,
    StorageLocation,
    resolve_secrets,
)
from headwater.sinks.interface.shape import History, Outcome, Payload, SinkEvent, retry_all
from headwater.sinks.interface.support import ItemSupport, SupportTable, full_support
from headwater.sinks.merging.runs import RUN_SUPPORT, MergedEvent, due_runs, facet_members, run_event
from headwater.tables import SENT_RUNS


class DeltaOptions(Options):
    """Options of the type `delta`."""

    type: Literal["delta"]
    table: StorageLocation = Field(
        description="Folder, `abfss://` or `s3://` address; the table is created if it is missing."
    )
    options: dict[str, str | SecretReference] = Field({}, description="Storage options of delta-rs.")
    every: Pause = Field(60.0, description="Minimum time between two commits.")


OPTIONS = DeltaOptions


def support_table(options: Options) -> SupportTable:
    """Return what a row can represent: a row has columns for the run, and contains the whole run as one event."""
    declared = (ItemSupport("event", kind, "not", "a row represents a run") for kind in ("JOB", "DATASET"))
    began = ItemSupport("state", "START", "part", "the start time")
    others = (each for each in RUN_SUPPORT if each.names != began.names)
    return (*declared, began, *others, *full_support(options))


class NamedDataset(msgspec.Struct):
    """Namespace and name of a dataset, as sent."""

    namespace: str
    name: str


class SentRun(msgspec.Struct):
    """A row of SENT_RUNS without the columns for the position of the event; all times are in us, UTC."""

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
    """A target that appends to one table.

    app: prefix of the Delta transaction names that store positions. Sinks with different filters have different
    prefixes.
    """

    largest = 2_000

    def __init__(self, table: LakeTable, app: str) -> None:
        self._table = table
        self._app = app
        self._created = False

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of runs that have no earlier events."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return one row for each run that has ended, and for the current state of each stream."""
        return [
            Payload(last, msgspec.json.encode(_to_sent_run(run)))
            for last, run in due_runs(events, history)
            if run.kind == "RUN"
        ]

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Append rows with one commit per partition; a Delta transaction prevents appending the same rows twice."""
        try:
            self._create_table()
            for source, some in groupby(payloads, lambda payload: payload.event.source):
                rows = [(each.event.head.sequence, _cells_of_payload(each)) for each in some]
                app = f"{self._app}/{source.log}/{source.epoch}/{source.partition}"
                self._table.append_once(app, self._table.prepare(rows), rows[-1][0])
        except LakeUnavailable as error:
            return retry_all(len(payloads), str(error))
        return Outcome()

    def check(self) -> str:
        """Open or create the table."""
        self._create_table()
        return f"the table exists, at version {self._table.handle().version()}"

    def close(self) -> None:
        """Do nothing: the table holds no connection."""

    def _create_table(self) -> None:
        if not self._created:
            self._table.create({})
            self._created = True


def open_target(options: Options, reveal: SecretResolver) -> DeltaTarget:
    """Return the target; raises WrongSetting if a secret is missing."""
    given = cast("DeltaOptions", options)
    uri = given.table if "://" in given.table else str(Path(given.table).expanduser().resolve())
    app = f"headwater/{sha256(given.only.model_dump_json().encode()).hexdigest()[:16]}"
    return DeltaTarget(LakeTable(uri, SENT_RUNS, resolve_secrets(given.options, reveal)), app)


def _to_sent_run(run: MergedEvent) -> SentRun:
    return SentRun(
        run_key=run_key(run.run_id or "", run.job),
        run_id=run.run_id or "",
        job_namespace=run.job.namespace,
        job_name=run.job.name,
        state=run.state or "RUNNING",
        started_at=run.first_event_us,
        ended_at=run.ended_us,
        last_event_at=run.last_event_us,
        producer=run.producer,
        parent_run_id=text_at(facet_members(run.run_facets, "parent"), "run", "runId"),
        inputs=[NamedDataset(*name.parts) for name in run.inputs],
        outputs=[NamedDataset(*name.parts) for name in run.outputs],
        event=run_event(run).decode(),
    )


def _cells_of_payload(payload: Payload) -> tuple[object, ...]:
    source, head, _ = payload.event
    row = msgspec.json.decode(payload.body, type=SentRun)
    place = Position(source, head.sequence, head.received_us)
    return *msgspec.structs.astuple(row), *place.cells(), datetime.fromtimestamp(head.received_us / 1e6, UTC).date()
