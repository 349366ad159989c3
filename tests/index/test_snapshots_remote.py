"""Snapshots of the index in lakes in cloud storage: Azurite, and S3 as emulated by moto."""

import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headwater.common.errors import LakeUnavailable
from headwater.lake.object_store import ObjectStore
from headwater.lineage.names.canonical_names import default_rules
from headwater.operations.runtime.index import maintain_index, make_snapshot_if_due, open_index_home, open_view_opener
from headwater.operations.runtime.storage import lake_root_and_options
from tests.support.data.parsing import World, event
from tests.support.servers.azurite import KEY, PATIENT, Storage, one_line
from tests.support.servers.s3 import S3Server
from tests.support.waiting import rest

pytestmark = pytest.mark.slow  # starts servers

_LONGEST_S = 120.0


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with Storage() as started:
        yield started


@pytest.fixture(scope="module")
def lake(storage: Storage) -> dict[str, Any]:
    return storage.lake(account_key=KEY, **PATIENT)


@pytest.fixture(scope="module")
def writer(lake: dict[str, Any], tmp_path_factory: pytest.TempPathFactory) -> World:
    world = World(tmp_path_factory.mktemp("writer"), **lake)
    world.append(*(event(f"{number:032x}", ("a", "b")) for number in range(20)))
    while world.parser().commit_next():
        pass
    return world


def test_who_keeps_the_index_makes_one_by_itself_and_another_machine_begins_with_it(
    writer: World, lake: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store, stop = ObjectStore(*lake_root_and_options(writer.settings)), threading.Event()
    keeping = threading.Thread(target=maintain_index, args=(writer.settings, writer.folder, stop))
    keeping.start()
    deadline = time.monotonic() + _LONGEST_S
    while not any(each.name.endswith(".json") for each in store.files("index")):
        assert time.monotonic() < deadline
        assert keeping.is_alive()
        rest()
    stop.set()
    keeping.join()
    writer.append(event("ff" * 16, ("late",)))
    while writer.parser().commit_next():
        pass
    other = World(tmp_path, **lake)
    caplog.set_level("INFO")
    open_view_opener(other.settings, other.folder).close()
    assert "begins with snapshot" in caplog.text
    path = open_index_home(other.folder).index_path(default_rules())
    assert open_index_home(other.folder).published_file().path == path
    assert not make_snapshot_if_due(other.settings, other.folder), "the existing snapshot is recent"


def test_a_storage_that_refuses_is_said_in_a_line_and_nothing_is_half_done(
    storage: Storage, writer: World, tmp_path: Path
) -> None:
    store = ObjectStore(*lake_root_and_options(writer.settings))
    assert store.create("beside/file", b"x")
    with storage.failing("wrong role"), pytest.raises(LakeUnavailable) as found:
        store.create("beside/other", b"x")
    one_line(found.value, "Storage Blob Data Contributor")
    assert [each.name for each in store.files("beside")] == ["beside/file"]
    with storage.failing("dropped", "index"), pytest.raises(LakeUnavailable):
        make_snapshot_if_due(writer.settings, writer.folder)


def test_a_file_is_created_once_listed_with_its_time_and_deleted_however_often(writer: World) -> None:
    check(ObjectStore(*lake_root_and_options(writer.settings)))


def test_so_it_is_in_s3_with_versions_and_without_and_options_of_delta_rs_alone_do_no_harm() -> None:
    with S3Server().start() as server:
        beside = {"allow_http": "true", "AWS_S3_ALLOW_UNSAFE_RENAME": "true", "timeout": "60s", "max_retries": "2"}
        bucket = server.bucket()
        store = ObjectStore(f"s3://{bucket}/lake", {**server.options("x"), **beside})
        check(store)
        server.client().put_bucket_versioning(Bucket=bucket, VersioningConfiguration={"Status": "Enabled"})
        check(store)  # a deleted name can be created again although its versions remain


def check(store: ObjectStore) -> None:
    assert store.files("some") == []
    assert store.create("some/deep/file", b"first")
    assert not store.create("some/deep/file", b"second")
    assert store.read("some/deep/file") == b"first"
    assert store.read("some/none") is None
    (found,) = store.files("some")
    assert (found.name, found.size) == ("some/deep/file", 5)
    assert abs(found.at_us / 1e6 - time.time()) < 3600
    for _ in range(2):
        store.delete(["some/deep/file"])
    assert store.files("some") == []
