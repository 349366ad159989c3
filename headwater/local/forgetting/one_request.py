"""`headwater forget`: search, say what there is, erase it in one order, search again, keep a receipt.

The log goes before the lake: what the log still held would come back with its next epoch. Every step finds by itself
what is left to do, so after a kill the same command goes on.
"""

import fcntl
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

from headwater.access import Caller
from headwater.errors import WrongSetting
from headwater.eventlog.folder_claims import FolderClaims
from headwater.eventlog.sqlite_kind import unnamed_bodies
from headwater.failpoints import reach
from headwater.index.snapshots.snapshot_shelf import FOLDER as SNAPSHOTS
from headwater.index.snapshots.snapshot_shelf import FORGOTTEN
from headwater.lake.admin_log import Actor, open_admin_log, record_admin
from headwater.lake.attempts import Attempts
from headwater.lake.bronze_retention import remove_unnamed
from headwater.lake.delta_table import LakeTable
from headwater.lake.half_written import is_half_written
from headwater.local.forgetting.lake_erasing import LakeFound, drop_history
from headwater.local.forgetting.log_erasing import count_in_log, erase_in_log
from headwater.local.forgetting.receipts import Receipt
from headwater.local.forgetting.searching import files_with, stored_with
from headwater.local.forgetting.wanted import Wanted
from headwater.local.lake_files import files_below, open_lake_files
from headwater.parser.log_ingest import Parser
from headwater.parser.partitions import Partition
from headwater.runtime.folders import existing_folder, folder_lock
from headwater.runtime.logs import is_log_made, open_log_readers
from headwater.runtime.sink_opening import open_ledger
from headwater.runtime.storage import (
    OWNER,
    claims_folder,
    is_lake_remote,
    lake_place,
    open_bronze,
    open_claims,
)
from headwater.settings import Settings

_LAYERS = ("silver", "gold")
_ROLES = ("up", "serve", "index", "sinks", "backup")
_ADMIN = "admin"
_LEFT = (
    "names in the log of administration (`lake/admin`): who changed what",
    "backups, and copies that others made",
    "what sinks have sent to other systems",
    "files of events that `ingest` took",
)
_KEPT_BY_STORES = "versions and deleted files that the storage keeps (soft delete), until their retention"


