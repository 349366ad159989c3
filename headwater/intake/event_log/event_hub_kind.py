"""The log kind `event_hub`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from headwater.auth.access import Secret
from headwater.common.environment import variable_name
from headwater.common.errors import WrongSetting
from headwater.intake.event_log import Claims, LakeCheck, Log, Readers
from headwater.intake.event_log.folder_claims import delete_old_claims
from headwater.intake.event_log.log_kind import LogKind, LogSettings

if TYPE_CHECKING:
    from headwater.intake.event_log.event_hub_clients import HubAddress


class EventHubSettings(LogSettings):
    """The address of the hub and the credentials."""

    hub_namespace: str | None = Field(
        None,
        description="Host of the Event Hubs namespace, such as `NAME.servicebus.windows.net`; by managed identity.",
    )
    hub_connection: Secret | None = Field(
        None, description="Connection string, instead of `hub_namespace`; also for an emulator."
    )
    hub_name: str = Field("openlineage", description="Name of the event hub.")
    hub_consumer_group: str = Field("headwater", description="Consumer group of the parser.")


class EventHubKind(LogKind):
    """Azure Event Hubs over AMQP. The basic tier accepts 256 KB, including properties."""

    name = "event_hub"
    settings = EventHubSettings
    extra = "azure"
    claim_bytes = 200 << 10

    def check(self, settings: EventHubSettings) -> None:
        """Raise WrongSetting unless exactly one of namespace and connection string is set."""
        if bool(settings.hub_namespace) == bool(settings.hub_connection):
            raise WrongSetting(
                'With log = "event_hub" exactly one of hub_namespace (managed identity) and hub_connection must be '
                f"set. Set it in headwater.toml or as {variable_name('hub_namespace')} or "
                f"{variable_name('hub_connection')}."
            )

    def prepare(self, settings: EventHubSettings) -> None:
        """Import the Azure SDK (0.3 s), and parse the connection string.

        With a managed identity, it also imports the identity SDK (0.3 s).
        """
        import headwater.intake.event_log.event_hub_log  # noqa: F401
        from headwater.intake.event_log.event_hub_clients import import_identity

        _hub_address(settings).host  # noqa: B018 - parses the connection string
        if settings.hub_namespace:
            import_identity()

    def open_log(
        self, settings: EventHubSettings, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the hub for writing. Needs a running event loop."""
        from headwater.intake.event_log.event_hub_log import EventHubLog

        forget = partial(delete_old_claims, claims, settings.retain_hours)
        return EventHubLog(_hub_address(settings), queued_bytes=settings.queued_bytes, forget_claims=forget)

    def reader_opener(self, settings: EventHubSettings, folder: Path) -> Readers:
        """Return the readers of the hub's partitions."""
        from headwater.intake.event_log.event_hub_reader import HubReaders

        return HubReaders(_hub_address(settings), settings.hub_consumer_group)


def _hub_address(settings: EventHubSettings) -> "HubAddress":
    from headwater.intake.event_log.event_hub_clients import HubAddress

    secret = settings.hub_connection
    connection = secret.get_secret_value() if secret else None
    return HubAddress(settings.hub_name, settings.hub_namespace, connection, settings.identity_client_id)
