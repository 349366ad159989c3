"""Large bodies as blobs: stored before the acknowledgement, 503 in time if the storage fails, and never lost."""

import asyncio
import ssl
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import GiveUp, LogUnavailable, WrongSetting
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log import Claims, Record, RecordKind
from headwater.intake.event_log.blob_claims import BlobClaims, parse_claims_url
from headwater.intake.event_log.folder_claims import ClaimCheck
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.operations.runtime.azure_files import SharedTroubles
from headwater.operations.runtime.parser_trouble import ParserTrouble
from headwater.operations.runtime.storage import open_bronze
from headwater.operations.settings import Settings
from tests.support.data.parsing import World, event
from tests.support.servers.azurite import ACCOUNT, ACCOUNT_KEY, FAULTS, Storage, one_line
from tests.support.servers.loopback_certificate import loopback_certificate

pytestmark = pytest.mark.slow

LARGE = b'"' + b"x" * (5 << 20) + b'"'


def settings_of(storage: Storage, path: str = "", **options: str) -> dict[str, Any]:
    """Return the settings of claims in a new container."""
    url = f"{storage.url}/{storage.container().container_name}{path}"
    return {"claims_url": url, "claims_options": options or ACCOUNT_KEY}


def claims_of(settings: dict[str, Any]) -> Claims:
    return BlobClaims(settings["claims_url"], settings["claims_options"], None)


def test_a_body_comes_back_as_it_was_kept_for_every_process(storage: Storage) -> None:
    settings = settings_of(storage, "/raw/bodies")
    key = claims_of(settings).put(LARGE)
    assert claims_of(settings).size(key) == len(LARGE)
    assert claims_of(settings).get(key) == LARGE
    assert claims_of(settings).put(b"") != claims_of(settings).put(b"")


@pytest.mark.parametrize("kind", FAULTS)
def test_a_body_that_cannot_be_kept_or_read_is_tried_again(storage: Storage, kind: str) -> None:
    claims = claims_of(settings_of(storage))
    key = claims.put(b"before")
    for attempt in (partial(claims.put, b"body"), partial(claims.get, key)):
        with storage.failing(kind), pytest.raises(LogUnavailable) as caught:
            attempt()
        one_line(caught.value, "large body", FAULTS[kind])
    assert claims.get(key) == b"before"
    assert claims.get(claims.put(b"after")) == b"after"


def test_why_a_partition_waits_is_known_to_instances_that_share_the_lake_alone(
    storage: Storage, tmp_path: Path
) -> None:
    settings = Settings(**storage.lake(**ACCOUNT_KEY))
    bronze = open_bronze(settings)
    stopped, other = (
        ParserTrouble(tmp_path / name, bronze, SharedTroubles(settings).write_trouble) for name in ("one", "two")
    )
    stopped.record_trouble(WrongSetting("The lake belongs to another."), "3")
    stopped.record_trouble(WrongSetting("The hub is another."), "1")
    found = {"parser": "Partition 1: The hub is another. Partition 3: The lake belongs to another."}
    assert SharedTroubles(settings).read_troubles() == found
    with storage.failing("dropped"):
        stopped.record_recovery("1")
        assert SharedTroubles(settings).read_troubles() == {}
    assert SharedTroubles(settings).read_troubles() == found
    stopped.record_recovery("1")
    other.record_recovery("3")  # a different instance continues with the partition
    assert SharedTroubles(settings).read_troubles() == {}


