"""The interface of a log kind: its settings, writer, readers and requirements."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pydantic import BaseModel, Field

from headwater.intake.event_log import Claims, LakeCheck, Log, Readers

MOST_HOURS = 876_000
"""The maximum of settings in hours: a hundred years. Larger values are mistakes, and dates cannot represent them."""


class LogSettings(BaseModel):
    """Settings that all log kinds have. Each kind adds its own settings in a subclass."""

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
    """A log kind. The default implementations of methods are for logs of services.

    name: the value of the setting `log` that selects this kind. settings: the settings class of the kind. extra: the
    extra of the wheel that the kind requires. claim_bytes: the largest body (bytes) that the log accepts.
    Importing a kind imports no client library. The methods that open the log import it.
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

        folder: the data folder. claims: the store of large bodies. on_commit: called after each commit to a local log.
        lake: the check that a local log belongs to the lake.
        """

    def reader_opener(self, settings: Any, folder: Path) -> Readers:
        """Return a function that opens the log for reading, with one reader per partition."""

    def log_exists(self, folder: Path) -> bool:
        """Whether the log exists. The writer creates a local log."""
        return True

    def begin_new_epoch(self, settings: Any, folder: Path) -> None:
        """Begin another epoch of a local log, and create the log if it is missing. Services manage their own epochs."""
        return

    def claim_limit(self, settings: LogSettings) -> int:
        """Return the largest body, in bytes, that is stored in the log itself."""
        return settings.claim_bytes or self.claim_bytes
