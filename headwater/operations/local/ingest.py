"""Send events of files to a running Headwater, or ingest events into a data folder while none is running.

`headwater send` sends all events of files. `headwater ingest` sends only new events, also those added to files later.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.progress import Progress

from headwater.common.errors import Retry, WrongSetting
from headwater.events.event_files import read_event_texts
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.event_log.folder_claims import ClaimCheck
from headwater.intake.files.batch_sending import BATCH, BATCH_BYTES, BatchSender, open_receiver
from headwater.intake.files.file_taking import DeletionLimits, FileIngester
from headwater.intake.files.sources.file_source import FileSource
from headwater.operations.runtime.data_folder import folder_lock, require_data_folder
from headwater.operations.runtime.event_log import open_log, reader_opener
from headwater.operations.runtime.storage import OWNER, claim_limit, open_bronze, open_claims
from headwater.operations.settings import Settings

SEND_PATIENCE_S = 10.0
_REASONS = 20

PATIENCE_S = 120.0
"""Seconds to wait for a receiver that has responded before. With `--follow`, there is no limit."""

_DELETED_EVERY_S = 60.0
"""Minimum seconds between two deletions of ingested files. Each deletion queries bronze and the whole ledger."""

_REST = 4.0
"""Pause after each scan of the files, as a multiple of its CPU time. Scanning uses at most a fifth of a core."""

_TIMEOUT_S = 30.0


def send_files(files: Sequence[Path], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send files of events (one per line, one document, or an array; plain or gzip), in order.

    Returns `sent`, `accepted` and `refused`, with the first 20 different reasons.
    """
    return send_bodies(
        (event.text for path in files for event in read_event_texts(path) if event.text), url, key, progress=progress
    )


def send_bodies(bodies: Iterable[bytes], url: str, key: str | None, *, progress: bool) -> dict[str, Any]:
    """Send events in batches. Raises Retry if the server does not respond, WrongSetting if it rejects the key."""
    outcome: dict[str, Any] = {"sent": 0, "accepted": 0, "refused": 0, "reasons": []}
    with open_receiver(url, key) as ask, Progress(disable=not progress) as bar:
        sender = BatchSender(ask, patience_s=SEND_PATIENCE_S)
        task = bar.add_task("sending", total=None)
        for batch in _in_batches(bodies):
            refused = sender.send(batch)
            outcome["sent"] += len(batch)
            outcome["accepted"] += len(batch) - len(refused)
            outcome["refused"] += len(refused)
            outcome["reasons"] = [*dict.fromkeys([*outcome["reasons"], *refused.values()])][:_REASONS]
            bar.update(task, completed=outcome["sent"])
    return outcome


def _in_batches(bodies: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    size = 0
    for body in bodies:
        if batch and (len(batch) >= BATCH or size + len(body) > BATCH_BYTES):
            yield batch
            batch, size = [], 0
        batch.append(body)
        size += len(body)
    if batch:
        yield batch


@dataclass(frozen=True)
class IngestOptions:
    """The options of `headwater ingest`.

    since_us: returns the earliest modification time of files to ingest (us, UTC). keep_s: seconds after which ingested
    files are deleted, None to keep them. follow: whether to continue after the first scan.
    """

    since_us: Callable[[], int]
    keep_s: float | None
    follow: bool


def ingest_files(
    ingester: FileIngester,
    sources: Sequence[FileSource],
    options: IngestOptions,
    in_bronze_us: Callable[[], int],
    report: Callable[[str], None],
) -> None:
    """Ingest files once, or continuously with `options.follow`.

    in_bronze_us: returns the time up to which all received events are in bronze (us, UTC). report: called with the
    reason of a wait. Raises Retry if a source or the receiver is unavailable, except with `options.follow`. Raises
    WrongSetting if files are to be deleted but never could be.
    """
    _check_receiver_is_reachable(options)
    confirmed = float("-inf")
    while True:
        began, began_cpu = time.monotonic(), time.process_time()
        try:
            deletion = None
            if options.keep_s and began >= confirmed + _DELETED_EVERY_S:
                rested_us = time.time_ns() // 1000 - int(options.keep_s * 1e6)
                deletion, confirmed = DeletionLimits(rested_us, in_bronze_us()), began
            ingester.ingest(sources, options.since_us(), deletion)
        except Retry as error:
            if not options.follow:
                raise
            report(str(error))
        if not options.follow:
            return
        look_every_s = min(source.poll_interval_s for source in sources)
        time.sleep(max(look_every_s, _REST * (time.process_time() - began_cpu)))


def _check_receiver_is_reachable(options: IngestOptions) -> None:
    if options.keep_s and time.time() - options.keep_s < options.since_us() / 1e6:
        raise WrongSetting("--since excludes files that --keep should delete. Set --since further back than --keep.")


def ingest_offline(settings: Settings, bodies: Iterable[bytes]) -> None:
    """Append events to the log of a data folder, and parse the whole log, while Headwater does not run.

    Raises WrongSetting if Headwater is running on the folder, or if the log is a service such as Kafka.
    """
    folder = require_data_folder(settings)
    if settings.log != "sqlite":
        raise WrongSetting(
            f"The log of {folder} is a service ({settings.log}). Send to a running Headwater with --server."
        )
    try:
        with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
            _append_to_log(settings, bodies)
            _parse_log(settings)
    except WrongSetting as error:
        if "Another `headwater` uses" not in str(error):
            raise
        raise WrongSetting(f"Headwater is running on {folder}. Replace --data by --server with its address.") from error


def _append_to_log(settings: Settings, bodies: Iterable[bytes]) -> None:
    claims = open_claims(settings)
    log = open_log(settings, require_data_folder(settings), claims)
    writer = ClaimCheck(log, claims, claim_limit(settings))

    async def append_bodies() -> None:
        try:
            for batch in _in_batches(bodies):
                await writer.append([Record(RecordKind.EVENT, body) for body in batch], timeout_s=_TIMEOUT_S)
        finally:
            await log.aclose()

    asyncio.run(append_bodies())


def _parse_log(settings: Settings) -> None:
    from headwater.intake.parser.partition_parser import PartitionParser  # noqa: PLC0415 - not loaded to send events

    bronze, claims = open_bronze(settings), open_claims(settings)
    for reader in reader_opener(settings, require_data_folder(settings))():
        with closing(reader):
            parser = PartitionParser(reader, bronze, claims, OWNER, settings.record_cpu_s)
            while parser.commit_next():
                pass
