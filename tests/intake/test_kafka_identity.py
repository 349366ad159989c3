"""Kafka with tokens instead of passwords (OAUTHBEARER), as event hubs require them, with a real broker that checks
them.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator

import pytest

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.kafka_clients import KafkaAddress
from headwater.intake.event_log.kafka_log import KafkaLog
from headwater.intake.event_log.kafka_reader import KafkaReaders
from headwater.spark.log_ingest.kafka_options import as_principal, source_options
from tests.support.servers.kafka_broker import HUB, Broker
from tests.support.servers.kafka_log import PATIENCE_S, append, with_identity, with_log, with_principal
from tests.support.servers.oidc import OidcServer
from tests.support.waiting import rest

pytestmark = pytest.mark.slow

EVENT = Record(RecordKind.EVENT, b"{}")


async def send(log: KafkaLog) -> None:
    """Send an event until it is acknowledged, as a producer does. On a busy machine one timeout may be too short."""
    async with asyncio.timeout(PATIENCE_S * 6):
        while True:
            try:
                return await log.append([EVENT], timeout_s=PATIENCE_S)
            except LogUnavailable:
                await asyncio.sleep(0.1)  # the log recovers without intervention


@pytest.fixture
def issuer(kafka: Broker, monkeypatch: pytest.MonkeyPatch) -> Iterator[OidcServer]:
    """Provide the issuer of the broker's tokens as the identity endpoint of an Azure app."""
    for name in ("AZURE_CLIENT_ID", "AZURE_CLIENT_SECRET", "AZURE_TENANT_ID"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("IDENTITY_ENDPOINT", f"{kafka.issuer.url}/identity")
    monkeypatch.setenv("IDENTITY_HEADER", "header")
    yield kafka.issuer
    kafka.issuer.lives_s, kafka.issuer.is_down = 3600, False


@pytest.mark.parametrize("signed_in", [with_identity, with_principal])
def test_an_identity_and_a_service_principal_write_and_read(
    kafka: Broker, issuer: OidcServer, signed_in: Callable[[Broker, str], KafkaAddress]
) -> None:
    at = signed_in(kafka, kafka.topic(f"signed-in-{signed_in.__name__}"))
    with_log(at, send)
    assert len(read(at)) >= 1
    assert issuer.given[-1] in {"principal", f"app-{at.topic}"}


def test_tokens_that_expire_while_a_log_is_open_are_followed_by_others(kafka: Broker, issuer: OidcServer) -> None:
    at = with_identity(kafka, kafka.topic("expiring"))
    issuer.lives_s = 3
    began = len(issuer.given)

    async def work(log: KafkaLog) -> int:
        sent = 0
        while len(issuer.given) - began < 4:
            await send(log)
            sent += 1
            await asyncio.sleep(0.1)  # the broker closes the connection at a time that it does not announce
        return sent

    sent = with_log(at, work)
    issuer.lives_s = 3600
    assert len(read(at)) >= sent


def test_an_issuer_that_is_away_for_a_while_stops_nothing_for_good(
    kafka: Broker, issuer: OidcServer, caplog: pytest.LogCaptureFixture
) -> None:
    at = with_identity(kafka, kafka.topic("issuer-away"))
    issuer.lives_s = 2
    refused: list[str] = []

    async def work(log: KafkaLog) -> None:
        await send(log)
        issuer.is_down = True
        async with asyncio.timeout(PATIENCE_S * 3):
            while not refused:
                try:
                    await log.append([EVENT], timeout_s=PATIENCE_S)
                except LogUnavailable as error:
                    refused.append(str(error))
                await asyncio.sleep(0.1)
        issuer.is_down, issuer.lives_s = False, 3600
        await send(log)

    with caplog.at_level(logging.INFO):
        with_log(at, work)
    assert len(read(at)) >= 2
    assert "eyJ" not in caplog.text


def test_a_token_for_somebody_else_is_refused_with_what_to_correct(
    kafka: Broker, issuer: OidcServer, caplog: pytest.LogCaptureFixture
) -> None:
    at = with_identity(kafka, kafka.topic("audience"), "https://eventhubs.azure.net/.default")
    with caplog.at_level(logging.INFO), pytest.raises(LogUnavailable) as caught:
        append(at, EVENT)
    assert "rejects the credentials" in str(caught.value)
    assert "Check that `kafka_token_scope` belongs to these servers" in str(caught.value)
    assert "eyJ" not in str(caught.value) + caplog.text
    with pytest.raises(LogUnavailable, match="rejects the credentials"):
        read(at)


def test_a_wrong_secret_of_a_principal_is_said_without_it(kafka: Broker, issuer: OidcServer) -> None:
    at = with_principal(kafka, kafka.topic("wrong-secret"), "another-secret")
    with pytest.raises(LogUnavailable, match="rejects the credentials") as caught:
        append(at, EVENT)
    assert "another-secret" not in str(caught.value)


def test_who_has_no_identity_is_told_so_at_once(kafka: Broker, issuer: OidcServer) -> None:
    issuer.is_down = True
    with pytest.raises((WrongSetting, LogUnavailable), match="token"):
        KafkaReaders(with_identity(kafka, "nobody"))


def test_spark_signs_in_as_the_service_principal_of_the_environment() -> None:
    at = KafkaAddress("hub:9093", "t", "g", {}, f"{HUB}/.default")
    principal = {"AZURE_TENANT_ID": "tenant", "AZURE_CLIENT_ID": "app", "AZURE_CLIENT_SECRET": 'a "secret"'}
    found = source_options(as_principal(at, principal))
    assert found["kafka.sasl.jaas.config"].endswith(
        f'required clientId="app" clientSecret="a \\"secret\\"" scope="{HUB}/.default";'
    )
    assert found["kafka.sasl.oauthbearer.token.endpoint.url"] == (
        "https://login.microsoftonline.com/tenant/oauth2/v2.0/token"
    )
    assert (found["kafka.security.protocol"], found["kafka.sasl.mechanism"]) == ("SASL_SSL", "OAUTHBEARER")
    with pytest.raises(WrongSetting, match="AZURE_TENANT_ID"):
        as_principal(at, {})


def read(at: KafkaAddress) -> list[object]:
    (reader,) = KafkaReaders(at)()
    try:
        found: list[object] = []
        while len(found) < reader.tail():
            found += reader.read(len(found), limit=1000, max_bytes=1 << 30)
            rest()
        return found
    finally:
        reader.close()
