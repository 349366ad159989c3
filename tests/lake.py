"""A bronze lake and a parser for tests, in one folder, with the real log beside it."""

import asyncio
from pathlib import Path

from deltalake import DeltaTable

from headwater.eventlog import Kind, Record
from headwater.eventlog.claims import FolderClaims
from headwater.eventlog.sqlite import Limits, SqliteLog
from headwater.eventlog.sqlite_reader import SqliteLogReader
from headwater.lake.bronze import Bronze
from headwater.parser.ingest import Parser


def post(folder: Path, *bodies: bytes, kind: Kind = Kind.EVENT) -> None:
    """Append bodies to the folder's log, as the receiver would."""
    log = SqliteLog(folder / "log", Limits(min_free_bytes=0))
    try:
        asyncio.run(log.append([Record(kind, body) for body in bodies], "key", timeout_s=10))
    finally:
        log.close()


def parser(folder: Path) -> Parser:
    """Open a parser from the folder's log to its lake."""
    claims = FolderClaims(folder / "claims")
    return Parser(SqliteLogReader(folder / "log"), bronze(folder), claims, "parser/local")


def bronze(folder: Path) -> Bronze:
    """Open the folder's lake."""
    return Bronze(str(folder / "lake"))


def rows(folder: Path, table: str) -> list[dict[str, object]]:
    """Read a table directly, in log order where it has one."""
    found: list[dict[str, object]] = DeltaTable(str(folder / "lake" / table)).to_pyarrow_table().to_pylist()
    return sorted(found, key=lambda row: str(row.get("sequence", "")).zfill(20))
