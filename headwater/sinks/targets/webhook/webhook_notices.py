"""What is told of events that people wait for: small, the same for the same events; pure."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from headwater.events.decode import decode, repair_surrogates
from headwater.events.error_facets import errors_in
from headwater.events.times import iso, parse_time
from headwater.events.wire import WireEvent, read_wire_event
from headwater.lake.schema_changes import SchemaChange
from headwater.lineage.runs.lost_runs import LOST_AFTER_US
from headwater.lineage.runs.sent_facets import run_facets
from headwater.sinks.contract.sink_shape import SinkEvent, run_of
from headwater.sinks.merging.merged_event import MergedEvent
from headwater.sinks.targets.webhook.broken_contracts import BrokenContract
from headwater.sinks.targets.webhook.exposed_columns import ExposedColumn
from headwater.sinks.targets.webhook.unreported_notice import unreported_about, unreported_data

NoticeKind = Literal[
    "run.failed", "run.lost", "schema.changed", "column.exposed", "contract.broken", "unreported.found"
]  # fmt: skip

_LONGEST = 1000
"""Characters of an error's message, or of what is said of a transformation."""
_DATASETS, _COLUMNS = 20, 100
"""Datasets of a notice, and of each its columns of one kind; `datasetsTotal` and the like say how many there are."""


def run_failed(event: SinkEvent) -> bytes:
    """Return the notice of an event FAIL or ABORT; a run that says so twice gives one id."""
    wire = _read(event)
    errors = errors_in({name: decode(bytes(text)) for name, text in run_facets(wire).items()})
    message = next((each.message for each in errors if each.of == "run"), None)
    data = _run(event) | {"state": event.head.state} | ({"message": message[:_LONGEST]} if message else {})
    return _notice("run.failed", f"{run_of(event.head)} {event.head.state}", _sent_us(wire, event), data)


def run_lost(event: SinkEvent, said: MergedEvent) -> bytes:
    """Return the notice of a lost run; lost again behind another event it has another id."""
    data = _run(event) | {"startedAt": iso(said.began_us), "lastEventAt": iso(said.newest_us)}
    about = f"{run_of(event.head)} {said.newest_us}"
    return _notice("run.lost", about, said.newest_us + LOST_AFTER_US, data)


def schema_changed(event: SinkEvent, changes: Sequence[SchemaChange]) -> bytes:
    """Return the notice of an event that says other columns of datasets than were said before."""
    data = _run(event) | {"datasets": [_change(each) for each in changes[:_DATASETS]], "datasetsTotal": len(changes)}
    return _notice("schema.changed", event.head.event_id, _sent_us(_read(event), event), data)


def column_exposed(tag: str, column: ExposedColumn, at_us: int, turn: int) -> bytes:
    """Return the notice of a column that can be read and could not be before; exposed again it has another id."""
    way = column.via.transformation
    said = str(way.get("description") or "")[:_LONGEST]
    via = msgspec.structs.asdict(column.via) | {"transformation": way | {"description": said or None}}
    data = {"tag": tag} | msgspec.structs.asdict(column) | {"via": via}
    return _notice("column.exposed", f"{column.id_of(tag)} {turn}", at_us, data)


def contract_broken(contract: BrokenContract, at_us: int, turn: int) -> bytes:
    """Return the notice of a contract that is kept no more; broken again it has another id."""
    told = [msgspec.structs.asdict(each) for each in contract.breaks[:_DATASETS]]
    breaks = [each | {"message": str(each["message"])[:_LONGEST]} for each in told]
    data = {"file": contract.file, "dataset": contract.dataset, "version": contract.version}
    more = {"breaks": breaks, "breaksTotal": len(contract.breaks)}
    return _notice("contract.broken", f"{contract.id} {turn}", at_us, data | more)


def unreported_found(event: SinkEvent) -> bytes | None:
    """Return the notice of a comparison that found somebody; the same findings once more have the same id."""
    data = unreported_data(event)
    if data is None:
        return None
    return _notice("unreported.found", unreported_about(data), _sent_us(_read(event), event), data)


def _change(change: SchemaChange) -> dict[str, Any]:
    before, now = change.before, change.now
    return {
        "namespace": change.namespace,
        "name": change.name,
        **_listed("added", [{"name": name, "type": now[name]} for name in now if name not in before]),
        **_listed("removed", [{"name": name, "type": before[name]} for name in before if name not in now]),
        **_listed(
            "retyped",
            [{"name": name, "from": before[name], "to": now[name]} for name in now if _retyped(name, before, now)],
        ),
    }


def _retyped(name: str, before: Mapping[str, str | None], now: Mapping[str, str | None]) -> bool:
    return name in before and before[name] != now[name]


def _listed(name: str, columns: Sequence[Any]) -> dict[str, Any]:
    return {name: columns[:_COLUMNS], f"{name}Total": len(columns)}


def _run(event: SinkEvent) -> dict[str, Any]:
    """Return the run and job that an event is of; nothing of an event of a dataset."""
    head = event.head
    job = {"job": {"namespace": head.job_namespace, "name": head.job_name}} if head.job_name else {}
    return ({"runId": head.run_id} if head.run_id else {}) | job


def _read(event: SinkEvent) -> WireEvent:
    return read_wire_event(repair_surrogates(event.body))[0]


def _sent_us(wire: WireEvent, event: SinkEvent) -> int:
    sent_us, _ = parse_time(wire.eventTime)
    return event.head.received_us if sent_us is None else sent_us


def _notice(kind: NoticeKind, about: str, time_us: int, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode(
        {
            "type": kind,
            "id": f"msg_{hashlib.sha256(f'{kind} {about}'.encode()).hexdigest()[:32]}",
            "timestamp": iso(time_us),
            "data": data,
        }
    )
