"""Write files in the format of Event Hubs Capture, by the schema in the documentation of the service."""

import io
from collections.abc import Mapping
from typing import Any

import fastavro

_VALUES = ["long", "double", "string", "bytes", "null"]
_SCHEMA = fastavro.parse_schema(
    {
        "type": "record",
        "name": "EventData",
        "namespace": "Microsoft.ServiceBus.Messaging",
        "fields": [
            {"name": "SequenceNumber", "type": "long"},
            {"name": "Offset", "type": "string"},
            {"name": "EnqueuedTimeUtc", "type": "string"},
            {"name": "SystemProperties", "type": {"type": "map", "values": _VALUES[:4]}},
            {"name": "Properties", "type": {"type": "map", "values": _VALUES}},
            {"name": "Body", "type": ["null", "bytes"]},
        ],
    }
)


def captured(
    *records: tuple[bytes | None, Mapping[str, Any]], at: str = "3/1/2026 1:02:03 PM", codec: str = "deflate"
) -> bytes:
    """Return a file of records, given the body and application properties of each."""
    file = io.BytesIO()
    rows = [
        {
            "SequenceNumber": number,
            "Offset": str(number),
            "EnqueuedTimeUtc": at,
            "SystemProperties": {"x-opt-enqueued-time": 1},
            "Properties": properties,
            "Body": body,
        }
        for number, (body, properties) in enumerate(records)
    ]
    fastavro.writer(file, _SCHEMA, rows, codec=codec)
    return file.getvalue()
