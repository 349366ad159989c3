"""Who changed what, when and from where: one Delta table beside bronze, `lake/admin/admin_log`."""

import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple

from headwater.events.redaction_rules import redact_text
from headwater.lake.delta_table import LakeTable
from headwater.lake.row_pages import by_text, by_time, row_list, rows_page
from headwater.paging import Cut, ListPage
from headwater.tables import ADMIN_LOG

Outcome = Literal["done", "refused", "failed"]

_CREATED = {"delta.logRetentionDuration": "interval 30 days"}
_LONGEST = 2000


class Actor(NamedTuple):
    """Who acts. who: name of the key, the person's name by OIDC, or `USER@MACHINE` of a command line.

    address, agent: of the request; empty for a command.
    """

    who: str
    address: str = ""
    agent: str = ""


def open_admin_log(lake: str, options: Mapping[str, str] | None = None) -> LakeTable:
    """Return the table, there or not; lake, options: as `runtime.storage.lake_place` returns them."""
    return LakeTable(f"{lake}/admin/{ADMIN_LOG.name}", ADMIN_LOG, options)


def record_admin(
    table: LakeTable, actor: Actor, action: str, subject: str, *, outcome: Outcome = "done", detail: str = ""
) -> None:
    """Write one row: `actor` did `action` to `subject`.

    table: of `open_admin_log(*lake_place(settings))`. action: what it is called as a command, such as `keys add`,
    `forget`, `sinks redrive`. subject: the thing's name, never its content. detail: what else matters, such as counts.
    All texts are redacted and cut at 2,000 characters, so that no secret gets here by mistake.
    Raises LakeUnavailable: then the row may be there or not, and the caller says that the act is not logged.
    """
    _append(table, [_row(actor, action, subject, outcome, detail)])


class AdminRecorder:
    """Writes acts of one process: those that come while a commit is under way go into the next one together."""

    def __init__(self, table: LakeTable):
        """table: of `open_admin_log(*lake_place(settings))`, for this alone."""
        self._table = table
        self._writing = threading.Lock()
        self._waiting: deque[tuple[tuple[Any, ...], Future[None]]] = deque()

    def record(self, actor: Actor, action: str, subject: str, outcome: Outcome, detail: str) -> None:
        """Write one row, as `record_admin` does, and return once it is written; from any thread."""
        written = Future[None]()
        self._waiting.append((_row(actor, action, subject, outcome, detail), written))
        with self._writing:
            if not written.done():
                self._write_all()
        written.result()

    def _write_all(self) -> None:
        some = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            _append(self._table, [row for row, _ in some])
        except Exception as error:
            for _, written in some:
                written.set_exception(error)
        else:
            for _, written in some:
                written.set_result(None)


def _append(table: LakeTable, rows: Sequence[tuple[Any, ...]]) -> None:
    if not table.exists():
        table.create(_CREATED)
    table.append(rows)


def _row(actor: Actor, action: str, subject: str, outcome: Outcome, detail: str) -> tuple[Any, ...]:
    said = (actor.who, action, subject, outcome, detail, actor.address, actor.agent)
    return (uuid.uuid4().hex, time.time_ns() // 1000, *(redact_text(text)[:_LONGEST] for text in said))


_LISTED = row_list(
    "admin-log", ", ".join(ADMIN_LOG.columns),
    {"at": by_time("at"), **{name: by_text(name) for name in ("who", "action", "subject", "outcome", "address")}},
    "-at", ties=(by_text("act_id"),), texts="who action subject outcome detail address agent",
)  # fmt: skip


def admin_rows(table: LakeTable, page: ListPage, *, since_us: int | None = None) -> Cut[dict[str, Any]]:
    """List a page of acts, the newest first where nothing else is asked for; since_us: at or after (UTC)."""
    return rows_page(table, _LISTED, page, [] if since_us is None else [f"at >= to_timestamp_micros({since_us})"])
