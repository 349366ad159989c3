"""The parser's triggers: batches of the event hub, retried without limit, and a timer for missed deliveries."""

import azure.functions as func

from functions import open_readers
from functions.parser.delivery import Delivery
from functions.parser.opening import open_partitions
from headwater.operations.runtime.folders import prepare_folder
from headwater.operations.settings import Settings

OVERDUE_S = 300
"""Records that wait longer in the log were missed, or the trigger is far behind. The timer parses them."""


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the triggers. Both share log and lake, which the first run opens."""
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
        partitions.take(delivery.partition, delivery.records)

    @bp.function_name("catch_up")
    @bp.timer_trigger(arg_name="timer", schedule="30 */5 * * * *")
    def take_what_was_missed(timer: func.TimerRequest) -> None:
        for reader in readers():
            partitions.catch_up(reader.source.partition, OVERDUE_S)

    return bp
