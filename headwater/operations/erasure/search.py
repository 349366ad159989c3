"""Define the targets of `headwater forget`, and search every file of the data folder and the lake for a target.

Files are searched in decoded form: bytes, rows of Parquet, bodies of the log.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

import pyarrow as pa
import pyarrow.parquet as pq

from headwater.common.errors import InvalidEvent, LogUnavailable
from headwater.events.decode import decode
from headwater.intake.event_log import RecordKind
from headwater.intake.event_log.body_packing import decompress_body
from headwater.intake.event_log.segment_faults import segment_errors
from headwater.intake.event_log.segments import PACKED_SINCE, format_of, open_readonly
from headwater.lineage.names.dataset_name import Name
from headwater.operations.lake_files import LakeFiles

_NAMESPACE = "namespace"
_NAMES = ("name", "dataset")

AT_ONCE = 256
"""Number of Parquet rows that are decoded in one step."""

LogRow = tuple[int, RecordKind, str, bytes]
"""A record of the log: sequence number, kind, the column `http`, and the body as the client sent it."""


class ForgetTarget(Protocol):
    """The text, dataset or namespace to forget. kind: its kind; shown: its text, for the hash in the receipt."""

    kind: str
    shown: str

    def matches_value(self, value: Any) -> bool:
        """Return whether a decoded JSON value contains the target at any depth, also in JSON inside texts."""

    def matches_bytes(self, raw: bytes) -> bool:
        """Return whether the raw bytes of a file contain the target."""


class TextTarget:
    """A text, such as a user name, e-mail address or run id, in any letter case, also URL-encoded."""

    def __init__(self, kind: str, text: str) -> None:
        """kind: `text` or `run`."""
        self.kind, self.shown = kind, text
        self._forms = {text.casefold(), quote(text, safe="").casefold()}

    def matches_value(self, value: Any) -> bool:
        """Return whether any text or member name in a value contains the target text."""
        return any(self._occurs_in(text) for text in _texts_in(value))

    def matches_bytes(self, raw: bytes) -> bool:
        """Return whether the bytes contain the target text in UTF-8."""
        return self._occurs_in(raw.decode("utf-8", "replace"))

    def _occurs_in(self, text: str) -> bool:
        folded = text.casefold()
        return any(form in folded for form in self._forms)


class NameTarget:
    """A dataset by any of its names, or a namespace with all its members."""

    def __init__(self, namespace: str, name: str | None, canonical: Callable[[str, str], Name]) -> None:
        """name: None for the whole namespace; canonical: maps namespace and name of a dataset to its canonical name."""
        self.kind = "namespace" if name is None else "dataset"
        self.shown = namespace if name is None else f"{namespace} {name}"
        self._namespace, self._name, self._canonical = namespace, name, canonical
        self._query_run = canonical(namespace, name) if name is not None else None

    def matches_value(self, value: Any) -> bool:
        """Return whether an object in a value names the target.

        For a namespace, a member such as `namespace` or `job_namespace` must match. For a dataset, the name must match,
        too.
        """
        return any(self._is_match(here) for here in _objects_in(value))

    def matches_bytes(self, raw: bytes) -> bool:
        """Return whether any line of the bytes is JSON that names the target."""
        return any(self.matches_value(_json_or_none(line)) for line in raw.splitlines())

    def _is_match(self, here: dict[str, Any]) -> bool:
        for key, namespace in here.items():
            if isinstance(namespace, str) and key.endswith(_NAMESPACE):
                if self._name is None and namespace == self._namespace:
                    return True
                names = [here.get(key.removesuffix(_NAMESPACE) + name) for name in _NAMES]
                if self._query_run and any(
                    isinstance(name, str) and self._is_same_name(namespace, name) for name in names
                ):
                    return True
        return False

    def _is_same_name(self, namespace: str, name: Any) -> bool:
        return (namespace, name) == (self._namespace, self._name) or self._canonical(namespace, name) == self._query_run


def decode_or_text(body: bytes) -> Any:
    """Return the decoded JSON of a body, or its text if it is not valid JSON."""
    try:
        return decode(body)
    except InvalidEvent:
        return body.decode("utf-8", "replace")


def _json_or_none(text: bytes | str) -> Any:
    """Return the decoded value of a JSON object or array, None for any other text."""
    raw = text.encode("utf-8", "replace") if isinstance(text, str) else text
    if raw[:1] not in (b"{", b"["):
        return None
    try:
        return decode(raw)
    except InvalidEvent:
        return None


def _texts_in(value: Any) -> Iterator[str]:
    """Yield every text of a value; decodes JSON inside texts if escapes could hide a match."""
    for here in _parts_of(value):
        if isinstance(here, str):
            yield here
            if "\\" in here:
                yield from _texts_in(_json_or_none(here))
        elif isinstance(here, dict):
            yield from (key for key in here if isinstance(key, str))


def _objects_in(value: Any) -> Iterator[dict[str, Any]]:
    for here in _parts_of(value):
        if isinstance(here, dict):
            yield here
        elif isinstance(here, str):
            yield from _objects_in(_json_or_none(here))


def _parts_of(value: Any) -> Iterator[Any]:
    """Yield a value and all values inside it. Not recursive, because values may be nested to any depth."""
    waiting = [value]
    while waiting:
        here = waiting.pop()
        yield here
        if isinstance(here, dict):
            waiting += here.values()
        elif isinstance(here, list | tuple):
            waiting += here


def matching_files(paths: Iterable[Path], target: ForgetTarget) -> tuple[list[Path], int]:
    """Return the matching files of this machine, and the number of files searched.

    Raises LogUnavailable or OSError if a file cannot be read, because the file may contain the target.
    """
    found, looked = [], 0
    for path in paths:
        looked += 1
        if is_in_segment(path, target) or is_in_content(path.name, path.read_bytes(), target):
            found.append(path)
    return found, looked


def matching_lake_files(files: LakeFiles, names: Iterable[str], target: ForgetTarget) -> tuple[list[str], int]:
    """Return the names of the matching files of the lake, and the number of files searched.

    A file that is deleted during the search does not match.
    """
    found, looked = [], 0
    for name in names:
        looked += 1
        content = files.read(name)
        if content is not None and is_in_content(name, content, target):
            found.append(name)
    return found, looked


def is_in_segment(path: Path, target: ForgetTarget) -> bool:
    """Return whether a segment of the log matches; False for any other file."""
    if path.suffix != ".sqlite" or path.parent.name != "log":
        return False
    with segment_errors(path), closing(open_readonly(path)) as connection:
        form = format_of(connection)
        rows = connection.execute("SELECT sequence, kind, http, body FROM records")
        return any(is_in_record(log_row(row, form), target) for row in rows)


def is_in_content(name: str, content: bytes, target: ForgetTarget) -> bool:
    """Return whether a file contains the target, in its bytes or, for Parquet, in its decoded rows."""
    if name.endswith(".parquet") and any(target.matches_value(row) for row in _parquet_rows(content)):
        return True
    return target.matches_bytes(content)


def _parquet_rows(content: bytes) -> Iterator[dict[str, Any]]:
    with pq.ParquetFile(pa.BufferReader(content)) as file:
        for batch in file.iter_batches(AT_ONCE):
            yield from batch.to_pylist()


def log_row(row: tuple[int, int, str, bytes], form: int) -> LogRow:
    """Return a row of table `records` with its body unpacked; form: format of the segment. Raises LogUnavailable."""
    sequence, kind, http, body = row
    try:
        unpacked = decompress_body(body) if kind == RecordKind.EVENT and form >= PACKED_SINCE else body
    except ValueError as error:
        raise LogUnavailable(f"Record {sequence} of the log cannot be unpacked: {error}.") from error
    return sequence, RecordKind(kind), http, unpacked


def is_in_record(row: LogRow, target: ForgetTarget) -> bool:
    """Return whether a record of the log matches; large bodies are searched separately."""
    _, _, http, body = row
    return target.matches_value(decode_or_text(body)) or target.matches_value(
        decode_or_text(http.encode("utf-8", "replace"))
    )
