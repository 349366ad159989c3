"""Read the commits of Delta tables in a period from the JSON files of `_delta_log`, without checkpoints."""

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from deltalake.exceptions import DeltaError
from deltalake.fs import DeltaStorageHandler
from pyarrow.fs import FileSelector, FileSystem, FileType, PyFileSystem

from headwater.common.errors import InvalidEvent, LakeUnavailable, WrongSetting
from headwater.common.storage_faults import explain_storage_error
from headwater.events.decode import decode
from headwater.governance.reconcile.commits import CommittedTable, Replaced, TableCommit
from headwater.governance.reconcile.histories.entry import HistorySpan
from headwater.governance.reconcile.histories.event_logs import heads_of_lines, read_chunks

_COMMIT = re.compile(r"(\d{20})\.json")
_ACTION = re.compile(rb'\s*\{\s*"(commitInfo|add|remove|cdc)"')
_DATA = re.compile(rb'"dataChange"\s*:\s*true')
_PARTITION = re.compile(rb'"partitionValues"\s*:\s*(\{[^{}]*\})')
_WORD = re.compile(r"[\w-]{8,}")
_HEAD = 256 << 10
"""Maximum number of bytes to read of each action; `dataChange` comes before the statistics, which are long."""
_MAX_CLOCK_SKEW_US = 3_600_000_000
"""Time before the period for which commits are read, too, because the clocks of writers differ (us)."""
_MAX_DEPTH = 4


def committed_tables(place: str, options: Mapping[str, str], span: HistorySpan) -> Iterator[CommittedTable]:
    """Yield the table at a folder or address, or the tables below it, at most four folders deep.

    options: storage options of delta-rs. Raises WrongSetting if there is no table, LakeUnavailable if reading fails.
    """
    try:
        store = PyFileSystem(DeltaStorageHandler(place, dict(options) or None))
        paths = sorted(_table_paths_below(store, "", _MAX_DEPTH))
        for path in paths:
            uri = "/".join(filter(None, (place.rstrip("/"), path)))
            yield CommittedTable(uri, *_sent_name(uri), [*_read_commits(store, f"{path}/_delta_log".lstrip("/"), span)])
    except (DeltaError, OSError) as error:
        raise LakeUnavailable(f"Cannot read the tables at {place}: {explain_storage_error(error, 'lake')}") from error
    if not paths:
        raise WrongSetting(
            f"There is no Delta table at {place} or up to {_MAX_DEPTH} folders below it. Name a table, or its folder."
        )


def _table_paths_below(store: FileSystem, path: str, depth: int) -> Iterator[str]:
    found = store.get_file_info(FileSelector(path, allow_not_found=True))
    folders = [each.path.rstrip("/") for each in found if each.type == FileType.Directory]
    if any(each.rpartition("/")[2] == "_delta_log" for each in folders):
        yield path
    elif depth:
        for folder in folders:
            yield from _table_paths_below(store, folder, depth - 1)


def _sent_name(uri: str) -> tuple[str, str]:
    """Return namespace and name of a table at an address by OpenLineage's naming convention."""
    if "://" not in uri:
        return "file", uri
    url = urlsplit(uri)
    return f"{url.scheme}://{url.netloc}", url.path


def _read_commits(store: FileSystem, log: str, span: HistorySpan) -> Iterator[TableCommit]:
    """Yield commits, newest first, and stop at a commit that is more than _MAX_CLOCK_SKEW_US older than the period."""
    files = {}
    for each in store.get_file_info(FileSelector(log)):
        if match := _COMMIT.fullmatch(each.path.rpartition("/")[2]):
            files[int(match[1])] = each
    for version in sorted(files, reverse=True):
        commit = _read_commit(store, version, files[version])
        if commit.time_us < span.since_us - _MAX_CLOCK_SKEW_US:
            return
        yield commit


def _read_commit(store: FileSystem, version: int, file: Any) -> TableCommit:
    commit_info: Any = {}
    raw = b""
    changes = False
    changed_files = _ChangedPartitions()
    with store.open_input_stream(file.path) as stream:
        for line in heads_of_lines(read_chunks(stream.read), _HEAD):
            action = _ACTION.match(line)
            if action and action[1] == b"commitInfo":
                raw, commit_info = line, _commit_info(line)
            elif action:
                changes = changes or _DATA.search(line) is not None
                changed_files.add_action(action[1], line)
    stamp = commit_info.get("inCommitTimestamp") or commit_info.get("timestamp")
    return TableCommit(
        version=version,
        time_us=stamp * 1000 if isinstance(stamp, int) else int(file.mtime.timestamp() * 1e6),
        operation=str(commit_info.get("operation") or "unknown"),
        engine=str(commit_info.get("engineInfo") or commit_info.get("clientVersion") or ""),
        user=str(commit_info.get("userName") or commit_info.get("userId") or ""),
        words=frozenset(_WORD.findall(raw.decode(errors="replace").lower())),
        changes_data=changes,
        replaced=_replaced_rows(commit_info, changed_files),
    )


class _ChangedPartitions:
    """The partitions of the files that a commit adds and removes."""

    def __init__(self) -> None:
        self._added: set[bytes] = set()
        self._removed: set[bytes] = set()
        self._is_known = True

    def add_action(self, action: bytes, line: bytes) -> None:
        if action in (b"add", b"remove"):
            found = _PARTITION.search(line)
            (self._added if action == b"add" else self._removed).add(found[1] if found else b"")
            self._is_known = self._is_known and found is not None

    @property
    def are_whole_table(self) -> bool:
        """Whether an overwrite certainly replaced all rows.

        Delta writes the same commitInfo for a dynamic overwrite, which removes files only from partitions that it also
        writes. Therefore, an overwrite is complete if the table has no partitions, or if it removed files from a
        partition that it did not write.
        """
        every = self._added | self._removed
        return self._is_known and bool(every) and (every == {b"{}"} or bool(self._removed - self._added))


def _replaced_rows(info: Any, changed_files: _ChangedPartitions) -> Replaced:
    """Return the effect of a commit on existing rows, from the operations and parameters of Delta and delta-rs."""
    operation, parameters = str(info.get("operation") or "").upper(), info.get("operationParameters")
    parameters = parameters if isinstance(parameters, dict) else {}
    has_condition = parameters.get("predicate") not in _NO_CONDITION
    if operation == "DELETE":
        return "part" if has_condition else "whole"
    mode = str(parameters.get("mode") or "").upper() if operation == "WRITE" else ""
    if mode != "OVERWRITE":
        return "append" if mode == "APPEND" else _BY_OPERATION.get(operation, "unclear")
    if has_condition or str(parameters.get("isDynamicPartitionOverwrite")).lower() == "true":
        return "part"
    return "whole" if changed_files.are_whole_table else "unclear"


_BY_OPERATION: dict[str, Replaced] = {
    "CREATE OR REPLACE TABLE AS SELECT": "whole",
    "REPLACE TABLE AS SELECT": "whole",
    "CREATE OR REPLACE TABLE": "whole",
    "REPLACE TABLE": "whole",
    "MERGE": "part",
    "UPDATE": "part",
}
_NO_CONDITION = (None, "", "[]", '["true"]', "true")


def _commit_info(line: bytes) -> Any:
    try:
        found = decode(line)["commitInfo"]
    except (InvalidEvent, KeyError, TypeError):
        return {}  # truncated, or not a commitInfo of Delta
    return found if isinstance(found, dict) else {}
