"""The parser's triggers: one for batches of the event hub, retried without limit, and a timer for missed deliveries.

Each partition of the hub has its own parser. All parsers write to the same lake.
"""

from collections.abc import Sequence

import azure.functions as func

from functions import open_readers
from functions.parser.delivery import Delivery
from headwater.common.errors import WrongSetting
from headwater.intake.event_log import LogReader
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.intake.parser.partitions import Partition, Partitions
from headwater.lake.attempts import UnfinishedAttempts
from headwater.lake.ownership import ROUTES
from headwater.operations.runtime.azure_files import SharedTroubles, supports_lake_files
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.parser_trouble import ParserTrouble
from headwater.operations.runtime.storage import open_bronze, open_claims
from headwater.operations.settings import Settings

OVERDUE_S = 300
"""Seconds after which the timer parses records that wait in the log: the trigger missed them or is far behind."""

OWNER = ROUTES["function"]


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers. Both use the same log and lake, which the first run opens."""
    bp = func.Blueprint()
    readers, partitions = open_readers(settings, prepare_folder(settings)), open_partitions(settings)

    @bp.function_name("parser")
    @bp.event_hub_message_trigger(
        arg_name="delivery",
        event_hub_name=settings.hub_name,
        connection="HEADWATER_HUB",
        consumer_group=settings.hub_consumer_group,
        cardinality=func.Cardinality.MANY,
        data_type=func.DataType.BINARY,
    )
    @bp.retry(
        strategy="exponential_backoff", max_retry_count="-1", minimum_interval="00:00:01", maximum_interval="00:01:00"
    )
    def parse(delivery: Delivery) -> None:
        partitions.commit_delivery(delivery.partition, delivery.records)

    @bp.function_name("catch_up")
    @bp.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
    def take_what_was_missed(timer: func.TimerRequest) -> None:
        for reader in readers():
            partitions.catch_up(reader.source.partition, OVERDUE_S)

    return bp


def open_partitions(settings: Settings) -> Partitions:
    """Return the partitions without opening the log. They share one lake object, so only one parses at a time."""
    folder = prepare_folder(settings)
    bronze, claims, readers = open_bronze(settings), open_claims(settings), open_readers(settings, folder)

    def open_partition(name: str) -> Partition:
        reader = _reader_of_partition(readers(), name, settings.hub_name)
        parser = PartitionParser(reader, bronze, claims, OWNER, settings.record_cpu_s)
        return Partition(reader, parser, UnfinishedAttempts(folder / "run" / f"attempts-{name}.json"))

    share = SharedTroubles(settings).write_trouble if supports_lake_files(settings) else None
    return Partitions(open_partition, settings.flush_s, ParserTrouble(folder, bronze, share))


def _reader_of_partition(readers: Sequence[LogReader], name: str, hub: str) -> LogReader:
    found = {reader.source.partition: reader for reader in readers}
    if name not in found:
        raise WrongSetting(
            f"The trigger delivers partition {name!r}, hub {hub!r} has {', '.join(sorted(found))}. "
            "Set HEADWATER_HUB__fullyQualifiedNamespace and HEADWATER_HUB_NAMESPACE to the same namespace."
        )
    return found[name]
