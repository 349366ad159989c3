"""An event hub as the log."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from headwater.access import Secret
from headwater.errors import WrongSetting
from headwater.eventlog import Claims, LakeCheck, Log, Readers
from headwater.eventlog.folder_claims import forget_old
from headwater.eventlog.log_kind import LogKind, LogSettings
from headwater.variables import variable_of

if TYPE_CHECKING:
    from headwater.eventlog.event_hub_clients import HubAddress


class EventHubSettings(LogSettings):
    """Which hub, and who we are there."""

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
    """Azure Event Hubs, by AMQP; a hub of the basic tier takes 256 KB with all that belongs to a body."""

    name = "event_hub"
    extra = "azure"
    claim_bytes = 200 << 10

    def check(self, settings: EventHubSettings) -> None:
        """Raise WrongSetting unless one way to reach the hub is named."""
        if bool(settings.hub_namespace) == bool(settings.hub_connection):
            raise WrongSetting(
                'With log = "event_hub" exactly one of hub_namespace (managed identity) and hub_connection must be '
                f"set. Set it in headwater.toml or as {variable_of('hub_namespace')} or "
                f"{variable_of('hub_connection')}."
            )

    def prepare(self, settings: EventHubSettings) -> None:
        """Import 0.3 s of an Azure SDK and as much of its identities; reads the connection string."""
        import headwater.eventlog.event_hub_log  # noqa: F401
        from headwater.eventlog.event_hub_clients import import_identity

        _address(settings).host  # noqa: B018 - reads the connection string
        if settings.hub_namespace:
            import_identity()

    def open_log(
        self, settings: EventHubSettings, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the hub for writing, in a running loop."""
        from headwater.eventlog.event_hub_log import EventHubLog

        forget = partial(forget_old, claims, settings.retain_hours)
        return EventHubLog(_address(settings), queued_bytes=settings.queued_bytes, forget_claims=forget)

    def readers(self, settings: EventHubSettings, folder: Path) -> Readers:
        """Return what opens each partition of the hub."""
        from headwater.eventlog.event_hub_reader import HubReaders

        return HubReaders(_address(settings), settings.hub_consumer_group)


def _address(settings: EventHubSettings) -> "HubAddress":
    from headwater.eventlog.event_hub_clients import HubAddress

    secret = settings.hub_connection
    connection = secret.get_secret_value() if secret else None
    return HubAddress(settings.hub_name, settings.hub_namespace, connection, settings.identity_client_id)
