"""The lake and its large bodies in a bucket:

S3 emulated by moto, Google's by a stand-in. Events are stored exactly once.
"""

import os
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

import pytest

from headwater.common.errors import GiveUp, LakeUnavailable, LogUnavailable, Retry, WrongSetting
from headwater.intake.event_log import Claims
from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import compact_tables, vacuum_tables
from headwater.lake.object_store import ObjectStore
from headwater.operations.runtime.storage import CONDITIONAL_PUT, STORAGE_OPTIONS, check_conditional_writes, open_claims
from headwater.operations.settings import load_settings
from headwater.tables import DUPLICATES
from tests.support.data.maintained import age_removals, append, data_files
from tests.support.data.parsing import World, event
from tests.support.faults.racing_writers import race
from tests.support.servers.gcs import GcsServer, running_gcs
from tests.support.servers.s3 import S3Server

pytestmark = pytest.mark.slow

SECRET = "a-very-secret-key"


class Bucket(NamedTuple):
    """The address of a lake, and the storage options for it."""

    url: str
    options: dict[str, str]

    def elsewhere(self, **more: str) -> "Bucket":
        """Return a bucket that does not exist."""
        return Bucket(f"{self.url.partition('//')[0]}//there-is-none", {**self.options, **more})


@pytest.fixture(scope="module")
def s3() -> Iterator[Bucket]:
    with S3Server() as server:
        server.start()
        yield Bucket(f"s3://{server.bucket()}", {**server.options(SECRET), "aws_allow_http": "true"})


@pytest.fixture(scope="module")
def gcs() -> Iterator[GcsServer]:
    with running_gcs() as server:
        yield server
        assert server.wrong == [], "delta-rs or obstore sent a request that the stand-in does not support"


@pytest.fixture(params=["s3", "gs"])
def bucket(request: pytest.FixtureRequest, s3: Bucket, gcs: GcsServer) -> Bucket:
    return s3 if request.param == "s3" else Bucket("gs://lake", gcs.options)


def claims_at(url: str, options: Mapping[str, str]) -> Claims:
    return open_claims(load_settings({"claims_url": url, "claims_options": options}, environment={})[0])


def test_the_parser_fills_a_lake_in_a_bucket_and_maintenance_keeps_it(gcs: GcsServer, tmp_path: Path) -> None:
    """The test uses the faster of the two stores. test_stations.py covers S3."""
    lake = {"lake": "gs://lake/one", "lake_options": gcs.options}
    world = World(tmp_path, **lake)
    check_conditional_writes(world.settings)
    world.append(event(1), event(2, ("x",)), event(1), b"{}")
    parser = world.parser()
    parser.commit_next()
    world.append(event(3), event(2, ("x",)))
    parser.commit_next()
    compact_tables(world.bronze)
    vacuum_tables(world.bronze, hours=24)
    again = World(tmp_path, **lake)
    again.append(event(4), event(3))
    again.parser().commit_next()
    assert (world.sequences("events"), world.sequences("duplicates")) == ([1, 2, 5, 7], [3, 6, 8])
    assert world.placed() == list(range(1, 9))
    assert world.audit()["balanced"]
    assert not (tmp_path / "lake").exists()


class _Kept(NamedTuple):
    """One table of bronze. Maintaining the others would only repeat the same requests."""

    tables: dict[str, LakeTable]


def test_maintenance_joins_small_files_of_a_bucket_and_deletes_what_was_replaced_long_ago(
    bucket: Bucket, tmp_path: Path
) -> None:
    bronze = World(tmp_path, lake=f"{bucket.url}/kept", lake_options=bucket.options).bronze
    table = bronze.tables[DUPLICATES.name]
    table.create({})
    kept, files = _Kept({DUPLICATES.name: table}), ObjectStore(table.uri, {**STORAGE_OPTIONS, **bucket.options})
    for sequence in range(1, 4):
        append(table, sequence)
    compact_tables(kept)
    vacuum_tables(kept, hours=0)
    assert len(data_files(files)) == 4, "current readers still need the replaced files"
    age_removals(files, hours=25)
    vacuum_tables(kept, hours=24)
    assert len(data_files(files)) == 1
    assert sorted(table.reopen().to_pyarrow_table()["sequence"].to_pylist()) == [1, 2, 3]
    assert append(table, 3, 4) == 1, "compaction must keep the watermarks"


def test_two_processes_write_one_table_and_no_row_is_lost_or_there_twice(bucket: Bucket, gcs: GcsServer) -> None:
    own = CONDITIONAL_PUT if bucket.url.startswith("s3://") else {}
    found, wanted = race(f"{bucket.url}/race", {**STORAGE_OPTIONS, **own, **bucket.options}, 2, 4)
    assert found == wanted
    assert own or gcs.refused, "there was no conflict, so the test proves nothing"


