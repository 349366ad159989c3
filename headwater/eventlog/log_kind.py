"""What a kind of event log says of itself, in one place: its settings, its writer, its readers, what it needs."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, Field

from headwater.eventlog import Claims, LakeCheck, Log, Readers

MOST_HOURS = 876_000
"""A hundred years: more is a slip of the hand, and no date has room for it."""


class LogSettings(BaseModel):
    """Settings that logs of every kind read; each kind adds its own."""

    queued_bytes: int = Field(
        64 << 20, gt=0, le=1 << 60, description="Bodies that may wait for the log before requests get 503."
    )
    retain_hours: float = Field(
        72,
        ge=0,
        le=MOST_HOURS,
        description="Log segments older than this go, once parsed; claims too, so not below the retention of a hub.",
    )
    claim_bytes: int | None = Field(
        None,
        gt=0,
        le=1 << 60,
        description="Bodies above it go to `claims`; default 1 MiB, with Kafka 900 KiB, with an event hub 200 KiB.",
    )
    identity_client_id: str | None = Field(
        None, description="Client id of the user-assigned managed identity; default is what the machine offers."
    )


class LogKind(Protocol):
    """One kind of log; what stands here is true of a service. Its settings are those of its own class.

    name: as the setting `log` has it; extra: of the wheel, which it needs; claim_bytes: largest body that it takes.
    Importing a kind imports no client: what opens something does.
    """

    name: str
    extra: str
    claim_bytes: int

    def check(self, settings: Any) -> None:
        """Raise WrongSetting where a setting that this log needs is missing."""
        return

    def prepare(self, settings: Any) -> None:
        """Import what writing needs before somebody waits for it; raises WrongSetting for an address that is none."""
        return

    def open_log(
        self, settings: Any, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the log for writing; a service that is down is no error yet.

        folder: of data; on_commit: called when something has come into a log on our own disk; lake: what such a log is
        held against.
        """

    def readers(self, settings: Any, folder: Path) -> Readers:
        """Return what opens the log for reading, one reader per partition."""

    def is_made(self, folder: Path) -> bool:
        """Tell whether the log is there; one on our own disk is made by its writer."""
        return True

    def renew(self, settings: Any, folder: Path) -> None:
        """Let a log on our own disk, made if it is missing, begin another epoch; a service's has its own."""
        return

    def claim_limit(self, settings: LogSettings) -> int:
        """Return the largest body, in bytes, that goes into the log itself."""
        return settings.claim_bytes or self.claim_bytes
