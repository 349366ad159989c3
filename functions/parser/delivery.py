"""Decode a delivery of the Event Hubs trigger. The decoder of azure-functions fails on the offsets of some hubs.

The library's decoder parses the offset as a number. With geo-replication, an offset is a text such as "1:1000:12", and
azure-functions 1.26.0 and 2.3.0 raise ValueError for the whole batch. Headwater never uses the offset.
"""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple

from azure.functions import meta

from headwater.intake.event_log import LoggedRecord
from headwater.intake.event_log.event_hub_records import logged_record


class Delivery(NamedTuple):
    """The records of one partition in a delivery, in the order of their sequence numbers."""

    partition: str
    records: list[LoggedRecord]


class DeliveryConverter(meta.InConverter, binding="headwaterDelivery", trigger="eventHubTrigger"):
    """Replaces the converter of azure-functions for this trigger. Defining the class registers the converter."""

    @classmethod
    def check_input_type_annotation(cls, pytype: type) -> bool:
        """Return whether a function's parameter may have this type."""
        return pytype is Delivery

    @classmethod
    def decode(cls, data: meta.Datum, *, trigger_metadata: Mapping[str, meta.Datum]) -> Delivery:
        """Combine each body with its metadata from the trigger.

        Raises ValueError if the numbers of bodies and of metadata entries differ.
        """
        metadata = {name: datum.python_value for name, datum in trigger_metadata.items()}
        columns = [metadata[name] for name in ("SequenceNumberArray", "EnqueuedTimeUtcArray", "PropertiesArray")]
        records = [_to_logged_record(body, *about) for body, *about in zip(data.python_value, *columns, strict=True)]
        return Delivery(metadata["PartitionContext"]["PartitionId"], records)


def _to_logged_record(body: bytes, sequence: int, enqueued: str, properties: Mapping[str, Any]) -> LoggedRecord:
    moment = datetime.fromisoformat(enqueued)  # UTC, even if the host omits the time zone
    return logged_record(sequence, moment if moment.tzinfo else moment.replace(tzinfo=UTC), body, properties)
