"""The admin log: who changed what, when and from where, in the Delta table `lake/admin/admin_log`."""

import threading
import time
import uuid
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Literal, NamedTuple

from headwater.common.paging import ListPage, ResultPage
from headwater.events.redaction_rules import redact_text
from headwater.lake.delta_table import LakeTable
from headwater.lake.row_pages import by_text, by_time, define_row_list, rows_page
from headwater.tables import ADMIN_LOG

Outcome = Literal["done", "refused", "failed"]

_CREATED = {"delta.logRetentionDuration": "interval 30 days"}
_LONGEST = 2000


class Actor(NamedTuple):
    """The author of a change. who: the name of an API key, a person's OIDC name, or `USER@MACHINE` for a command.

    address, agent: the client address and the user agent of the request; both are empty for a command.
    """

    who: str
    address: str = ""
    agent: str = ""


def open_admin_log(lake: str, options: Mapping[str, str] | None = None) -> LakeTable:
    """Return the table of the admin log. The table may not exist yet.

    lake, options: the folder or URI of the lake and its storage options, from `runtime.storage.lake_root_and_options`.
    """
    return LakeTable(f"{lake}/admin/{ADMIN_LOG.name}", ADMIN_LOG, options)


def record_admin(
    table: LakeTable, actor: Actor, action: str, subject: str, *, outcome: Outcome = "done", detail: str = ""
) -> None:
    """Write one row: `actor` did `action` to `subject`.

    table: the admin log from `open_admin_log`. action: the name of the command, such as `keys add`, `forget`,
    `sinks redrive`. subject: the name of the changed thing, never its content. detail: further facts, such as counts.
    All texts are redacted, so that no secret is logged by mistake, and shortened to 2,000 characters.
    Raises LakeUnavailable. The row may or may not exist then, and the caller reports that the change is not logged.
    """
    _append_rows(table, [_to_row(actor, action, subject, outcome, detail)])


class AdminRecorder:
    """Writes the changes that one process makes. Changes that arrive during a commit share the next commit."""

    def __init__(self, table: LakeTable):
        """table: the admin log from `open_admin_log`. Only this recorder may use the object."""
        self._table = table
        self._writing = threading.Lock()
        self._waiting: deque[tuple[tuple[Any, ...], Future[None]]] = deque()

    def record(self, actor: Actor, action: str, subject: str, outcome: Outcome, detail: str) -> None:
        """Write one row like `record_admin`, and return after the commit of the row. Thread-safe."""
        written = Future[None]()
        self._waiting.append((_to_row(actor, action, subject, outcome, detail), written))
        with self._writing:
            if not written.done():
                self._write_all()
        written.result()

    def _write_all(self) -> None:
        some = [self._waiting.popleft() for _ in range(len(self._waiting))]
        try:
            _append_rows(self._table, [row for row, _ in some])
        except Exception as error:
            for _, written in some:
                written.set_exception(error)
        else:
            for _, written in some:
                written.set_result(None)


def _append_rows(table: LakeTable, rows: Sequence[tuple[Any, ...]]) -> None:
    if not table.exists():
        table.create(_CREATED)
    table.append(rows)


def _to_row(actor: Actor, action: str, subject: str, outcome: Outcome, detail: str) -> tuple[Any, ...]:
    texts = (actor.who, action, subject, outcome, detail, actor.address, actor.agent)
    return (uuid.uuid4().hex, time.time_ns() // 1000, *(redact_text(text)[:_LONGEST] for text in texts))


_LISTED = define_row_list(
    "admin-log", ", ".join(ADMIN_LOG.columns),
    {"at": by_time("at"), **{name: by_text(name) for name in ("who", "action", "subject", "outcome", "address")}},
    "-at", tie_breakers=(by_text("act_id"),), texts="who action subject outcome detail address agent",
)  # fmt: skip


def admin_rows(table: LakeTable, page: ListPage, *, since_us: int | None = None) -> ResultPage[dict[str, Any]]:
    """List a page of changes, newest first by default. since_us: list only changes at or after this time (us, UTC)."""
    return rows_page(table, _LISTED, page, [] if since_us is None else [f"at >= to_timestamp_micros({since_us})"])
