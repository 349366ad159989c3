"""`eventlogs:FOLDER`: Spark's event logs, as `spark.eventLog.dir` holds them; a file or a rolling folder for each."""

import re
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from headwater.errors import InvalidEvent, WrongSetting
from headwater.events.decode import decode
from headwater.reconcile.histories.event_log_files import can_read, line_heads
from headwater.reconcile.histories.history_entry import HistoryEntry, HistoryPlace, HistorySpan, State

_EVENT = re.compile(rb'\{"Event":"SparkListener(ApplicationStart|ApplicationEnd|JobEnd)"')
_PART = re.compile(r"events_(\d+)_")
_APPLICATION = re.compile(
    r"(?:eventlog_v2_)?(app-\d+-\d+|application_\d+_\d+|local-\d+|spark-[0-9a-f]{32})(?:_(\d+))?(?:\.|$)"
)
"""Of a log's name, by which an application is known whose log does not say its beginning: its id and its attempt."""


def read_history(place: HistoryPlace, span: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the applications of a folder; logs that nobody wrote to since the span began are not opened.

    A log without its beginning stands for the application that it is named after. Raises WrongSetting where there is no
    folder, or nothing in it that could be a log, or a log in a codec that cannot be read, or that may not be read.
    """
    folder = Path(place.place).expanduser()
    if not folder.is_dir():
        raise WrongSetting(
            f"{folder} is no folder. Name the one that spark.eventLog.dir names, as it is seen from here."
        )
    logs = [log for log in sorted(folder.iterdir()) if not log.name.startswith(".") and _could_be(log)]
    if not logs:  # of which nobody could be missing, whoever did not report
        raise WrongSetting(
            f"No event log of Spark lies in {folder}. Name the folder that spark.eventLog.dir names, and see that "
            "spark.eventLog.enabled is true."
        )
    for log in logs:
        if found := _looked_at(log, span):
            yield found


def _could_be(log: Path) -> bool:
    return log.name.startswith("eventlog_v2_") or not log.is_dir()


def _looked_at(log: Path, span: HistorySpan) -> HistoryEntry | None:
    """Read a log; where it goes meanwhile look once more: it has ended and has another name, or was compacted."""
    for place in (log, log.with_name(log.name.removesuffix(".inprogress"))):
        try:
            return _read(place, span)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise WrongSetting(
                f"{place} cannot be read: {error.strerror or error}. Spark's logs are for its user and group: run "
                "this as one of them, or ask a History Server: historyserver:URL."
            ) from error
    return None


def _parts(log: Path) -> list[Path]:
    """Return the files of a log in order: of a rolling one behind what was compacted."""
    if stat.S_ISREG(log.stat().st_mode):
        return [log]
    if not log.name.startswith("eventlog_v2_"):
        return []
    numbered = [(int(match[1]), part) for part in log.iterdir() if (match := _PART.match(part.name))]
    return [part for _, part in sorted(numbered)]


def _read(log: Path, span: HistorySpan) -> HistoryEntry | None:
    parts = _parts(log)
    written_us = max((part.stat().st_mtime_ns // 1000 for part in parts), default=-1)
    if written_us < span.since_us:
        return None
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
    return _entry(log, start or {}, end or {}, failed, written_us)


def _event(line: bytes) -> Any:
    try:
        return decode(line)
    except InvalidEvent:
        return None  # torn


def _entry(log: Path, start: Any, end: Any, failed: bool, written_us: int) -> HistoryEntry | None:
    app, attempt = start.get("App ID"), start.get("App Attempt ID")
    if not isinstance(app, str):
        named = _APPLICATION.match(log.name)
        if not named:
            return None
        app, attempt = named.groups()
    ended_us = _us(end.get("Timestamp"))
    began_us = _us(start.get("Timestamp")) or ended_us or written_us
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


def _us(milliseconds: Any) -> int | None:
    return milliseconds * 1000 if isinstance(milliseconds, int) else None
