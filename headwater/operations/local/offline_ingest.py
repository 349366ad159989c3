"""Ingest events into a data folder while Headwater is not running: append to its log, then parse."""

import asyncio
from collections.abc import Sequence
from contextlib import closing

from headwater.common.errors import WrongSetting
from headwater.intake.event_log import Record, RecordKind
from headwater.intake.parser.log_ingest import Parser
from headwater.operations.runtime.folders import existing_folder, folder_lock
from headwater.operations.runtime.logs import log_readers, open_log
from headwater.operations.runtime.storage import OWNER, open_bronze, open_claims
from headwater.operations.settings import Settings

_TIMEOUT_S = 30.0


def ingest_offline(settings: Settings, bodies: Sequence[bytes]) -> None:
    """Append our own events to the log, and parse everything in the log.

    Raises WrongSetting if Headwater is running on the folder, or if its log is a service.
    """
    folder = existing_folder(settings)
    if settings.log != "sqlite":
        raise WrongSetting(
            f"The log of {folder} is a service ({settings.log}). Send to a running Headwater with --server."
        )
    try:
        with folder_lock(folder, "up", wait_s=0), folder_lock(folder, "serve", wait_s=0):
            _append(settings, bodies)
            _parse(settings)
    except WrongSetting as error:
        if "Another `headwater` uses" not in str(error):
            raise
        raise WrongSetting(f"Headwater is running on {folder}. Replace --data by --server with its address.") from error


def _append(settings: Settings, bodies: Sequence[bytes]) -> None:
    log = open_log(settings, existing_folder(settings), open_claims(settings))

    async def append() -> None:
        try:
            await log.append([Record(RecordKind.EVENT, body) for body in bodies], timeout_s=_TIMEOUT_S)
        finally:
            await log.aclose()

    asyncio.run(append())


def _parse(settings: Settings) -> None:
    bronze, claims = open_bronze(settings), open_claims(settings)
    for reader in log_readers(settings, existing_folder(settings))():
        with closing(reader):
            parser = Parser(reader, bronze, claims, OWNER, settings.record_cpu_s)
            while parser.step():
                pass
