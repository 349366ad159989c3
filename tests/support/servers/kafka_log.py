"""Use Kafka as the log in tests: addresses of a broker's topics, and appends."""

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from headwater.intake.event_log import Record
from headwater.intake.event_log.kafka_clients import KafkaAddress
from headwater.intake.event_log.kafka_identity import entra_token_callback
from headwater.intake.event_log.kafka_log import KafkaLog
from tests.support.servers.kafka_broker import HUB, PASSWORD, USER, Broker
from tests.support.servers.oidc import CLIENT_SECRET

PATIENCE_S = 20.0
LARGEST = 900 << 10


def address(kafka: Broker, topic: str, **options: str) -> KafkaAddress:
    return KafkaAddress(
        kafka.servers, topic, "headwater", {key.replace("_", "."): text for key, text in options.items()}
    )


def with_log(at: KafkaAddress, work: Callable[[KafkaLog], Awaitable[Any]], queued_bytes: int = 64 << 20) -> Any:
    """Open a log in a new event loop, call `work` with it, and close it."""

    async def run() -> Any:
        log = KafkaLog(at, queued_bytes=queued_bytes, largest_bytes=LARGEST, forget_claims=lambda: None)
        try:
            return await work(log)
        finally:
            await log.aclose()

    return asyncio.run(run())


def append(at: KafkaAddress, *records: Record, timeout_s: float = PATIENCE_S) -> None:
    with_log(at, lambda log: log.append(records, timeout_s=timeout_s))


def secured(kafka: Broker, topic: str, **more: str) -> KafkaAddress:
    """Return the address of a topic at the listener that requires credentials, like an event hub's Kafka endpoint."""
    options = {"security_protocol": "SASL_PLAINTEXT", "sasl_mechanisms": "PLAIN", "sasl_username": USER}
    named = address(kafka, topic, **{**options, "sasl_password": PASSWORD, **more})
    return KafkaAddress(kafka.secured, topic, named.group, named.options)


def with_identity(kafka: Broker, topic: str, scope: str = f"{HUB}/.default") -> KafkaAddress:
    """Return the address of a topic at the listener that requires tokens, for an app with a managed identity."""
    plain = {"security.protocol": "SASL_PLAINTEXT"}
    return KafkaAddress(
        kafka.tokens, topic, "headwater", plain, scope, partial(entra_token_callback, scope, f"app-{topic}")
    )


def with_principal(kafka: Broker, topic: str, secret: str = CLIENT_SECRET) -> KafkaAddress:
    """Return the address of a topic at the same listener for a service principal, with options that Spark also
    supports.
    """
    options = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.token.endpoint.url": f"{kafka.issuer.url}/token",
        "sasl.oauthbearer.client.id": "principal",
        "sasl.oauthbearer.client.secret": secret,
        "sasl.oauthbearer.scope": f"{HUB}/.default",
    }
    return KafkaAddress(kafka.tokens, topic, "headwater", options)
