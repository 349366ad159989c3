"""Maintenance preserves content, watermarks, and files that readers may still need."""

import os
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

from headwater.common.errors import LakeUnavailable
from headwater.lake.bronze_tables import Bronze
from headwater.lake.delta_table import ROW_GROUP, LakeTable
from headwater.lake.maintenance import compact_tables, count_small_files, vacuum_tables
from headwater.lake.object_store import ObjectStore
from headwater.operations.runtime.storage import open_bronze
from headwater.tables import BRONZE, DUPLICATES, ListOf, StructOf, Table, Type
from tests.support.data.maintained import SOURCE, age_removals, append, data_files
from tests.support.data.parsing import World, event
from tests.support.data.samples import body, run_event
from tests.support.lake_check import rows


def by_sequence(folder: Path) -> list[dict[str, object]]:
    return sorted(rows(folder, "duplicates"), key=lambda row: row["sequence"])


def small_commits(lake: Bronze, count: int) -> LakeTable:
    lake.create("parser/local", "life")
    table = lake.tables[DUPLICATES.name]
    for sequence in range(1, count + 1):
        append(table, sequence)
    return table


@pytest.mark.slow
def test_compaction_joins_files_and_changes_no_row_and_no_watermark(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 30)
    before = by_sequence(tmp_path)
    assert count_small_files(lake) == 30
    compact_tables(lake)
    assert count_small_files(lake) == 1
    assert len(DeltaTable(table.uri).file_uris()) == 1
    assert by_sequence(tmp_path) == before
    assert table.watermark(SOURCE.app_id) == 30
    assert (Path(table.uri) / "_delta_log" / "_last_checkpoint").exists()


def test_a_compacted_file_has_row_groups_of_bounded_memory(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 1)
    append(table, *range(2, 6000))
    compact_tables(lake)
    (file,) = DeltaTable(table.uri).file_uris()
    written = pq.read_metadata(file)
    groups = [written.row_group(number) for number in range(written.num_row_groups)]
    assert max(group.num_rows for group in groups) <= ROW_GROUP < written.num_rows
    assert {group.column(0).compression for group in groups} == {"ZSTD"}


def test_an_append_after_compaction_by_another_process_still_counts_once(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 10)
    compact_tables(World(tmp_path).bronze)
    assert append(table, 10, 11) == 1
    assert [found["sequence"] for found in by_sequence(tmp_path)] == list(range(1, 12))


def test_a_file_of_the_lake_that_cannot_be_read_makes_the_lake_unavailable(tmp_path: Path) -> None:
    table = small_commits(World(tmp_path).bronze, 2)
    Path(DeltaTable(table.uri).file_uris()[0].removeprefix("file://")).unlink()
    with pytest.raises(LakeUnavailable, match="retries automatically"):
        table.run_query("SELECT event_id FROM t ORDER BY event_id")


@pytest.mark.slow
def test_the_serving_process_loads_no_pyarrow_and_no_client_of_an_oidc_issuer_by_itself() -> None:
    code = "import sys, headwater.operations.local.serve_process; print({'pyarrow', 'httpx', 'jwt'} & {*sys.modules})"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stdout == "set()\n"


def test_vacuum_leaves_the_files_that_a_reader_of_yesterday_still_needs(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 5)
    compact_tables(lake)
    vacuum_tables(lake, hours=0)
    assert DeltaTable(table.uri, version=5).to_pyarrow_table().num_rows == 5


def test_vacuum_deletes_the_files_that_were_replaced_before_that(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 5)
    compact_tables(lake)
    files = ObjectStore(table.uri, {})
    age_removals(files, hours=25)
    vacuum_tables(lake, hours=26)
    assert len(data_files(files)) == 6
    vacuum_tables(lake, hours=24)
    assert len(data_files(files)) == 1
    assert len(by_sequence(tmp_path)) == 5


def test_vacuum_deletes_what_killed_writers_left_a_day_ago_and_nothing_younger(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    table = small_commits(lake, 2)
    for path in Path(table.uri).glob("*.parquet"):
        os.utime(path, (1, 1))
    compact_tables(lake)  # the files are old, but were replaced only now
    kept = data_files(ObjectStore(table.uri, {}))
    for name in ("part-0.parquet", "part-1.parquet#1", "_delta_log/part.json#3"):
        for age_s in (0, 90_000):
            left = Path(table.uri, name.replace("part", f"part-{age_s}"))
            left.write_bytes(b"PAR1")
            os.utime(left, (time.time() - age_s,) * 2)
    vacuum_tables(lake, hours=24)
    found = {path.name for path in Path(table.uri).rglob("*") if path.name.startswith("part") or "#" in path.name}
    assert found == {*kept, "part-0-0.parquet", "part-0-1.parquet#1", "part-0.json#3"}


def test_both_delta_writers_can_use_every_table(tmp_path: Path) -> None:
    World(tmp_path).append(body(run_event()))
    World(tmp_path).parser().commit_next()
    for table in BRONZE:
        protocol = DeltaTable(str(tmp_path / "lake" / "bronze" / table.name)).protocol()
        assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


def test_the_log_of_a_table_holds_no_statistics_of_bodies(tmp_path: Path) -> None:
    World(tmp_path).append(body(run_event(job={"namespace": "n", "name": "j" * 5000})))
    World(tmp_path).parser().commit_next()
    assert all(len(path.read_text()) < 20_000 for path in (tmp_path / "lake/bronze/events/_delta_log").glob("*.json"))


def test_another_route_may_not_write_the_same_lake(tmp_path: Path) -> None:
    lake = World(tmp_path).bronze
    lake.create("spark/stream", "life")
    with pytest.raises(Exception, match="spark/stream"):
        lake.check_owner("parser/local")


@pytest.mark.parametrize("table", BRONZE, ids=lambda table: table.name)
def test_names_in_tables_are_plain(table: Table) -> None:
    def names(kind: Type) -> list[str]:
        if isinstance(kind, ListOf):
            return names(kind.item)
        if isinstance(kind, StructOf):
            return [*kind.fields, *(name for part in kind.fields.values() for name in names(part))]
        return []

    found = [*table.columns, *(name for kind in table.columns.values() for name in names(kind))]
    assert all(name.isidentifier() and name.islower() for name in found)


@pytest.mark.slow
def test_a_handle_sees_each_commit_of_another_also_where_the_log_between_was_cleaned_away(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.append(event(0))
    world.parser().commit_next()
    reader = open_bronze(world.settings).events
    seen = [reader.handle().version()]
    for number in range(1, 4):
        world.append(event(number))
        world.parser().commit_next()
        seen.append(reader.handle().version())
    assert seen == list(range(seen[0], seen[0] + 4))
    before = reader.handle().version()
    for number in range(4, 8):
        world.append(event(number))
        world.parser().commit_next()
    newest = world.bronze.events.reopen()
    newest.create_checkpoint()
    for version in range(newest.version()):
        (Path(reader.uri) / "_delta_log" / f"{version:020}.json").unlink()
    assert before < reader.handle().version() == newest.version()
