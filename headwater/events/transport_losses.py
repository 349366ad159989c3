"""A transport's word on what it dropped, as an event: a loss travels as events do, and is stored once, by its id.

The word is a line among a transport's events, the last of a file: `{"headwater": {…}}` (docs/doors.md).
"""

from typing import Annotated

import msgspec

FACET = "headwater_transportLosses"
"""Of the job that a loss is told of."""

PRODUCER = "urn:headwater:transport"

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"
_MARK = b'"headwater"'

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Count = Annotated[int, msgspec.Meta(ge=0)]


class _Losses(msgspec.Struct, rename="camel"):
    """What one application lost between two moments (ISO 8601), counted by why."""

    application_name: _Text
    dropped: _Count
    until: _Text
    since: str = ""
    queue_full: _Count = 0
    unserialisable: _Count = 0
    transport: str = ""
    application: str = ""
    namespace: _Text = "headwater"


class _Line(msgspec.Struct, forbid_unknown_fields=True):
    headwater: _Losses


_line = msgspec.json.Decoder(_Line)


def loss_event(line: bytes) -> bytes | None:
    """Return the JobEvent that a line of losses becomes, the same each time; None for every other line.

    Its time is `until`, its job the application in the line's `namespace`, else in `headwater`; what was lost is the
    job's facet `headwater_transportLosses`: dropped, queueFull, unserialisable, since, until, transport, application.
    """
    if _MARK not in line[:64]:  # nearly every line: an event, which is not decoded here
        return None
    try:
        lost = _line.decode(line).headwater
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    told = msgspec.to_builtins(lost)
    job = {"namespace": told.pop("namespace"), "name": told.pop("applicationName")}
    facet = {"_producer": PRODUCER, "_schemaURL": f"{_SPEC}JobFacet", **told}
    return msgspec.json.encode(
        {
            "eventTime": lost.until,
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}JobEvent",
            "job": {**job, "facets": {FACET: facet}},
        }
    )
