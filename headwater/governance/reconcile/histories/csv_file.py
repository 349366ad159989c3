"""`csv:FILE`: an export from any scheduler.

The header must name the columns id, name and started. Optional columns are ended, state, system, ids, who and where.
"""

import csv
from collections.abc import Iterator, Mapping
from pathlib import Path

from headwater.common.errors import WrongSetting
from headwater.events.times import parse_time
from headwater.governance.reconcile.histories.entry import HistoryEntry, HistoryPlace, HistorySpan, State

_STATES: Mapping[str, State] = {
    **dict.fromkeys(("succeeded", "success", "successful", "complete", "completed", "ok"), "SUCCEEDED"),
    **dict.fromkeys(("failed", "fail", "failure", "error", "abort", "aborted", "cancelled", "canceled"), "FAILED"),
    "running": "RUNNING",
}


def read_history(place: HistoryPlace, _: HistorySpan) -> Iterator[HistoryEntry]:
    """Yield the rows of a file; raises WrongSetting with the line if a row is invalid.

    The column `ids` contains additional ids, separated by spaces. Times are in ISO 8601; without a zone, they are in
    UTC.
    """
    path = Path(place.place).expanduser()
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            rows = csv.DictReader(file)
            missing = {"id", "name", "started"} - {*(rows.fieldnames or ())}
            if missing:
                raise WrongSetting(
                    f"{path} has no column {', '.join(sorted(missing))}. Add it to the header in the first line."
                )
            for row in rows:
                yield _to_history_entry(row, f"{path} line {rows.line_num}")
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise WrongSetting(
            f"{path} cannot be read as CSV in UTF-8: {error}. Correct it, or name another file."
        ) from error


def _to_history_entry(row: Mapping[str, str | None], where: str) -> HistoryEntry:
    def text(name: str) -> str:
        return (row.get(name) or "").strip()

    def moment(name: str) -> int | None:
        found = parse_time(text(name))[0] if text(name) else None
        if found is None and (text(name) or name == "started"):
            raise WrongSetting(f"{where}: {name} is {text(name)!r}. Write it like 2026-03-01T12:00:00Z.")
        return found

    started_us, ended_us = moment("started"), moment("ended")
    assert started_us is not None  # noqa: S101 - `moment` raises
    if not text("id") and not text("name"):
        raise WrongSetting(f"{where}: the row has neither an id nor a name. Add one of them.")
    known_state = _STATES.get(text("state").lower())
    return HistoryEntry(
        system=text("system") or "csv",
        id=text("id") or text("name"),
        name=text("name"),
        state="RUNNING" if ended_us is None else known_state if known_state and known_state != "RUNNING" else "ENDED",
        started_us=started_us,
        ended_us=ended_us,
        ids=tuple(each for each in (text("id"), *text("ids").split()) if each),
        who=text("who"),
        where=text("where") or where,
    )
