"""Files in ADLS Gen2 and OneLake: Azure's own client with a stand-in that checks each request."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from headwater.common.errors import Retry, WrongSetting
from headwater.intake.files.sources import azure_files
from headwater.intake.files.sources.azure_files import AzureFiles, AzurePlace, parse_folder_address
from headwater.intake.files.sources.file_source import FileGone
from headwater.intake.files.sources.local_files import LocalFiles
from headwater.intake.files.sources.source_registry import open_file_source
from tests.support.data.file_intake import Taking, all_but_certain, events
from tests.support.servers.adls import CONTAINER, DfsServer, dfs_server

ROOT = f"abfss://{CONTAINER}@acct.dfs.core.windows.net"
SINCE_US = 1_772_409_600_000_000  # 2026-03-02, UTC


@pytest.fixture(scope="module")
def server() -> Iterator[DfsServer]:
    with dfs_server() as stored:
        yield stored


@pytest.fixture
def azure(server: DfsServer) -> DfsServer:
    server.files.clear()
    server.requests.clear()
    return server


@pytest.fixture
def taking(tmp_path: Path) -> Iterator[Taking]:
    made = Taking(tmp_path)
    yield made
    made.close()


def source(azure: DfsServer, folder: str = "lineage") -> AzureFiles:
    return AzureFiles(f"{ROOT}/{folder}", azure.options, None)


def lines(bodies: list[bytes]) -> bytes:
    return b"".join(each + b"\n" for each in bodies)


def test_files_of_many_pages_are_taken_once(azure: DfsServer, taking: Taking) -> None:
    sent = events(20)
    for number in range(10):
        azure.put(f"lineage/dt=2026-03-0{number % 3 + 1}/{number} ü.ndjson", lines(sent[2 * number : 2 * number + 2]))
    azure.put("lineage/_SUCCESS", b"")
    azure.put("lineage/dt=2026-03-01/.x.tmp", b"{")
    azure.put("other/z.ndjson", lines(events(1)))

    assert taking.take(source(azure)).events == 20
    reads = sum("dt=" in each for each in azure.requests)
    again = taking.take(source(azure))

    assert sorted(taking.bodies()) == sorted(sent)
    assert (again.events, again.unchanged) == (0, 10)
    assert sum("dt=" in each for each in azure.requests) == reads  # known files need only the listing
    assert sum("continuation" in each for each in azure.requests) >= 6


def test_a_file_that_grows_is_read_on_by_a_range(azure: DfsServer, taking: Taking) -> None:
    sent = events(3000)
    now = datetime.now(UTC).isoformat()  # a file that is a day old would count as completely written
    azure.put("lineage/log.ndjson", lines(sent[:2000]) + sent[2000][:9], now)
    assert taking.take(source(azure)).waiting == 1
    azure.put("lineage/log.ndjson", lines(sent), now)

    assert taking.take(source(azure)).events == 1000
    assert taking.bodies() == sent


def test_a_file_that_changes_between_two_ranges_is_gone_on_with_at_the_next_look(
    azure: DfsServer, taking: Taking, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(azure_files, "RANGE_BYTES", 1 << 14)  # a setting of the module
    sent = events(200)
    azure.put("lineage/log.ndjson", lines(sent[:150]))
    place = source(azure)

    class Growing(AzureFiles):
        def open(self, found):  # type: ignore[no-untyped-def]
            file = super().open(found)
            file.read(1)
            azure.put("lineage/log.ndjson", lines(sent))
            file.seek(0)
            return file

    growing = Growing(f"{ROOT}/lineage", azure.options, None)
    first = taking.take(growing).events
    assert 0 < first < 150
    second = taking.take(place).events

    assert first + second == 200
    assert taking.bodies() == sent


def test_since_lists_no_folder_of_an_earlier_day(azure: DfsServer, taking: Taking) -> None:
    for day in ("02-28", "03-02", "03-03"):
        azure.put(f"lineage/a/dt=2026-{day}/x.ndjson", lines(events(1)))
    azure.put("lineage/old.ndjson", lines(events(1)), "2026-03-01T23:59:59+00:00")

    assert taking.take(source(azure), since_us=SINCE_US).events == 2
    assert [each for each in azure.requests if "dt%3D2026-02-28" in each or "dt=2026-02-28" in each] == []


def test_one_file_may_be_named(azure: DfsServer, taking: Taking) -> None:
    azure.put("lineage/log.ndjson", lines(events(3)))

    assert taking.take(source(azure, "lineage/log.ndjson")).events == 3


def test_taken_files_are_deleted_in_the_version_that_was_taken(azure: DfsServer, taking: Taking) -> None:
    azure.put("lineage/a.ndjson", lines(events(1)))
    azure.put("lineage/b.ndjson", lines(events(1)))
    place = source(azure)
    taking.take(place)
    (found,) = (each for each in place.files(0) if each.path.endswith("b.ndjson"))
    azure.put("lineage/b.ndjson", lines(events(2)))

    assert place.delete(found) is False
    assert taking.take(place, deletion=all_but_certain()).deleted == 1
    assert list(azure.files) == ["lineage/b.ndjson"]


def test_where_nothing_may_be_deleted_what_is_new_is_taken_all_the_same(azure: DfsServer, taking: Taking) -> None:
    azure.put("lineage/a.ndjson", lines(events(1)))
    azure.put("lineage/b.ndjson", lines(events(1)))
    taking.take(source(azure))
    azure.put("lineage/c.ndjson", lines(events(1)))
    azure.denied = {"DELETE"}

    with pytest.raises(Retry, match="Cannot delete"):
        taking.take(source(azure), deletion=all_but_certain())

    azure.denied = set()
    assert len(taking.bodies()) == len(azure.files) == 3
    assert sum("DELETE" in each for each in azure.requests) == 1


def test_a_file_that_went_is_gone_and_a_folder_that_is_none_is_named(azure: DfsServer) -> None:
    azure.put("lineage/a.ndjson", lines(events(1)))
    place = source(azure)
    (found,) = place.files(0)
    azure.files.clear()

    with pytest.raises(FileGone), place.open(found) as file:
        file.read()
    with pytest.raises(WrongSetting, match=r"abfss://events@acct.* does not exist"):
        list(place.files(0))


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (403, "AuthorizationPermissionMismatch", "lacks a role"),
        (404, "FilesystemNotFound", "does not exist"),
    ],
)
def test_what_the_account_refuses_is_said_with_its_fix(azure: DfsServer, status: int, code: str, said: str) -> None:
    azure.faults = [(status, code)] * 2

    with pytest.raises((Retry, WrongSetting), match=said):
        list(source(azure).files(0))
    azure.faults = []


def test_an_account_that_fails_for_a_moment_is_asked_again(azure: DfsServer, taking: Taking) -> None:
    azure.put("lineage/a.ndjson", lines(events(2)))
    azure.faults = [(500, "InternalError")]

    assert taking.take(source(azure)).events == 2


@pytest.mark.parametrize(
    ("address", "place"),
    [
        (f"{ROOT}/a/b/", AzurePlace("https://acct.dfs.core.windows.net", "events", "a/b")),
        (
            "abfss://My%20Work@onelake.dfs.fabric.microsoft.com/Shop.Lakehouse/Files/lineage",
            AzurePlace("https://onelake.dfs.fabric.microsoft.com", "My Work", "Shop.Lakehouse/Files/lineage"),
        ),
        (
            "https://onelake.dfs.fabric.microsoft.com/Sales/Shop.Lakehouse/Files",
            AzurePlace("https://onelake.dfs.fabric.microsoft.com", "Sales", "Shop.Lakehouse/Files"),
        ),
    ],
)
def test_addresses_are_read(address: str, place: AzurePlace) -> None:
    assert parse_folder_address(address) == place


@pytest.mark.parametrize("address", ["abfss://x/y", "https://example.org/a/b", f"{ROOT}/a?sig=secret", "abfss://c@h/p"])
def test_what_is_no_address_is_refused_without_its_secrets(address: str) -> None:
    with pytest.raises(WrongSetting, match="is not a valid address of a folder in Azure") as refused:
        parse_folder_address(address)
    assert "secret" not in str(refused.value)


def test_the_path_says_which_module_reads_it(tmp_path: Path) -> None:
    assert isinstance(open_file_source(str(tmp_path), {}, None), LocalFiles)
    assert isinstance(open_file_source(f"file://{tmp_path}", {}, None), LocalFiles)
    with pytest.raises(WrongSetting, match="headwater-spark ingest"):
        open_file_source("s3a://bucket/x", {}, None)
    with pytest.raises(WrongSetting, match="no file or folder"):
        open_file_source(str(tmp_path / "none"), {}, None)
