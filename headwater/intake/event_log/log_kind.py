"""The interface of a log kind: its settings, writer, readers and requirements."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, Field

from headwater.intake.event_log import Claims, LakeCheck, Log, Readers

MOST_HOURS = 876_000
"""A hundred years. Larger values are mistakes, and dates cannot represent them."""


class LogSettings(BaseModel):
    """Settings for all log kinds; each kind adds its own."""

    queued_bytes: int = Field(
        64 << 20,
        gt=0,
        le=1 << 60,
        description="Maximum bytes of bodies that wait for the log. Above it, requests get 503.",
    )
    retain_hours: float = Field(
        72,
        ge=0,
        le=MOST_HOURS,
        description="Headwater deletes parsed log segments and claims older than this. Not below a hub's retention.",
    )
    claim_bytes: int | None = Field(
        None,
        gt=0,
        le=1 << 60,
        description="Larger bodies are stored in `claims`. Default: 1 MiB; Kafka 900 KiB; event hub 200 KiB.",
    )
    identity_client_id: str | None = Field(
        None, description="Client id of the user-assigned managed identity. Default: the identity of the machine."
    )


class LogKind(Protocol):
    """A log kind. The default implementations are for services. Each kind has its own settings class.

    name: the value of the setting `log`; settings: its settings, whose names begin with the name of the kind; extra:
    the required extra of the wheel; claim_bytes: the largest body it accepts. Importing a kind imports no client
    library; the methods that open something do.
    """

    name: str
    settings: type[LogSettings]
    extra: str
    claim_bytes: int

    def check(self, settings: Any) -> None:
        """Raise WrongSetting if a required setting is missing."""
        return

    def prepare(self, settings: Any) -> None:
        """Import what writing needs, before requests wait for it. Raises WrongSetting for an invalid address."""
        return

    def open_log(
        self, settings: Any, folder: Path, claims: Claims, on_commit: Callable[[], None], lake: LakeCheck
    ) -> Log:
        """Open the log for writing. A service that is down is not an error.

        folder: the data folder; on_commit: called after each commit to a local log; lake: compared with a local log.
        """

    def readers(self, settings: Any, folder: Path) -> Readers:
        """Return a function that opens the log for reading, with one reader per partition."""

    def is_made(self, folder: Path) -> bool:
        """Whether the log exists. The writer creates a local log."""
        return True

    def renew(self, settings: Any, folder: Path) -> None:
        """Begin another epoch of a local log; create it if it is missing. Services manage their own epochs."""
        return

    def claim_limit(self, settings: LogSettings) -> int:
        """Return the largest body, in bytes, that is stored in the log itself."""
        return settings.claim_bytes or self.claim_bytes
