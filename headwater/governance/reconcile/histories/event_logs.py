"""`eventlogs:FOLDER`: Spark event logs in `spark.eventLog.dir`, as single files or folders of rolling logs.

Only the beginning of each line is read, because a plan of 100 MB is one line.
"""

import re
import stat
import zlib
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import IO, Any

from headwater.common.errors import InvalidEvent, WrongSetting
from headwater.events.decode import decode
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, State

_EVENT = re.compile(rb'\{"Event":"SparkListener(ApplicationStart|ApplicationEnd|JobEnd)"')
_PART = re.compile(r"events_(\d+)_")
_APPLICATION = re.compile(
    r"(?:eventlog_v2_)?(app-\d+-\d+|application_\d+_\d+|local-\d+|spark-[0-9a-f]{32})(?:_(\d+))?(?:\.|$)"
)
"""Matches application id and attempt in the name of a log; used if the beginning of the log is missing."""
_CHUNK = 256 << 10
_SMALL = 4 << 10
"""Size of a read in bytes for zstd, because the decompressor discards a chunk if the stream ends within it."""
_LONGEST = 1 << 20
"""Maximum number of bytes to keep of a line."""
_LZ4_HEADER = 21
"""Length of a block header of lz4-java's LZ4BlockOutputStream.

The header has `LZ4Block`, a byte with method and level, the compressed length, the plain length, and a checksum.
"""


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the applications of the logs in a folder that were written since the start of the period.

    If the beginning of a log is missing, the application id comes from the log's name. Raises WrongSetting for a
    missing folder, a folder without logs, an unsupported codec, or an unreadable log.
    """
    folder = Path(place.place).expanduser()
    if not folder.is_dir():
        raise WrongSetting(
            f"{folder} is not a folder. Use the folder of spark.eventLog.dir, with its path on this machine."
        )
    logs = [log for log in sorted(folder.iterdir()) if not log.name.startswith(".") and _may_be_log(log)]
    if not logs:  # an empty history would hide all unreported executions
        raise WrongSetting(
            f"{folder} contains no Spark event log. Use the folder of spark.eventLog.dir, and check that "
            "spark.eventLog.enabled is true."
        )
    for log in logs:
        if found := _read_log(log, span):
            yield found


def _may_be_log(log: Path) -> bool:
    return log.name.startswith("eventlog_v2_") or not log.is_dir()


def _read_log(log: Path, span: HistorySpan) -> HistoryEntry | None:
    """Read the application of a log, or return None if the log has none or is too old.

    If the log disappears, read it under its final name, because the application may have just ended.
    """
    for place in (log, log.with_name(log.name.removesuffix(".inprogress"))):
        try:
            return _read_application(place, span)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise WrongSetting(
                f"{place} cannot be read: {error.strerror or error}. Only Spark's user and group can read its logs. "
                "Run this command as one of them, or use a History Server: historyserver:URL."
            ) from error
    return None


def _log_files(log: Path) -> list[Path]:
    """Return the files of a log in order; in a rolling log, the compacted file comes first."""
    if stat.S_ISREG(log.stat().st_mode):
        return [log]
    if not log.name.startswith("eventlog_v2_"):
        return []
    numbered = [(int(match[1]), part) for part in log.iterdir() if (match := _PART.match(part.name))]
    return [part for _, part in sorted(numbered)]


def _read_application(log: Path, span: HistorySpan) -> HistoryEntry | None:
    parts = _log_files(log)
    written_us = max((part.stat().st_mtime_ns // 1000 for part in parts), default=-1)
    if written_us < span.since_us:
        return None
    start: Any = None
    end: Any = None
    failed = False
    for part in parts:
        if not has_supported_codec(part):
            raise WrongSetting(
                f"{part} is compressed with an unsupported codec. Set spark.eventLog.compression.codec to zstd or "
                "lz4, or use a History Server: historyserver:URL."
            )
        for line in line_heads(part):
            match = _EVENT.match(line)
            if match and match[1] == b"JobEnd":
                failed = b'"JobFailed"' in line[:4096]
            elif match and isinstance(event := _decode_event(line), dict):
                start, end = (start or event, end) if match[1] == b"ApplicationStart" else (start, event)
    return _to_history_entry(log, start or {}, end or {}, failed, written_us)


def _decode_event(line: bytes) -> Any:
    try:
        return decode(line)
    except InvalidEvent:
        return None  # torn


def _to_history_entry(log: Path, start: Any, end: Any, failed: bool, written_us: int) -> HistoryEntry | None:
    app, attempt = start.get("App ID"), start.get("App Attempt ID")
    if not isinstance(app, str):
        named = _APPLICATION.match(log.name)
        if not named:
            return None
        app, attempt = named.groups()
    ended_us = _to_us(end.get("Timestamp"))
    began_us = _to_us(start.get("Timestamp")) or ended_us or written_us
    fails = bool(end.get("ExitCode")) or failed
    state: State = "RUNNING" if ended_us is None else "FAILED" if fails else "ENDED"
    return HistoryEntry(
        system="spark",
        id=f"{app}/{attempt}" if attempt else app,
        name=str(start.get("App Name", app)),
        state=state,
        started_us=began_us,
        ended_us=ended_us,
        ids=(app,),
        seen_us=written_us,
        who=str(start.get("User", "")),
        where=str(log),
        is_spark=True,
    )


def _to_us(milliseconds: Any) -> int | None:
    return milliseconds * 1000 if isinstance(milliseconds, int) else None


def line_heads(path: Path) -> Iterator[bytes]:
    """Yield the beginning of each line of a log, in constant memory, up to a truncated compressed block.

    Raises OSError if the file cannot be opened.
    """
    unpacked = _OPENED.get(_codec_name(path))
    with path.open("rb") as file:
        yield from heads_of_lines(_until_truncated(unpacked(file) if unpacked else read_chunks(file.read)), _LONGEST)


def heads_of_lines(chunks: Iterable[bytes], longest: int) -> Iterator[bytes]:
    """Yield at most `longest` bytes of each line of a text that consists of chunks."""
    head = b""
    for chunk in chunks:
        *ended, rest = chunk.split(b"\n")
        for part in ended:
            yield (head + part)[:longest]
            head = b""
        head = (head + rest)[:longest] if len(head) < longest else head
    if head:
        yield head


def has_supported_codec(path: Path) -> bool:
    """Return whether the codec in the file name is supported; the snappy and LZF streams of Java are not supported."""
    return _codec_name(path) not in ("snappy", "lzf")


def _codec_name(path: Path) -> str:
    name = path.name.removesuffix(".inprogress").removesuffix(".compact")
    return name.rpartition(".")[2]


def read_chunks(read: Callable[[int], bytes]) -> Iterator[bytes]:
    """Yield the content of a file in chunks. read: returns at most a number of bytes, or none at the end."""
    while chunk := read(_CHUNK):
        yield chunk


def _until_truncated(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Yield chunks up to a truncated compressed block, which a writer leaves while it is active or if it was killed."""
    try:
        yield from chunks
    except (EOFError, OSError, ValueError, RuntimeError, zlib.error):
        return