def test_a_body_that_is_gone_is_given_up_but_not_one_whose_container_is(storage: Storage, tmp_path: Path) -> None:
    container = storage.container()
    settings = {"claims_url": f"{storage.url}/{container.container_name}", "claims_options": ACCOUNT_KEY}
    world = World(tmp_path, **settings)
    kept, gone, parser = claims_of(settings).put(event(1)), claims_of(settings).put(event(2)), None
    world.append(kept, gone, kind=RecordKind.CLAIM)
    container.delete_blob(gone.decode())
    with pytest.raises(GiveUp, match="is missing in"):
        claims_of(settings).get(gone)
    container.delete_container()
    with pytest.raises(LogUnavailable) as caught:
        (parser := world.parser()).commit_next()
    one_line(caught.value, "the container does not exist (404)", "`claims_url`")
    container.create_container()
    container.upload_blob(kept.decode(), event(1))
    assert parser
    parser.commit_next()
    assert world.sequences("events") == [1]
    assert world.reasons() == {2: "claim_missing"}


@pytest.mark.parametrize("kind", ["silent", "wrong role"])
def test_nothing_is_appended_when_a_large_body_cannot_be_kept_in_time(
    storage: Storage, tmp_path: Path, kind: str
) -> None:
    log = SqliteLog(tmp_path / "log", LogLimits(min_free_bytes=0))
    checked = ClaimCheck(log, claims_of(settings_of(storage)), 1000)
    small, large = Record(RecordKind.EVENT, b"{}"), Record(RecordKind.EVENT, LARGE)

    async def post() -> None:
        with storage.failing(kind):
            with pytest.raises(LogUnavailable) as caught:
                await checked.append([small, large], timeout_s=0.3)
            await checked.append([small], timeout_s=5)
        one_line(caught.value)
        await checked.append([small, large, large, small], timeout_s=20)

    asyncio.run(post())
    log.close()
    world = World(tmp_path)
    assert [record.kind for record in world.records(1, 10)] == [
        RecordKind.EVENT, RecordKind.EVENT, RecordKind.CLAIM, RecordKind.CLAIM, RecordKind.EVENT
    ]  # fmt: skip


def test_a_managed_identity_keeps_and_reads_bodies(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in storage.identity_environment().items():
        monkeypatch.setenv(name, value)
    certificate = loopback_certificate(tmp_path)
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with storage.over_tls(context) as url:
        claims = BlobClaims(f"{url}/{storage.container().container_name}", {"account_name": ACCOUNT}, "the-client")
        key = claims.put(LARGE)
        assert claims.get(key) == LARGE
        asked = storage.identity_requests[-1]
        assert (asked["client_id"], asked["resource"]) == ("the-client", "https://storage.azure.com")
        storage.revoke_tokens()
        with pytest.raises(LogUnavailable) as caught:
            claims.get(key)
        one_line(caught.value, "the token has expired", "identity_client_id")


@pytest.mark.parametrize(
    ("url", "found"),
    [
        ("https://a.blob.core.windows.net/claims", ("https://a.blob.core.windows.net", "claims", "")),
        ("https://a.dfs.core.windows.net/claims/x/y/", ("https://a.blob.core.windows.net", "claims", "x/y/")),
        (f"http://127.0.0.1:1/{ACCOUNT}/claims/x", (f"http://127.0.0.1:1/{ACCOUNT}", "claims", "x/")),
    ],
)
def test_an_address_names_account_container_and_path(url: str, found: tuple[str, str, str]) -> None:
    assert parse_claims_url(url, ACCOUNT) == found


@pytest.mark.parametrize(
    "url", ["claims", "https://a.blob.core.windows.net/", "https://a.blob.core.windows.net/c?sig=s"]
)
def test_an_address_that_is_no_container_is_refused_at_the_start(url: str) -> None:
    with pytest.raises(WrongSetting) as caught:
        BlobClaims(url, {}, None)
    one_line(caught.value, "claims_url", "`claims_options`")


def test_a_fault_that_is_not_known_is_quoted_without_secrets() -> None:
    error = OSError("Odd\n\x1b[31m↳\x1b[0m at https://a/c?sv=1&sig=abc now: AccountKey=abc, Bearer abc, sig=abc")
    assert "abc" not in explain_storage_error(error, "lake")
    one_line(OSError(explain_storage_error(error, "lake")), "Odd at https://a/c now", "retries automatically")