def test_a_large_body_is_kept_and_read_and_one_that_is_gone_is_told_apart(bucket: Bucket) -> None:
    claims = claims_at(f"{bucket.url}/claims", bucket.options)
    body = os.urandom(3 << 20)
    key = claims.put(body)
    assert (claims.get(key), claims.size(key), claims.size(b"no key")) == (body, len(body), 0)
    with pytest.raises(GiveUp, match="is missing in"):
        claims.get(b"0" * 32 + b"-5")
    missing = claims_at(*bucket.elsewhere())
    asks: list[Callable[[], bytes]] = [lambda: missing.put(body), lambda: missing.get(key)]
    for ask in asks:
        with pytest.raises(
            LogUnavailable, match=r"the bucket does not exist \(404\)\. Create it, or correct `claims_url`"
        ) as told:
            ask()
        assert "\n" not in str(told.value)


def test_a_store_that_lets_one_commit_overwrite_another_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    with running_gcs() as careless:
        careless.is_heeding = False
        settings = World(tmp_path, lake="gs://lake/it", lake_options=careless.options).settings
        with pytest.raises(WrongSetting, match="two commits of a Delta table could overwrite each other"):
            check_conditional_writes(settings)
        assert not careless.objects


NO_ROLE = {"aws_metadata_endpoint": "http://127.0.0.1:9", "aws_region": "eu-west-1"}


@pytest.mark.parametrize(
    ("url", "options", "words"),
    [
        ("s3://bucket/lake", NO_ROLE, ["no AWS credentials were found", "IRSA", "AWS_ACCESS_KEY_ID"]),
        (
            "gs://bucket/lake",
            {"google_service_account": "/no/such.json"},
            ["no Google credentials", "GOOGLE_APPLICATION"],
        ),
        ("s3://bucket/lake", {"aws_endpoint_url": "http://127.0.0.1:9"}, ["is http", "`allow_http`"]),
        ("s3://bucket/lake", {"aws_endpoint_url": "https://127.0.0.1:9"}, ["cannot be reached", "check `lake`"]),
    ],
    ids=["no role", "no key of Google", "http", "away"],
)
def test_what_is_wrong_is_one_line_with_its_fix_and_without_a_secret(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, url: str, options: dict[str, str], words: list[str]
) -> None:
    for name in [each for each in os.environ if each.startswith(("AWS_", "GOOGLE_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    keys = {} if "aws_endpoint_url" not in options else {"aws_access_key_id": "a", "aws_secret_access_key": SECRET}
    world = World(tmp_path, lake=url, lake_options={"max_retries": "0", **keys, **options})
    world.append(event(1))
    with pytest.raises((LakeUnavailable, WrongSetting)) as caught:
        world.parser()
    told = str(caught.value)
    assert all(word in told for word in words), told
    assert SECRET not in told
    assert "\n" not in told


@contextmanager
def refusing(status: int, code: str) -> Iterator[dict[str, str]]:
    """Yield the options of a store that refuses every request as S3 does."""

    class Refuser(BaseHTTPRequestHandler):
        def refuse(self) -> None:
            body = f"<Error><Code>{code}</Code><Message>It is refused.</Message></Error>".encode()
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.send_response(status)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(b"" if self.command == "HEAD" else body)

        do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = refuse  # noqa: N815 - as http.server calls them

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Refuser) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield {
            "aws_endpoint_url": f"http://127.0.0.1:{server.server_port}", "aws_allow_http": "true", "max_retries": "0",
            "aws_region": "eu-west-1", "aws_access_key_id": "a", "aws_secret_access_key": SECRET,
        }  # fmt: skip
        server.shutdown()


@pytest.mark.parametrize(
    ("status", "code", "words"),
    [
        (403, "RequestTimeTooSkewed", ["clock", "NTP"]),
        (403, "AccessDenied", ["lack a permission", "`s3:PutObject`"]),
        (403, "SignatureDoesNotMatch", ["secret is wrong"]),
        (301, "PermanentRedirect", ["another region", "`aws_region`"]),
        (400, "AuthorizationHeaderMalformed", ["another region", "`aws_region`"]),
        (503, "SlowDown", ["throttles"]),
    ],
)
def test_what_s3_refuses_is_waited_for_and_told_by_delta_and_by_our_own_files_alike(
    tmp_path: Path, status: int, code: str, words: list[str]
) -> None:
    with refusing(status, code) as options:
        world = World(tmp_path, lake="s3://bucket/lake", lake_options=options)
        world.append(event(1))
        store, claims = ObjectStore("s3://bucket/lake", options), claims_at("s3://bucket/claims", options)
        asks: list[Callable[[], object]] = [
            world.parser, lambda: store.create("a", b"b"), lambda: store.files("a"), lambda: claims.put(b"x")
        ]  # fmt: skip
        for ask in asks:
            with pytest.raises(Retry) as caught:
                ask()
            told = str(caught.value)
            assert all(word in told for word in words), told
            assert SECRET not in told
            assert "\n" not in told


def test_a_bucket_that_is_not_there_is_waited_for(bucket: Bucket, tmp_path: Path) -> None:
    there_is_none = bucket.elsewhere()
    settings = World(tmp_path, lake=f"{there_is_none.url}/lake", lake_options=there_is_none.options).settings
    with pytest.raises(LakeUnavailable, match=r"the bucket does not exist \(404\)\. Create it, or correct `lake`"):
        check_conditional_writes(settings)
