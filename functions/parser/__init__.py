"""The parser's trigger: batches of the event hub, tried again without end where log or lake do not answer."""

import azure.functions as func

from functions.parser.delivery import Delivery
from functions.parser.opening import open_partitions
from headwater.settings import Settings


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger; log and lake are opened by the first delivery."""
    bp = func.Blueprint()
    partitions = open_partitions(settings)

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

    return bp
