"""Build the small JSON notices of a webhook; equal events result in equal notices."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import msgspec

from headwater.events.decode import decode, repair_surrogates
from headwater.events.error_facets import errors_in
from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.events.times import iso_time, parse_time
from headwater.events.wire import WireEvent, read_wire_event
from headwater.lake.dataset_schema_changes import SchemaChange
from headwater.lineage.runs.lost_runs import LOST_AFTER_US
from headwater.lineage.runs.sent_facets import run_facets
from headwater.sinks.interface.shape import SinkEvent, run_key_of
from headwater.sinks.merging.runs import MergedEvent
from headwater.sinks.targets.webhook.server import BrokenContract, ExposedColumn

_LONGEST = 1000
"""Maximum length of an error message or the description of a transformation, in characters."""
_DATASETS, _COLUMNS = 20, 100
"""Maximum number of datasets in a notice, and of columns per dataset; members `…Total` contain the full counts."""
_SHOWN = 20
_FINDING_FIELDS = ("kind", "name", "time", "id", "run", "version", "reason", "advice")
NoticeKind = Literal[
    "run.failed", "run.lost", "schema.changed", "column.exposed", "contract.broken", "unreported.found"
]  # fmt: skip


def run_failed_notice(event: SinkEvent) -> bytes:
    """Return the notice of a FAIL or ABORT event; if a run reports the same state again, the id is the same."""
    wire = _read_event(event)
    errors = errors_in({name: decode(bytes(text)) for name, text in run_facets(wire).items()})
    message = next((each.message for each in errors if each.of == "run"), None)
    data = _run_json(event) | {"state": event.head.state} | ({"message": message[:_LONGEST]} if message else {})
    return _encode_notice(
        "run.failed", f"{run_key_of(event.head)} {event.head.state}", _event_time_us(wire, event), data
    )


def run_lost_notice(event: SinkEvent, run: MergedEvent) -> bytes:
    """Return the notice of a lost run; if the run is lost again after another event, the id differs."""
    data = _run_json(event) | {"startedAt": iso_time(run.first_event_us), "lastEventAt": iso_time(run.last_event_us)}
    about = f"{run_key_of(event.head)} {run.last_event_us}"
    return _encode_notice("run.lost", about, run.last_event_us + LOST_AFTER_US, data)


def schema_changed_notice(event: SinkEvent, changes: Sequence[SchemaChange]) -> bytes:
    """Return the notice of an event that reports changed columns of datasets."""
    data = _run_json(event) | {
        "datasets": [_schema_change_json(each) for each in changes[:_DATASETS]],
        "datasetsTotal": len(changes),
    }
    return _encode_notice("schema.changed", event.head.event_id, _event_time_us(_read_event(event), event), data)


def column_exposed_notice(tag: str, column: ExposedColumn, at_us: int, turn: int) -> bytes:
    """Return the notice of a column that has become readable; if it becomes readable again, the id differs."""
    step = column.via.transformation
    description = str(step.get("description") or "")[:_LONGEST]
    via = msgspec.structs.asdict(column.via) | {"transformation": step | {"description": description or None}}
    data = {"tag": tag} | msgspec.structs.asdict(column) | {"via": via}
    return _encode_notice("column.exposed", f"{column.id_with_tag(tag)} {turn}", at_us, data)


def contract_broken_notice(contract: BrokenContract, at_us: int, turn: int) -> bytes:
    """Return the notice of a contract that has been broken; if it is broken again, the id differs."""
    first = [msgspec.structs.asdict(each) for each in contract.breaks[:_DATASETS]]
    breaks = [each | {"message": str(each["message"])[:_LONGEST]} for each in first]
    data = {"file": contract.file, "dataset": contract.dataset, "version": contract.version}
    more = {"breaks": breaks, "breaksTotal": len(contract.breaks)}
    return _encode_notice("contract.broken", f"{contract.id} {turn}", at_us, data | more)


def unreported_found_notice(event: SinkEvent) -> bytes | None:
    """Return the notice of a comparison, or None if it has no findings; equal findings have the same id."""
    data = comparison_notice_data(event)
    if data is None:
        return None
    return _encode_notice("unreported.found", unreported_key(data), _event_time_us(_read_event(event), event), data)


def _schema_change_json(change: SchemaChange) -> dict[str, Any]:
    before, now = change.before, change.now
    return {
        "namespace": change.namespace,
        "name": change.name,
        **_limited_list("added", [{"name": name, "type": now[name]} for name in now if name not in before]),
        **_limited_list("removed", [{"name": name, "type": before[name]} for name in before if name not in now]),
        **_limited_list(
            "retyped",
            [{"name": name, "from": before[name], "to": now[name]} for name in now if _is_retyped(name, before, now)],
        ),
    }


def _is_retyped(name: str, before: Mapping[str, str | None], now: Mapping[str, str | None]) -> bool:
    return name in before and before[name] != now[name]


def _limited_list(name: str, columns: Sequence[Any]) -> dict[str, Any]:
    return {name: columns[:_COLUMNS], f"{name}Total": len(columns)}


def _run_json(event: SinkEvent) -> dict[str, Any]:
    """Return the run and job of an event; empty for an event of a dataset."""
    head = event.head
    job = {"job": {"namespace": head.job_namespace, "name": head.job_name}} if head.job_name else {}
    return ({"runId": head.run_id} if head.run_id else {}) | job


def _read_event(event: SinkEvent) -> WireEvent:
    return read_wire_event(repair_surrogates(event.body))[0]


def _event_time_us(wire: WireEvent, event: SinkEvent) -> int:
    sent_us, _ = parse_time(wire.eventTime)
    return event.head.received_us if sent_us is None else sent_us


def _encode_notice(kind: NoticeKind, subject: str, time_us: int, data: dict[str, Any]) -> bytes:
    return msgspec.json.encode(
        {
            "type": kind,
            "id": f"msg_{hashlib.sha256(f'{kind} {subject}'.encode()).hexdigest()[:32]}",
            "timestamp": iso_time(time_us),
            "data": data,
        }
    )


def is_comparison(event: SinkEvent) -> bool:
    """Return whether an event comes from `headwater reconcile --save`."""
    head = event.head
    return head.kind == "JOB" and head.job_namespace == NAMESPACE and (head.job_name or "").startswith(PREFIX)


def comparison_notice_data(event: SinkEvent) -> dict[str, Any] | None:
    """Return the content of a notice about a comparison, or None if it found nothing.

    The content has the number of findings by kind and the newest findings.
    """
    try:
        facet = decode(event.body)["job"]["facets"][FACET]
        found = [{name: each.get(name) for name in _FINDING_FIELDS} for each in facet["findings"]]
        if not found:
            return None
        kinds = Counter(each["kind"] for each in found)
        summary = {name: facet[name] for name in ("since", "until", "total")}
    except (KeyError, TypeError, AttributeError):
        return None  # a job of another producer with the same name
    return {
        "comparison": str(event.head.job_name).removeprefix(PREFIX),
        **summary,
        "kinds": kinds,
        "findings": found[-_SHOWN:],
    }


def unreported_key(data: dict[str, Any]) -> str:
    """Return a key that is equal for equal findings, so that repeated findings repeat the notice's id."""
    found = sorted(str([each[name] for name in ("kind", "name", "id", "run", "version")]) for each in data["findings"])
    return f"{data['comparison']} {data['total']} {found}"
