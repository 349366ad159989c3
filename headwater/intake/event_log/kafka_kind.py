"""The log kind `kafka`."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import Field

from headwater.auth.access import Secret
from headwater.common.environment import variable_name
from headwater.common.errors import WrongSetting
from headwater.common.extras import require_extra
from headwater.intake.event_log import Claims, LakeCheck, Log, Readers
from headwater.intake.event_log.folder_claims import delete_old_claims
from headwater.intake.event_log.log_kind import LogKind, LogSettings

if TYPE_CHECKING:
    from headwater.intake.event_log.kafka_clients import KafkaAddress, TokenOfKafka


class KafkaSettings(LogSettings):
    """The address of the topic, and how to reach it."""

    kafka_servers: str | None = Field(None, description="Servers of Kafka, `host:port`, separated by commas.")
    kafka_topic: str = Field(
        "openlineage", pattern=r"^[a-zA-Z0-9._-]+$", description="Topic of Kafka, which must exist."
    )
    kafka_group: str = Field("headwater", description="Consumer group for reading the topic.")
    kafka_options: dict[str, Secret] = Field(
        {},
        description="Settings of librdkafka for reaching the servers, such as `security.protocol`; see "
        "docs/how-to/platform-operator/kafka.md.",
    )
    kafka_token_scope: str | None = Field(
        None,
        description="Scope of the tokens with which this machine's identity signs in to Kafka. For an event hub: "
        "`https://NAME.servicebus.windows.net/.default`.",
    )


class KafkaKind(LogKind):
    """Kafka over librdkafka. Kafka's default limit (message.max.bytes) is 1 MiB."""

    name = extra = "kafka"
    settings = KafkaSettings
    claim_bytes = 900 << 10

    def check(self, settings: KafkaSettings) -> None:
        """Raise WrongSetting if no server is set."""
        if not settings.kafka_servers:
            raise WrongSetting(
                'With log = "kafka" kafka_servers must be set, such as "localhost:9092". Set it in headwater.toml or '
                f"as {variable_name('kafka_servers')}."
            )

    def prepare(self, settings: KafkaSettings) -> None:
        """Import the client."""
        import headwater.intake.event_log.kafka_log  # noqa: F401

    def open_log(
        self, settings: KafkaSettings, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the topic for writing."""
        from headwater.intake.event_log.kafka_log import KafkaLog

        return KafkaLog(
            kafka_address(settings),
            queued_bytes=settings.queued_bytes,
            largest_bytes=self.claim_limit(settings),
            forget_claims=partial(delete_old_claims, claims, settings.retain_hours),
        )

    def reader_opener(self, settings: KafkaSettings, folder: Path) -> Readers:
        """Return the readers of the topic's partitions."""
        from headwater.intake.event_log.kafka_reader import KafkaReaders

        return KafkaReaders(kafka_address(settings))


def kafka_address(settings: KafkaSettings) -> "KafkaAddress":
    """Return the address of the topic."""
    from headwater.intake.event_log.kafka_clients import KafkaAddress

    options = {name: value.get_secret_value() for name, value in settings.kafka_options.items()}
    scope = settings.kafka_token_scope
    sign_in = partial(_entra_token_callback, scope, settings.identity_client_id) if scope else None
    return KafkaAddress(
        settings.kafka_servers or "", settings.kafka_topic, settings.kafka_group, options, scope, sign_in
    )


def _entra_token_callback(scope: str, client_id: str | None) -> "TokenOfKafka":
    with require_extra("azure"):  # 0.4 s to import, only with an identity
        from headwater.intake.event_log.kafka_identity import entra_token_callback

    return entra_token_callback(scope, client_id)
