"""A delivery of the Event Hubs trigger, decoded here: azure-functions' own decoder dies of some hubs' offsets.

It reads the offset as a number; with geo-replication an offset is a text such as "1:1000:12" (azure-functions 1.26.0
and 2.3.0 raise ValueError for the whole batch). Headwater never uses the offset.
"""

from typing import Any, NamedTuple

from azure.functions import meta

from headwater.eventlog import Kind, LoggedRecord
from headwater.events.times import parse_time


class Delivery(NamedTuple):
    """Records of one partition, in order."""

    partition: str
    records: list[LoggedRecord]


class DeliveryConverter(meta.InConverter, binding="headwaterDelivery", trigger="eventHubTrigger"):
    """Takes the place of the library's converter for this trigger: a class registers itself by its definition."""

    @classmethod
    def check_input_type_annotation(cls, pytype: type) -> bool:
        """Tell whether a function's parameter may have this type."""
        return pytype is Delivery

    @classmethod
    def decode(cls, data: meta.Datum, *, trigger_metadata: dict[str, meta.Datum]) -> Delivery:
        """Join bodies with what the trigger says about each."""
        bodies = data.value.bytes
        said = {name: datum.python_value for name, datum in trigger_metadata.items()}
        columns = [said[name] for name in ("SequenceNumberArray", "EnqueuedTimeUtcArray", "PropertiesArray")]
        records = [
            logged_record(body, properties, sequence, _microseconds(enqueued))
            for body, sequence, enqueued, properties in zip(bodies, *columns, strict=True)
        ]
        return Delivery(said["PartitionContext"]["PartitionId"], records)


def logged_record(body, properties, sequence, received_us):
    return LoggedRecord(sequence + 1, received_us, Kind(int(properties.get("k", 0))), properties.get("h", "{}"), body)


def _microseconds(text: str) -> int:
    """Read the host's time, which is UTC and says so or not."""
    moment, _ = parse_time(text)
    if moment is None:
        raise ValueError(f"The trigger gives {text!r} as the time of an event.")
    return moment
