"""`headwater forget`: search, report, erase in a fixed order, search again, and store a receipt.

The log is erased before the lake, because its records would return with the next epoch. Every step finds out by itself
what is left to do. If the process is killed, run the same command again to continue. The receipt in the lake states
what was forgotten, when, by whom and with what proof, without the content itself.
"""

import fcntl
import getpass
import hashlib
import json
import secrets
import shutil
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

from headwater.auth.access import Caller
from headwater.common.errors import WrongSetting
from headwater.common.failpoints import reach_failpoint
from headwater.index.snapshots.storage import FOLDER as SNAPSHOTS
from headwater.index.snapshots.storage import FORGOTTEN
from headwater.intake.event_log.folder_claims import FolderClaims
from headwater.intake.event_log.sqlite_kind import orphaned_claims
from headwater.intake.parser.partition_parser import PartitionParser
from headwater.intake.parser.partitions import Partition
from headwater.lake.admin_log import Actor, open_admin_log, record_admin
from headwater.lake.attempts import UnfinishedAttempts
from headwater.lake.bronze_retention import remove_unreferenced
from headwater.lake.delta_table import LakeTable
from headwater.lake.maintenance import is_temporary_file
from headwater.operations.erasure.deletion import LakeMatches, count_in_log, delete_history, erase_in_log
from headwater.operations.erasure.search import ForgetTarget, matching_files, matching_lake_files
from headwater.operations.lake_files import LakeFiles, files_below, open_lake_files
from headwater.operations.runtime.data_folder import folder_lock, require_data_folder
from headwater.operations.runtime.event_log import log_exists, open_log_readers
from headwater.operations.runtime.sinks import STATUS_FILE, open_ledger
from headwater.operations.runtime.storage import (
    OWNER,
    claims_folder,
    is_lake_remote,
    lake_root_and_options,
    open_bronze,
    open_claims,
)
from headwater.operations.settings import Settings

_LAYERS = ("silver", "gold")
_ROLES = ("up", "serve", "index", "sinks", "backup")
_ADMIN = "admin"
_NOT_ERASED = (
    "names in the admin log (`lake/admin`), which records who changed what",
    "backups and copies made by others",
    "events and messages that sinks have sent to other systems",
    "files that `ingest` has read",
)
_RETAINED_BY_STORAGE = "versions and deleted files that the storage retains (soft delete), until their retention ends"


