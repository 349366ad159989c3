"""The trigger that ingests files: a timer, which runs on one instance at a time.

A run appends the new events in the configured folders to the log, as if a producer had posted them.
"""

import asyncio
import logging
import time
from collections.abc import Mapping
from contextlib import closing

import azure.functions as func

from functions import open_readers
from headwater.api.freshness import log_age_s
from headwater.auth.authentication import Authenticator
from headwater.common.errors import HeadwaterError, Retry
from headwater.common.http_connection import HttpAnswer
from headwater.intake.event_log import Log
from headwater.intake.event_log.folder_claims import ClaimCheck
from headwater.intake.files.batch_sending import BATCHES, BatchSender
from headwater.intake.files.confirmation import stored_in_bronze_before_us
from headwater.intake.files.file_taking import DeletionLimits, FileIngester, IngestReport
from headwater.intake.files.sources.file_source import FileSource
from headwater.intake.files.sources.source_registry import open_file_source
from headwater.intake.files.taken_ledger import IngestLedger
from headwater.intake.receiver import Request
from headwater.intake.receiver.post_handling import Receiver, RequestLimits
from headwater.operations.runtime.azure_files import IngestedFilesLedgerCopy
from headwater.operations.runtime.data_folder import prepare_folder
from headwater.operations.runtime.event_log import import_log_packages, open_log
from headwater.operations.runtime.storage import claim_limit, open_bronze, open_claims, resolve_secrets
from headwater.operations.settings import Settings

log = logging.getLogger(__name__)
BUDGET_S = 300.0
"""Seconds after which a run ends, well within `functionTimeout` (host.json)."""

PATIENCE_S = 60.0
REPORT = (
    "Files: %d checked, %d events ingested, %d lines rejected, %d refused, %d ends incomplete, %d files deleted. %s"
)


def blueprint(settings: Settings) -> func.Blueprint:
    """Build the trigger if folders are configured. Its first run opens the folders."""
    bp = func.Blueprint()
    if not settings.ingest:
        return bp
    ingest = FileIngest(settings)

    @bp.function_name("ingest")
    @bp.timer_trigger(arg_name="timer", schedule="15 * * * * *")
    def take_files(timer: func.TimerRequest) -> None:
        ingest.run()

    return bp


class _TimeUp(Exception):
    """The time of the run is over. The ledger contains the positions of all acknowledged events."""


class FileIngest:
    """Ingests the folders of an app."""

    def __init__(self, settings: Settings, budget_s: float = BUDGET_S) -> None:
        """Prepare a run without connecting. budget_s: seconds after which a run ends."""
        self._settings = settings
        self._budget_s = budget_s
        self._folder = prepare_folder(settings)
        self._claims = open_claims(settings)
        self._copy = IngestedFilesLedgerCopy(settings, self._folder)
        self._sources: list[FileSource] | None = None
        self._readers, self._bronze = open_readers(settings, self._folder), open_bronze(settings)
        import_log_packages(settings)

    def run(self) -> None:
        """Ingest new events until the time is over. The next run continues with the remaining events.

        If the ledger cannot be uploaded, the next run ingests the events of this run again. Raises WrongSetting.
        """
        self._sources = self._sources or self._open_sources()
        until = time.monotonic() + self._budget_s
        try:
            self._copy.download()
            with asyncio.Runner() as loop:
                opened = loop.run(self._open_log())
                try:
                    done = self._ingest_files(loop, opened, self._sources, until)
                finally:
                    loop.run(opened.aclose())
            self._copy.upload()
        except Retry as error:
            log.warning("The files wait for the next run, no event is lost: %s", error)
            return
        counts = done.files, done.events, done.rejected, done.refused, done.waiting, done.deleted
        (log.info if done.is_complete else log.warning)(REPORT, *counts, " ".join(done.reasons))

    def _open_sources(self) -> list[FileSource]:
        options, client_id = resolve_secrets(self._settings.ingest_options), self._settings.identity_client_id
        return [open_file_source(path, options, client_id) for path in self._settings.ingest]

    async def _open_log(self) -> Log:
        """Open the log. Call it inside the event loop, because the client of a log service belongs to one loop."""
        return open_log(self._settings, self._folder, self._claims)

    def _ingest_files(self, loop: asyncio.Runner, opened: Log, sources: list[FileSource], until: float) -> IngestReport:
        limits = RequestLimits(max_body_bytes=self._settings.max_body_bytes)
        receiver = Receiver(ClaimCheck(opened, self._claims, claim_limit(self._settings)), Authenticator(()), limits)

        def ask(method: str, path: str, body: bytes | None, headers: Mapping[str, str]) -> HttpAnswer:
            """Post to the receiver in this process, without a network."""
            take = receiver.receive_batch if path == BATCHES else receiver.receive_event
            answer = loop.run(take(Request(method, {"user-agent": "headwater", **headers}, "", body or b"")))
            return HttpAnswer(answer.status, answer.headers, answer.body)

        def check_time(_: IngestReport) -> None:
            if time.monotonic() > until:
                raise _TimeUp

        with closing(IngestLedger(self._copy.path)) as ledger:
            taker = FileIngester(ledger, BatchSender(ask, patience_s=PATIENCE_S), self._claims.get, check_time)
            try:
                taker.ingest(sources, deletion=self._deletion_limits())
            except _TimeUp:
                pass
            except HeadwaterError as error:
                log.warning("Some files wait for the next run, no event is lost: %s", error)
            return taker.done

    def _deletion_limits(self) -> DeletionLimits | None:
        """Return the limits for deleting ingested files, None to keep all files.

        A file may be deleted if it is older than the limit and all of its events are in bronze.
        """
        keep_us = self._settings.ingest_keep_hours * 3_600_000_000
        if not keep_us:
            return None
        in_bronze = stored_in_bronze_before_us(lambda: log_age_s(self._readers, self._bronze))
        return DeletionLimits(time.time_ns() // 1000 - int(keep_us), in_bronze)