def _gunzip_chunks(file: IO[bytes]) -> Iterator[bytes]:
    unpacking = zlib.decompressobj(wbits=31)
    for chunk in read_chunks(file.read):
        yield unpacking.decompress(chunk)
        while unpacking.unused_data:  # another member
            rest, unpacking = unpacking.unused_data, zlib.decompressobj(wbits=31)
            yield unpacking.decompress(rest)


def _zstd_chunks(file: IO[bytes]) -> Iterator[bytes]:
    import pyarrow as pa  # noqa: PLC0415 - 26 MB, for this codec alone

    with pa.CompressedInputStream(pa.PythonFile(file, "r"), "zstd") as plain:
        yield from iter(partial(plain.read, _SMALL), b"")


def _lz4_chunks(file: IO[bytes]) -> Iterator[bytes]:
    from lz4 import block  # noqa: PLC0415 - for this codec alone

    while len(header := file.read(_LZ4_HEADER)) == _LZ4_HEADER and header.startswith(b"LZ4Block"):
        packed, plain = (int.from_bytes(header[at : at + 4], "little") for at in (9, 13))
        data = file.read(packed)
        if len(data) < packed or plain > 1 << 26:
            return
        if plain:
            yield data if header[8] & 0xF0 == 0x10 else block.decompress(data, uncompressed_size=plain)


_OPENED: dict[str, Callable[[Any], Iterator[bytes]]] = {
    "gz": _gunzip_chunks,
    "zstd": _zstd_chunks,
    "zst": _zstd_chunks,
    "lz4": _lz4_chunks,
}
