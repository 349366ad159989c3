"""Clients of one event hub, by managed identity or connection string. Importing this module imports the Azure SDK."""

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

from headwater.common.errors import WrongSetting
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging

CLOSE_S = 5.0

_SDK: dict[str, Any] = {"retry_total": 0, "retry_backoff_factor": 0, "auth_timeout": 10}
"""The SDK does not retry, because the receiver's deadline leaves no time for hidden retries."""

disable_sdk_logging()  # the SDK logs as soon as it is imported


@dataclass(frozen=True)
class HubAddress:
    """The address of a hub, and the credentials.

    connection: a connection string, or None to use the identity of this machine. client_id: client id of a
    user-assigned managed identity. sdk: further arguments of the SDK's clients.
    """

    name: str
    namespace: str | None = None
    connection: str | None = field(default=None, repr=False)
    client_id: str | None = None
    sdk: Mapping[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        """Return the host, for messages. Raises WrongSetting for an invalid connection string."""
        if self.connection is None:
            return self.namespace or ""
        try:
            return str(parse_connection_string(self.connection).fully_qualified_namespace)
        except ValueError:
            raise WrongSetting(
                "`hub_connection` is not a connection string of Event Hubs. Copy it from the namespace's shared access "
                "policies: Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…"
            ) from None


class HubClients:
    """Creates clients of one hub for one event loop. The clients share one credential, so they share its token."""

    def __init__(self, address: HubAddress):
        """Store the address without connecting. Raises WrongSetting for an invalid connection string."""
        self.address = address
        self.host = address.host
        self._credential: Any = None
        self._closing: set[asyncio.Task[None]] = set()

    def producer(self) -> EventHubProducerClient:
        """Return a client that sends. The client connects at its first use."""
        options = {**_SDK, "ssl_context": _trusted_certificates_context(), **self.address.sdk}
        if self.address.connection is not None:
            return EventHubProducerClient.from_connection_string(
                self.address.connection, eventhub_name=self.address.name, **options
            )
        return EventHubProducerClient(self.host, self.address.name, self._import_identity_once(), **options)

    def consumer(self, group: str) -> EventHubConsumerClient:
        """Return a client that receives. The client connects at its first use."""
        options = {**_SDK, "ssl_context": _trusted_certificates_context(), **self.address.sdk}
        if self.address.connection is not None:
            return EventHubConsumerClient.from_connection_string(
                self.address.connection, group, eventhub_name=self.address.name, **options
            )
        return EventHubConsumerClient(self.host, self.address.name, group, self._import_identity_once(), **options)

    def close_in_background(self, client: EventHubProducerClient | EventHubConsumerClient) -> None:
        """Close a client in the background, because closing a broken client may take seconds."""
        task = asyncio.create_task(close_quietly(client))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def aclose(self) -> None:
        """Wait until discarded clients are closed, then close the credential."""
        await asyncio.gather(*self._closing)
        if self._credential is not None:
            await close_quietly(self._credential)

    def _import_identity_once(self) -> Any:
        if self._credential is None:
            identity, own = import_identity(), self.address.client_id
            self._credential = (
                identity.ManagedIdentityCredential(client_id=own) if own else identity.DefaultAzureCredential()
            )
        return self._credential


@cache
def _trusted_certificates_context() -> ssl.SSLContext:
    """Return a TLS context with the machine's certificates, which are loaded once.

    The SDK would load the certificates for each connection, which blocks the event loop for 0.1 s.
    """
    return ssl.create_default_context()


def import_identity() -> ModuleType:
    """Import the identity SDK and return it.

    The import takes 0.4 s, so call this function only if the SDK is needed, and before requests arrive.
    """
    import azure.identity.aio  # noqa: PLC0415

    return azure.identity.aio


async def close_quietly(client: Any) -> None:
    """Close a client or credential, and ignore errors. Waits at most CLOSE_S."""
    with contextlib.suppress(Exception):  # closing may fail for the same reason
        async with asyncio.timeout(CLOSE_S):
            await client.close()
