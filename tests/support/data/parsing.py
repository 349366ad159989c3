"""A log, a lake and a parser in one folder, without servers, for tests of the parser."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from msgspec import to_builtins

from headwater.api.audit import audit
from headwater.intake.event_log import LoggedRecord, Record, RecordKind
from headwater.intake.event_log.acknowledged import count_file_path
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.segments import open_writable
from headwater.intake.event_log.sqlite_log import LogLimits, SqliteLog
from headwater.intake.event_log.sqlite_reader import SqliteLogReader
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.storage import OWNER, open_bronze, open_claims
from headwater.operations.settings import load_settings
from tests.support.cleanup import until_end
from tests.support.lake_check import rows_at
from tests.support.paths import ROOT

_STEP = """
import json, sys, time
from pathlib import Path
from tests.support.data.parsing import World
world = World(Path(sys.argv[1]), **json.loads(sys.argv[3]))
while time.time() < float(sys.argv[2]):
    pass
parser = world.parser()
for last in sys.argv[4:]:
    parser.commit_delivery(world.records(1, int(last)))
parser.commit_next()
"""


def take_last_notes(folder: Path) -> None:
    """Parse the records of refused requests that the receiver wrote while it stopped.

    Normally the next start parses them. They are not events, so the count of pending events excludes them.
    """
    world = World(folder)
    with closing(SqliteLogReader(world.log)) as reader:
        parser = world.parser(reader)
        while parser.commit_next():
            pass


class OvertakenReader(SqliteLogReader):
    """A reader that lets another parser overtake once.

    `rival` runs after this reader has read the log and before the parser uses the records.
    """

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.rival: Callable[[], object] | None = None

    def read(self, after: int, *, limit: int, max_bytes: int) -> list[LoggedRecord]:
        found = super().read(after, limit=limit, max_bytes=max_bytes)
        if (rival := self.rival) is not None:
            self.rival = None
            rival()
        return found


class World:
    """A data folder in the layout of `headwater up`."""

    def __init__(self, folder: Path, **more: Any) -> None:
        self.settings = load_settings({"data": folder, **more}, folder=folder, environment={})[0]
        self.folder = prepare_folder(self.settings)
        self._lake = self.settings.lake or str(folder / "lake")
        self._options = more.get("lake_options")
        self._more = more
        self.bronze = open_bronze(self.settings)

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def append(self, *bodies: bytes, kind: RecordKind = RecordKind.EVENT, segment_bytes: int = 1 << 30) -> None:
        log = SqliteLog(self.log, LogLimits(segment_bytes=segment_bytes, min_free_bytes=0))
        try:
            asyncio.run(log.append([Record(kind, body) for body in bodies], timeout_s=10))
        finally:
            log.close()

    def append_to_end_of_segment(self, *bodies: bytes) -> Path:
        """Append events, and start a new segment with the next record. Returns the full segment."""
        full = max(self.log.glob("*.sqlite"), default=None)
        self.append(*bodies, segment_bytes=0)
        return full or min(self.log.glob("*.sqlite"))

    def tail(self) -> int:
        """Return the newest sequence number of the log, or 0 if the log is empty."""
        return self.reader().tail() if any(self.log.glob("*.sqlite")) else 0

    def age(self, days: int, behind: int = 0) -> None:
        """Move the receive times of the records after a sequence number into the past."""
        connection = open_writable(max(self.log.glob("*.sqlite")))
        aged = "UPDATE records SET received_us = received_us - ? WHERE sequence > ?"
        connection.execute(aged, (days * 86_400_000_000, behind))
        connection.close()
        self.uncount()

    def uncount(self) -> None:
        """Delete the log's count of acknowledged records, as if an old release had written it."""
        count_file_path(self.log).unlink()

    def claim(self, body: bytes) -> Path:
        """Append an event whose body is stored outside the log. Returns the body's file."""
        key = FolderClaims(self.folder / "claims").put(body)
        self.append(key, kind=RecordKind.CLAIM)
        return self.folder / "claims" / key.decode()

    def reader(self) -> SqliteLogReader:
        return until_end(SqliteLogReader(self.log))

    def overtaken(self) -> OvertakenReader:
        return until_end(OvertakenReader(self.log))

    def parser(self, reader: SqliteLogReader | None = None) -> PartitionParser:
        return PartitionParser(
            reader or self.reader(), self.bronze, open_claims(self.settings), OWNER, self.settings.record_cpu_s
        )

    def records(self, first: int, last: int) -> list[LoggedRecord]:
        return self.reader().read(first - 1, limit=last - first + 1, max_bytes=1 << 30)

    def audit(self) -> dict[str, Any]:
        found: dict[str, Any] = to_builtins(audit([self.reader()], self.bronze))
        return found

    def step_elsewhere(
        self, environment: dict[str, str], *batches: int, start_at: float = 0.0
    ) -> subprocess.Popen[bytes]:
        """Run a parser in another process, first in batches that end at these sequence numbers."""
        command = [sys.executable, "-c", _STEP, str(self.folder), str(start_at), json.dumps(self._more)]
        return subprocess.Popen([*command, *map(str, batches)], env=environment, cwd=ROOT)

    def sequences(self, table: str) -> list[int]:
        return sorted(row["sequence"] for row in self._rows(table, ["sequence"]))

    def count(self, table: str) -> int:
        return sum(1 for _ in self._rows(table))

    def placed(self) -> list[int]:
        """List every sequence number of every table, with gaps expanded. Each should occur once."""
        found = [*self.sequences("events"), *self.sequences("duplicates"), *self.sequences("refused")]
        for row in self._rows("rejected", ["sequence", "to_sequence"]):
            found += range(row["sequence"], row["to_sequence"] + 1)
        return sorted(found)

    def reasons(self) -> dict[int, str]:
        return {row["sequence"]: row["reason"] for row in self._rows("rejected")}

    def _rows(self, table: str, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
        return rows_at(self._lake, table, columns, self._options)


def event(run: object, schema: Sequence[str] = ("a",)) -> bytes:
    """Encode an event of a run whose output has a schema and column lineage."""
    edges = {name: {"inputFields": [{"namespace": "n", "name": "source", "field": name}]} for name in schema}
    facets = {"schema": {"fields": [{"name": name} for name in schema]}, "columnLineage": {"fields": edges}}
    value = {
        "eventType": "COMPLETE", "eventTime": "2026-03-01T12:00:00Z", "producer": "https://headwater.test",
        "run": {"runId": str(run)}, "job": {"namespace": "n", "name": "j"}, "inputs": [],
        "outputs": [{"namespace": "n", "name": "target", "facets": facets}],
    }  # fmt: skip
    return json.dumps(value).encode()


def note(count: object = 1) -> bytes:
    """Encode the receiver's record of refused requests."""
    names = ("route", "key", "field", "message", "user_agent")
    return json.dumps(
        {"status": 400, "reason": "shape", "first_us": 1, "count": count, **dict.fromkeys(names)}
    ).encode()


def crash(world: World, point: str, *batches: int) -> None:
    """Parse in another process, which is killed at a fail point."""
    killed = world.step_elsewhere({**os.environ, "HEADWATER_FAILPOINT": point}, *batches)
    assert killed.wait(60) == -signal.SIGKILL
