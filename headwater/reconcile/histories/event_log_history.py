"""`eventlogs:FOLDER`: Spark's event logs, as `spark.eventLog.dir` holds them; a file or a rolling folder for each."""

import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from headwater.errors import InvalidEvent, WrongSetting
from headwater.events.decode import decode
from headwater.reconcile.histories.event_log_files import can_read, line_heads
from headwater.reconcile.histories.history_entry import HistoryEntry, HistoryPlace, HistorySpan, State

_EVENT = re.compile(rb'\{"Event":"SparkListener(ApplicationStart|ApplicationEnd|JobEnd)"')
_PART = re.compile(r"events_(\d+)_")


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the applications of a folder; logs that nobody wrote to since the span began are not opened.

    Raises WrongSetting where there is no folder, or a log in a codec that cannot be read.
    """
    folder = Path(place.place).expanduser()
    if not folder.is_dir():
        raise WrongSetting(
            f"{folder} is no folder. Name the one that spark.eventLog.dir names, as it is seen from here."
        )
    for log in sorted(folder.iterdir()):
        if not log.name.startswith(".") and (parts := _parts(log)):
            written_us = max(part.stat().st_mtime_ns for part in parts) // 1000
            found = _read(log, parts, written_us) if written_us >= span.since_us else None
            if found:
                yield found


def _parts(log: Path) -> list[Path]:
    """Return the files of a log in order: of a rolling one behind what was compacted."""
    if log.is_file():
        return [log]
    if not log.name.startswith("eventlog_v2_"):
        return []
    numbered = [(int(match[1]), part) for part in log.iterdir() if (match := _PART.match(part.name))]
    return [part for _, part in sorted(numbered)]


def _read(log: Path, parts: Iterable[Path], written_us: int) -> HistoryEntry | None:
    start: Any = None
    end: Any = None
    failed = False
    for part in parts:
        if not can_read(part):
            raise WrongSetting(
                f"{part} is compressed by a codec that cannot be read here. Set spark.eventLog.compression.codec to "
                "zstd or lz4, or ask a History Server: historyserver:URL."
            )
        for line in line_heads(part):
            match = _EVENT.match(line)
            if match and match[1] == b"JobEnd":
                failed = b'"JobFailed"' in line[:4096]
            elif match and isinstance(event := _event(line), dict):
                start, end = (start or event, end) if match[1] == b"ApplicationStart" else (start, event)
    return _entry(log, start, end, failed, written_us) if start else None


def _event(line: bytes) -> Any:
    try:
        return decode(line)
    except InvalidEvent:
        return None  # torn


def _entry(log: Path, start: Any, end: Any, failed: bool, written_us: int) -> HistoryEntry | None:
    app, attempt, began = start.get("App ID"), start.get("App Attempt ID"), start.get("Timestamp")
    if not isinstance(app, str) or not isinstance(began, int):
        return None
    ended = end.get("Timestamp") if end else None
    fails = bool(end and end.get("ExitCode")) or failed
    state: State = "RUNNING" if ended is None else "FAILED" if fails else "ENDED"
    return HistoryEntry(
        system="spark",
        id=f"{app}/{attempt}" if attempt else app,
        name=str(start.get("App Name", "")),
        state=state,
        started_us=began * 1000,
        ended_us=None if ended is None else int(ended) * 1000,
        ids=(app,),
        seen_us=written_us,
        who=str(start.get("User", "")),
        where=str(log),
        is_spark=True,
    )
