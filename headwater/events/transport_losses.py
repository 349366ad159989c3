"""Converts a transport's reports of dropped events to events, so that each report is stored once, like all events.

A report is the last line of a file of events: `{"headwater": {…}}` (docs/how-to/data-engineer/offline-ingestion.md).
"""

from typing import Annotated

import msgspec

FACET = "headwater_transportLosses"
"""The job facet with the losses."""

PRODUCER = "urn:headwater:transport"

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_MARK = b'"headwater"'

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _LostEvents(msgspec.Struct, rename="camel"):
    """The number of events that one application lost between two times (ISO 8601), in total and by reason."""

    application_name: _Text
    dropped: _Count
    until: _Text
    since: str = ""
    queue_full: _Count = 0
    unserialisable: _Count = 0
    transport: str = ""
    application: str = ""
    namespace: _Text = "headwater"


class _LossLine(msgspec.Struct, forbid_unknown_fields=True):
    headwater: _LostEvents


_line = msgspec.json.Decoder(_LossLine)


def loss_event(line: bytes) -> bytes | None:
    """Convert a line of losses to a JobEvent, deterministically; return None for every other line.

    The event time is `until`. The job is the application, in the namespace that the line names or in `headwater`. The
    job facet `headwater_transportLosses` has the members dropped, queueFull, unserialisable, since, until, transport
    and application.
    """
    if _MARK not in line[:64]:  # almost every line is an event and need not be decoded
        return None
    try:
        lost = _line.decode(line).headwater
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    losses = msgspec.to_builtins(lost)
    job = {"namespace": losses.pop("namespace"), "name": losses.pop("applicationName")}
    facet = {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}JobFacet", **losses}
    return msgspec.json.encode(
        {
            "eventTime": lost.until,
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}JobEvent",
            "job": {**job, "facets": {FACET: facet}},
        }
    )
