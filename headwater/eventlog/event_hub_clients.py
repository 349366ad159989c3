"""Clients of one event hub: by managed identity, or by a connection string. Importing this imports the Azure SDK."""

import asyncio
import contextlib
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from types import ModuleType
from typing import Any

from azure.eventhub import parse_connection_string
from azure.eventhub.aio import EventHubConsumerClient, EventHubProducerClient

from headwater.errors import WrongSetting
from headwater.eventlog.azure_log_lines import silence_sdk

CLOSE_S = 5.0

_SDK: dict[str, Any] = {"retry_total": 0, "retry_backoff_factor": 0, "auth_timeout": 10}
"""The receiver's deadline leaves no room for retries that it does not know of."""

silence_sdk()  # importing the SDK is enough to have it log


@dataclass(frozen=True)
class HubAddress:
    """Which hub, and who we are: `connection` is a connection string; without one the identity of this machine.

    client_id: of a user-assigned managed identity; sdk: further arguments of the SDK's clients.
    """

    name: str
    namespace: str | None = None
    connection: str | None = field(default=None, repr=False)
    client_id: str | None = None
    sdk: Mapping[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Return the host, for messages; raises WrongSetting for a connection string that is none."""
        if self.connection is None:
            return self.namespace or ""
        try:
            return str(parse_connection_string(self.connection).fully_qualified_namespace)
        except ValueError:
            raise WrongSetting(
                "`hub_connection` is no connection string of Event Hubs. Copy it from the namespace's shared access "
                "policies: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…"
            ) from None


class HubClients:
    """Makes the clients of one hub for one event loop; they share a credential, and with it a token."""

    def __init__(self, address: HubAddress):
        """Connect to nothing. Raises WrongSetting for a connection string that is none."""
        self.address = address
        self.host = address.host
        self._credential: Any = None
        self._closing: set[asyncio.Task[None]] = set()

    def producer(self) -> EventHubProducerClient:
        """Return a client that sends; it connects at its first use."""
        options = {**_SDK, "ssl_context": _trust(), **self.address.sdk}
        if self.address.connection is not None:
            return EventHubProducerClient.from_connection_string(
                self.address.connection, eventhub_name=self.address.name, **options
            )
        return EventHubProducerClient(self.host, self.address.name, self._identity(), **options)

    def consumer(self, group: str) -> EventHubConsumerClient:
        """Return a client that receives; it connects at its first use."""
        options = {**_SDK, "ssl_context": _trust(), **self.address.sdk}
        if self.address.connection is not None:
            return EventHubConsumerClient.from_connection_string(
                self.address.connection, group, eventhub_name=self.address.name, **options
            )
        return EventHubConsumerClient(self.host, self.address.name, group, self._identity(), **options)

    def discard(self, client: EventHubProducerClient | EventHubConsumerClient) -> None:
        """Close a client that may be broken, without waiting for it."""
        task = asyncio.create_task(close(client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Wait until discarded clients are closed, and let go of the credential."""
        await asyncio.gather(*self._closing)
        if self._credential is not None:
            await close(self._credential)

    def _identity(self) -> Any:
        if self._credential is None:
            identity, own = import_identity(), self.address.client_id
            self._credential = (
                identity.ManagedIdentityCredential(client_id=own) if own else identity.DefaultAzureCredential()
            )
        return self._credential


@cache
def _trust() -> ssl.SSLContext:
    """Read the machine's certificates once; the SDK does so for each connection, and holds up the loop for 0.1 s."""
    return ssl.create_default_context()


def import_identity() -> ModuleType:
    """Import the credentials, which takes 0.4 s: only for who uses one, and early where somebody would wait for it."""
    import azure.identity.aio  # noqa: PLC0415

    return azure.identity.aio


async def close(client: Any) -> None:
    """Close a client or credential, whatever state it is in."""
    with contextlib.suppress(Exception):  # it may be as broken as what made us close it
        async with asyncio.timeout(CLOSE_S):
            await client.close()