class Forgetting:
    """One request, on a data folder of this machine and its lake, in a folder or at an address."""

    def __init__(self, settings: Settings, wanted: Wanted) -> None:
        """Read nothing yet."""
        self._settings, self._wanted = settings, wanted
        self._folder, self._lake = existing_folder(settings), open_lake_files(settings)
        self._bronze, self._ledger = open_bronze(settings), open_ledger(settings)

    def dry_run(self) -> dict[str, Any]:
        """Return what would go; changes nothing, and Headwater may run."""
        found, _ = self._look()
        return {"kind": self._wanted.kind, "found": found, "left": self._left()}

    def forget(self, *, stopped: bool = False) -> dict[str, Any]:
        """Erase it and return the receipt; raises WrongSetting while Headwater runs, Retry where storage fails.

        stopped: the caller says that nothing writes a lake at an address, of which no lock of this machine can tell.
        """
        self._check_remote(stopped)
        with self._alone():
            self._catch_up()
            receipt = Receipt(self._lake, self._wanted)
            found, rows = self._look()
            noted = receipt.begin(found)
            self._drop_snapshots()
            self._drop_unfinished()
            files = self._count_files()
            if any(noted.values()):
                self._erase(rows)
            remains, looked = self._search()
            if any(self._is_of_tables(each) for each in remains):  # of rows that went before, by age
                self._drop_unused()
                remains, looked = self._search()
            self._note(receipt.said)  # before it is done: who is killed in between says it twice, and not never
            return receipt.end(
                files={"before": files, "after": self._count_files()}, left=self._left(),
                proof={"files": looked, "found": len(remains), "in": remains},
            )  # fmt: skip

    def _check_remote(self, stopped: bool) -> None:
        if not is_lake_remote(self._settings):
            return
        if not stopped:
            raise WrongSetting(
                f"Others may write to {self._lake.address}, and what they write meanwhile would be lost. Stop all that "
                "does (on Azure `az functionapp stop` for each app, and passes of Spark), then say so with --stopped."
            )
        if not is_log_made(self._settings, self._folder):
            raise WrongSetting(
                f"{self._folder} holds no log of {self._lake.address}: what still waits in it would come back. Name "
                "its folder with --data, or the log that feeds the lake with HEADWATER_LOG."
            )

    def _look(self) -> tuple[dict[str, int], LakeFound]:
        records, bodies = count_in_log(self._folder / "log", claims_folder(self._settings), self._wanted)
        rows = LakeFound(self._bronze, self._ledger, self._wanted)
        layers, _ = stored_with(self._lake, self._of_layers(), self._wanted)
        others, _ = files_with(chain(*(files_below(self._folder / each) for each in ("index", "run"))), self._wanted)
        places = {"files of silver and gold": len(layers), "files of index and run": len(others)}
        return {"records of the log": records, "large bodies": bodies, **rows.counts(), **places}, rows

    def _erase(self, rows: LakeFound) -> None:
        erase_in_log(self._folder / "log", claims_folder(self._settings), self._wanted)
        reach("forget.after_log")
        rows.erase()
        self._lake.delete(self._of_layers())
        shutil.rmtree(self._folder / "index", ignore_errors=True)
        (self._folder / "run" / "sinks.json").unlink(missing_ok=True)
        self._drop_unused()

    def _tables(self) -> list[LakeTable]:
        kept = self._bronze.tables if self._bronze.exists() else {}
        return [*kept.values(), *(self._ledger.tables.values() if self._ledger.exists() else ())]

    def _drop_unused(self) -> None:
        """Delete what no event names any more, and every file of an older version."""
        remove_unnamed(self._bronze, [reader.source for reader in self._readers()])
        for table in self._tables():
            drop_history(table, self._lake)
            reach("forget.after_history")

    def _is_of_tables(self, file: str) -> bool:
        return any(file.startswith(f"{table.uri}/") for table in self._tables())

    def _drop_unfinished(self) -> None:
        """Delete what killed processes never ended to write, which no search can decode: it was never anybody's."""
        self._lake.delete(name for name in self._lake.names("") if is_half_written(name.rpartition("/")[2]))
        if self._settings.log == "sqlite" and is_log_made(self._settings, self._folder):
            unnamed_bodies(self._folder, FolderClaims(claims_folder(self._settings))).sweep()

    def _drop_snapshots(self) -> None:
        """Delete the copies of the index, whatever is found: they are compressed, and may hold what bronze let go."""
        self._lake.delete(self._lake.names(SNAPSHOTS))
        reach("forget.after_snapshots")

    def _catch_up(self) -> None:
        """Bring all of the log into the lake: a record that is erased before would be rejected as no event."""
        for reader in self._readers():
            attempts = Attempts(self._folder / "run" / f"attempts-{reader.source.partition}.json")
            parser = Parser(reader, self._bronze, open_claims(self._settings), OWNER, self._settings.record_cpu_s)
            partition = Partition(reader, parser, attempts)
            while partition.step():
                pass
            reader.close()

    def _readers(self) -> Sequence[Any]:
        return open_log_readers(self._settings, self._folder) if is_log_made(self._settings, self._folder) else ()

    def _search(self) -> tuple[list[str], int]:
        """Return the files that still say it, and how many were looked at: all but receipts and who changed what."""
        here, looked = files_with(self._own_files(), self._wanted)
        kept = (f"{FORGOTTEN}/", f"{_ADMIN}/")
        names = [name for name in self._lake.names("") if not name.startswith(kept)]
        stored, looked_there = stored_with(self._lake, names, self._wanted)
        return [*map(str, here), *(f"{self._lake.address}/{name}" for name in stored)], looked + looked_there

    def _own_files(self) -> Iterator[Path]:
        return files_below(self._folder, besides=Path(self._lake.address))

    def _count_files(self) -> int:
        return sum(1 for _ in self._own_files()) + len(self._lake.names(""))

    def _of_layers(self) -> list[str]:
        return [name for layer in _LAYERS for name in self._lake.names(layer)]

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Hold every role on the folder, and keep passes over a lake on this machine away."""
        with ExitStack() as stack:
            for role in _ROLES:
                stack.enter_context(folder_lock(self._folder, role, wait_s=0))
            lock = Path(self._lake.address, "silver", "_refresh", "lock")
            if lock.exists():
                file = stack.enter_context(lock.open("a+"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise WrongSetting("A pass of `headwater spark refresh` works in the lake. Wait for it.") from None
            yield

    def _left(self) -> list[str]:
        elsewhere = [f"the log of {self._settings.log}, until its retention"] if self._settings.log != "sqlite" else []
        claims = ["large bodies in their container"] if self._settings.claims_url else []
        kept = [_KEPT_BY_STORES] if is_lake_remote(self._settings) else []
        return [*_LEFT, *elsewhere, *claims, *kept]

    def _note(self, said: dict[str, Any]) -> None:
        counts = ", ".join(f"{name} {count}" for name, count in said["found"].items() if count)
        actor = Actor(Caller(said["by"], frozenset(), kind="command").label)
        record_admin(open_admin_log(*lake_place(self._settings)), actor, "forget", said["id"], detail=counts)