class ForgetRequest:
    """A request to erase a target from a data folder on this machine and from its lake, local or remote."""

    def __init__(self, settings: Settings, target: ForgetTarget) -> None:
        self._settings, self._target = settings, target
        self._folder, self._lake = require_data_folder(settings), open_lake_files(settings)
        self._bronze, self._ledger = open_bronze(settings), open_ledger(settings)

    def dry_run(self) -> dict[str, Any]:
        """Return the numbers of records, rows and files that `forget` would erase. Changes nothing.

        Headwater may be running.
        """
        found, _ = self._find_matches()
        return {"kind": self._target.kind, "found": found, "left": self._places_not_erased()}

    def forget(self, *, stopped: bool = False) -> dict[str, Any]:
        """Erase the target and return the receipt. Raises WrongSetting while Headwater runs, Retry if storage fails.

        stopped: the caller confirms that nothing writes to a remote lake, which no local lock can check.
        """
        self._check_remote(stopped)
        with self._exclusive_access():
            self._parse_whole_log()
            receipt = Receipt(self._lake, self._target)
            found, rows = self._find_matches()
            noted = receipt.begin(found)
            self._delete_index_snapshots()
            self._delete_unfinished_files()
            files = self._count_files()
            if any(noted.values()):
                self._erase_matches(rows)
            remains, looked = self._search_remaining()
            if any(self._is_of_tables(each) for each in remains):  # contents of rows that retention deleted earlier
                self._delete_unused_contents()
                remains, looked = self._search_remaining()
            self._append_receipt(
                receipt.content
            )  # before the receipt ends, so that a kill in between repeats the row in the admin log but never loses it
            return receipt.end(
                files={"before": files, "after": self._count_files()}, left=self._places_not_erased(),
                proof={"files": looked, "found": len(remains), "in": remains},
            )  # fmt: skip

    def _check_remote(self, stopped: bool) -> None:
        if not is_lake_remote(self._settings):
            return
        if not stopped:
            raise WrongSetting(
                f"Other processes may write to {self._lake.address}, and their writes would be lost. Stop all of them "
                "(on Azure `az functionapp stop` for each app, and Spark passes), then confirm this with --stopped."
            )
        if not log_exists(self._settings, self._folder):
            raise WrongSetting(
                f"{self._folder} has no log of {self._lake.address}, and records waiting in that log would return. "
                "Choose its folder with --data, or select the log of this lake with HEADWATER_LOG."
            )

    def _find_matches(self) -> tuple[dict[str, int], LakeMatches]:
        records, bodies = count_in_log(self._folder / "log", claims_folder(self._settings), self._target)
        rows = LakeMatches(self._bronze, self._ledger, self._target)
        layers, _ = matching_lake_files(self._lake, self._files_of_layers(), self._target)
        others, _ = matching_files(
            chain(*(files_below(self._folder / each) for each in ("index", "run"))), self._target
        )
        places = {"files of silver and gold": len(layers), "files of index and run": len(others)}
        return {"records of the log": records, "large bodies": bodies, **rows.counts_by_table(), **places}, rows

    def _erase_matches(self, rows: LakeMatches) -> None:
        erase_in_log(self._folder / "log", claims_folder(self._settings), self._target)
        reach_failpoint("forget.after_log")
        rows.erase_rows()
        self._lake.delete(self._files_of_layers())
        shutil.rmtree(self._folder / "index", ignore_errors=True)
        (self._folder / "run" / STATUS_FILE).unlink(missing_ok=True)
        self._delete_unused_contents()

    def _tables(self) -> list[LakeTable]:
        kept = self._bronze.tables if self._bronze.exists() else {}
        return [*kept.values(), *(self._ledger.tables.values() if self._ledger.exists() else ())]

    def _delete_unused_contents(self) -> None:
        """Delete the contents that no event refers to any more, and every file of an older table version."""
        remove_unreferenced(self._bronze, [reader.source for reader in self._readers()])
        for table in self._tables():
            delete_history(table, self._lake)
            reach_failpoint("forget.after_history")

    def _is_of_tables(self, file: str) -> bool:
        return any(file.startswith(f"{table.uri}/") for table in self._tables())

    def _delete_unfinished_files(self) -> None:
        """Delete the unfinished files of killed processes. No search can decode them, and nothing refers to them."""
        self._lake.delete(name for name in self._lake.names("") if is_temporary_file(name.rpartition("/")[2]))
        if self._settings.log == "sqlite" and log_exists(self._settings, self._folder):
            orphaned_claims(self._folder, FolderClaims(claims_folder(self._settings))).delete_unreferenced()

    def _delete_index_snapshots(self) -> None:
        """Delete all snapshots of the index. They may contain erased data, and no search can read compressed files."""
        self._lake.delete(self._lake.names(SNAPSHOTS))
        reach_failpoint("forget.after_snapshots")

    def _parse_whole_log(self) -> None:
        """Parse the whole log. The parser would reject a record that is erased before parsing as an invalid event."""
        for reader in self._readers():
            attempts = UnfinishedAttempts(self._folder / "run" / f"attempts-{reader.source.partition}.json")
            parser = PartitionParser(
                reader, self._bronze, open_claims(self._settings), OWNER, self._settings.record_cpu_s
            )
            partition = Partition(reader, parser, attempts)
            while partition.commit_next():
                pass
            reader.close()

    def _readers(self) -> Sequence[Any]:
        return open_log_readers(self._settings, self._folder) if log_exists(self._settings, self._folder) else ()

    def _search_remaining(self) -> tuple[list[str], int]:
        """Return the files that still match, and the number of files searched.

        The search covers all files except receipts and the admin log.
        """
        here, looked = matching_files(self._local_files(), self._target)
        kept = (f"{FORGOTTEN}/", f"{_ADMIN}/")
        names = [name for name in self._lake.names("") if not name.startswith(kept)]
        stored, looked_there = matching_lake_files(self._lake, names, self._target)
        return [*map(str, here), *(f"{self._lake.address}/{name}" for name in stored)], looked + looked_there

    def _local_files(self) -> Iterator[Path]:
        return files_below(self._folder, excluded=Path(self._lake.address))

    def _count_files(self) -> int:
        return sum(1 for _ in self._local_files()) + len(self._lake.names(""))

    def _files_of_layers(self) -> list[str]:
        return [name for layer in _LAYERS for name in self._lake.names(layer)]

    @contextmanager
    def _exclusive_access(self) -> Iterator[None]:
        """Hold every lock on the folder, and prevent Spark passes over a local lake."""
        with ExitStack() as stack:
            for role in _ROLES:
                stack.enter_context(folder_lock(self._folder, role, wait_s=0))
            lock = Path(self._lake.address, "silver", "_refresh", "lock")
            if lock.exists():
                file = stack.enter_context(lock.open("a+"))
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                except BlockingIOError:
                    raise WrongSetting("`headwater spark refresh` is running on the lake. Wait for its end.") from None
            yield

    def _places_not_erased(self) -> list[str]:
        elsewhere = [f"the log of {self._settings.log}, until its retention"] if self._settings.log != "sqlite" else []
        claims = ["large bodies in their container"] if self._settings.claims_url else []
        kept = [_RETAINED_BY_STORAGE] if is_lake_remote(self._settings) else []
        return [*_NOT_ERASED, *elsewhere, *claims, *kept]

    def _append_receipt(self, receipt: dict[str, Any]) -> None:
        counts = ", ".join(f"{name} {count}" for name, count in receipt["found"].items() if count)
        actor = Actor(Caller(receipt["by"], frozenset(), kind="command").label)
        record_admin(
            open_admin_log(*lake_root_and_options(self._settings)), actor, "forget", receipt["id"], detail=counts
        )


