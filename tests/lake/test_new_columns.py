"""New versions add columns to tables. Older writers, and readers of both versions, continue to work."""

import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import compact_tables
from headwater.tables import BRONZE, ListOf, Table
from tests.fixtures import unpack_before_verdicts
from tests.support.data.parsing import World, event
from tests.support.paths import ROOT

pytestmark = pytest.mark.slow

OLD = Table("t", {"sequence": "long", "text": "string", "at": "timestamp"}, ())
NEW = Table("t", {"sequence": "long", "added": "string", "text": "string", "at": "timestamp", "late": "timestamp",
                  "all": ListOf("string"), "days": "date", "count": "int", "yes": "boolean"})  # fmt: skip
_ALL = ", ".join(f'"{name}"' for name in NEW.columns)
_CREATE = """
import sys, time
from headwater.lake.delta_table import LakeTable
from tests.lake.test_new_columns import NEW
while time.time() < float(sys.argv[2]):
    pass
LakeTable(sys.argv[1], NEW).create({})
"""


@pytest.fixture
def uri(tmp_path: Path) -> str:
    """Provide a table with one row, as the previous version created it."""
    found = str(tmp_path / "t")
    old = LakeTable(found, OLD)
    old.create({"headwater.owner": "parser/local"})
    append(old, 1)
    return found


def append(table: LakeTable, sequence: int, *, app_id: str = "app") -> int:
    values = {"sequence": sequence, "text": "x", "added": "new", "at": sequence, "late": 5, "all": ["a"]}
    row = tuple(values.get(name) for name in table.table.columns)
    return table.append_once(app_id, table.prepare([(sequence, row)]), sequence)


def stored(uri: str) -> dict[int, tuple[object, ...]]:
    rows = LakeTable(uri, NEW).run_query(f"SELECT {_ALL} FROM t WHERE sequence > 0 ORDER BY sequence").to_pylist()
    return {row["sequence"]: (row["text"], row["added"], row["all"]) for row in rows}


def columns(uri: str) -> list[str]:
    return [field.name for field in LakeTable(uri, NEW).handle().schema().fields]


def test_a_writer_adds_the_columns_that_are_missing_once_and_keeps_the_rest(uri: str) -> None:
    new = LakeTable(uri, NEW)
    for _ in range(2):
        new.create({"headwater.owner": "another"})
    assert append(new, 2) == 1
    assert append(new, 1) == 0, "the transactions of the previous version must count"
    assert stored(uri) == {1: ("x", None, None), 2: ("x", "new", ["a"])}
    assert new.properties() == {"headwater.owner": "parser/local"}
    assert sorted(columns(uri)) == sorted(NEW.columns)
    assert new.handle().version() == 3, "the versions are: created, appended, columns added, appended"
    protocol = new.handle().protocol()
    assert (protocol.min_reader_version, protocol.min_writer_version) == (1, 2)


def test_a_reader_finds_nothing_in_columns_that_no_writer_has_added_yet(uri: str) -> None:
    assert stored(uri) == {1: ("x", None, None)}
    found = LakeTable(uri, NEW).run_query("SELECT max(late) AS late, sum(count) AS n FROM t WHERE added IS NULL")
    assert found.to_pylist() == [{"late": None, "n": None}]


def test_readers_and_writers_that_do_not_know_the_new_columns_go_on(uri: str) -> None:
    reader, writer = LakeTable(uri, OLD), LakeTable(uri, OLD)
    assert reader.run_query("SELECT text FROM t").to_pylist() == [{"text": "x"}]
    assert append(writer, 2) == 1
    LakeTable(uri, NEW).create({})
    assert append(writer, 3) == 1
    assert append(LakeTable(uri, OLD), 4) == 1
    assert len(reader.run_query("SELECT text FROM t").to_pylist()) == 4
    assert stored(uri) == dict.fromkeys(range(1, 5), ("x", None, None))


def test_a_writer_whose_table_lost_its_columns_to_an_older_copy_of_the_lake_adds_them_again(uri: str) -> None:
    assert append(LakeTable(uri, NEW), 2) == 1
    assert stored(uri)[2] == ("x", "new", ["a"])


def test_writers_that_open_a_table_at_once_add_its_columns_once(uri: str) -> None:

    start = str(time.time() + 4)
    racers = [subprocess.Popen([sys.executable, "-c", _CREATE, uri, start], cwd=ROOT) for _ in range(4)]
    assert [racer.wait(60) for racer in racers] == [0] * 4
    assert sorted(columns(uri)) == sorted(NEW.columns)
    assert append(LakeTable(uri, NEW), 2) == 1


def test_bronze_of_the_version_before_takes_todays_columns_and_keeps_its_rows(tmp_path: Path) -> None:
    world = World(unpack_before_verdicts(tmp_path))
    before = {table.name: rows(world, table) if world.bronze.tables[table.name].exists() else [] for table in BRONZE}
    assert all(row["shape"] is None for row in before["events"])
    world.append(event("7" * 32))
    assert world.parser().commit_next() == 2
    compact_tables(world.bronze)
    for table in BRONZE:
        after = rows(world, table)
        assert [row for row in before[table.name] if row not in after] == [], table.name
        there = world.bronze.tables[table.name].handle().schema().fields
        assert sorted(field.name for field in there) == sorted(table.columns)
    assert world.audit()["balanced"]


def rows(world: World, table: Table) -> list[dict[str, object]]:
    names = ", ".join(f'"{name}"' for name in table.columns)
    return world.bronze.tables[table.name].run_query(f"SELECT {names} FROM t").to_pylist()


def test_who_makes_a_table_at_one_moment_with_others_has_it(tmp_path: Path) -> None:
    for number in range(10):
        together = Barrier(6)

        def made(table: LakeTable, together: Barrier = together) -> int:
            together.wait()
            table.create({})
            return append(table, 1)

        uri = str(tmp_path / str(number))
        with ThreadPoolExecutor(6) as pool:
            assert sum(pool.map(made, [LakeTable(uri, NEW) for _ in range(6)])) == 1
        assert sorted(columns(uri)) == sorted(NEW.columns)
