"""Checksums of the index's pages detect every flipped bit of a closed file, and do not report an active writer."""

import random
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from headwater.index.stored.integrity import SUFFIX, PageChecksums, check_pages

WRITE = """
import sqlite3, sys
from pathlib import Path
from headwater.index.stored.integrity import PageChecksums
from tests.index.test_page_checksums import opened, write

sql = opened(Path(sys.argv[1]))
sums = PageChecksums(Path(sys.argv[1]), sql)
sums.checkpoint()
for number in range(1_000_000):
    write(sql, number)
    sums.checkpoint(min_frames=7)
    print(number, flush=True)
"""


def opened(path: Path) -> sqlite3.Connection:
    sql = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    sql.execute("PRAGMA journal_mode=WAL")
    sql.execute("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, value TEXT)")
    return sql


def write(sql: sqlite3.Connection, number: int) -> None:
    sql.execute("BEGIN")
    sql.executemany("INSERT OR REPLACE INTO t VALUES (?, ?)", [(number * 37 % 500 + at, "x" * 900) for at in range(9)])
    sql.execute("COMMIT")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Provide a database that was closed after some checkpoints."""
    path = tmp_path / "index.sqlite"
    with closing(opened(path)) as sql:
        sums = PageChecksums(path, sql)
        for number in range(60):
            write(sql, number)
            sums.checkpoint(min_frames=20)
        sums.checkpoint()
    return path


def test_each_flipped_bit_is_found(file: Path) -> None:
    check_pages(file)
    whole, chance = file.read_bytes(), random.Random(7)
    for at_byte in [chance.randrange(100, len(whole)) for _ in range(200)]:
        harmed = bytearray(whole)
        harmed[at_byte] ^= 1 << chance.randrange(8)
        file.write_bytes(harmed)
        with pytest.raises(sqlite3.DatabaseError, match=f"page {at_byte // 4096 + 1} of index.sqlite") as found:
            check_pages(file)
        assert found.value.sqlite_errorcode == sqlite3.SQLITE_CORRUPT


def test_a_file_without_sums_is_given_some_when_its_writer_opens_it(file: Path) -> None:
    sums = file.with_name(file.name + SUFFIX)
    kept = sums.read_bytes()
    sums.unlink()
    check_pages(file)
    with closing(opened(file)) as sql:
        PageChecksums(file, sql).checkpoint()
    assert sums.read_bytes() == kept


def test_a_file_without_sums_is_given_some_for_the_pages_that_its_writer_leaves_alone(file: Path) -> None:
    sums = file.with_name(file.name + SUFFIX)
    sums.unlink()
    with closing(opened(file)) as sql:
        write(sql, 60)
        PageChecksums(file, sql).checkpoint()
    assert len(sums.read_bytes()) == file.stat().st_size // 4096 * 4
    assert 0 not in memoryview(sums.read_bytes()).cast("I")


def test_a_writer_at_work_is_no_damage(file: Path) -> None:
    done = threading.Event()

    def write_on() -> None:
        with closing(opened(file)) as sql:
            sums = PageChecksums(file, sql)
            for number in range(400):
                write(sql, number)
                sums.checkpoint(min_frames=5)
        done.set()

    writer = threading.Thread(target=write_on)
    writer.start()
    looks = 0
    while not done.is_set():
        check_pages(file)
        looks += 1
    writer.join()
    assert looks


def test_a_reader_that_holds_up_the_copying_of_pages_leaves_no_wrong_sum(file: Path) -> None:
    with closing(opened(file)) as sql, closing(opened(file)) as reader:
        sums = PageChecksums(file, sql)
        for number in range(40):
            reader.execute("BEGIN")
            reader.execute("SELECT count(*) FROM t").fetchone()
            write(sql, number)
            sums.checkpoint()
            check_pages(file)
            reader.execute("COMMIT")
    check_pages(file)


def test_a_kill_at_any_moment_leaves_no_wrong_sum(file: Path) -> None:
    for commits in (1, 40, 90, 155):
        with subprocess.Popen([sys.executable, "-c", WRITE, str(file)], stdout=subprocess.PIPE, text=True) as writer:
            assert writer.stdout is not None
            for _ in range(commits):
                writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        check_pages(file)