class Receipt:
    """A file in `lake/forgotten/`, written before anything is erased, and again at the end.

    `asked` is a salted SHA-256 of the request. Someone who knows the request can prove that it was made; nobody can
    read the request from the hash.
    """

    def __init__(self, files: LakeFiles, target: ForgetTarget) -> None:
        """Continue an unfinished receipt of the same request, or start a new one."""
        self._files = files
        same = (each for each in _unfinished_receipts(files) if each["asked"] == _request_hash(each["salt"], target))
        self.content: dict[str, Any] = next(same, {})
        self.went_on = bool(self.content)
        if not self.content:
            salt, began = secrets.token_hex(16), datetime.now(UTC)
            asked = _request_hash(salt, target)
            self.content = {
                "id": f"{began:%Y%m%dT%H%M%SZ}-{asked[:12]}", "state": "begun", "kind": target.kind, "asked": asked,
                "salt": salt, "began": _iso_time(began), "by": f"{getpass.getuser()}@{socket.gethostname()}",
            }  # fmt: skip

    def begin(self, found: Mapping[str, int]) -> Mapping[str, int]:
        """Store the counts of matches before erasing, and return them by kind of place.

        found: counts of this attempt. A larger count of an interrupted earlier attempt takes precedence.
        """
        before: Mapping[str, int] = self.content.get("found", {})
        self.content["found"] = {name: max(count, before.get(name, 0)) for name, count in found.items()}
        self._write()
        noted: Mapping[str, int] = self.content["found"]
        return noted

    def end(self, **proof: Any) -> dict[str, Any]:
        """Add the result of the second search to the receipt, and return its content.

        The state becomes `done` if the search found no match, and stays `begun` otherwise.
        """
        self.content |= proof
        self.content["state"] = "begun" if proof["proof"]["found"] else "done"
        self.content["done"] = _iso_time(datetime.now(UTC))
        self._write()
        return self.content

    def _write(self) -> None:
        self._files.write(f"{FORGOTTEN}/{self.content['id']}.json", json.dumps(self.content, indent=1).encode())


def _unfinished_receipts(files: LakeFiles) -> list[dict[str, Any]]:
    names = (name for name in files.names(FORGOTTEN) if name.endswith(".json"))
    receipts = [json.loads(files.read(name) or b'{"state":"gone"}') for name in names]
    return [each for each in receipts if each["state"] == "begun"]


def _request_hash(salt: str, target: ForgetTarget) -> str:
    return hashlib.sha256(f"{salt} {target.kind} {target.shown}".encode()).hexdigest()


def _iso_time(moment: datetime) -> str:
    return moment.isoformat(timespec="seconds")
