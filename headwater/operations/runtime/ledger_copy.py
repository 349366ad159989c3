"""Store the ledger of ingested files in the lake between timer runs, which may use different machines."""

from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headwater.common.errors import LakeUnavailable
from headwater.common.storage_faults import explain
from headwater.operations.runtime.lake_file import open_blob
from headwater.operations.runtime.storage import is_lake_remote, lake_place
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient


class LedgerCopy:
    """The ledger file on this machine, and its copy in a remote lake.

    If a run ends without storing it, its events are sent again and become duplicates. The file has 130 bytes per
    ingested file, so it is transferred only if it has changed.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        """folder: this machine's data folder."""
        self.path = folder / "ingest" / "taken.sqlite"
        self._settings = settings
        self._client: BlobClient | None = None
        self._version: str | None = None
        self._stored = b""

    def fetch(self) -> None:
        """Download a newer copy that another machine may have stored; raises LakeUnavailable."""
        if not is_lake_remote(self._settings):
            return
        from azure.core import MatchConditions
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        self._client = self._client or self._open()
        newer: dict[str, Any] = {"etag": self._version, "match_condition": MatchConditions.IfModified}
        try:
            found = self._client.download_blob(**(newer if self._version and self._digest() == self._stored else {}))
            text = found.readall()
        except ResourceNotFoundError:
            self._version = None
            return
        except AzureError as error:
            if getattr(error, "status_code", None) == HTTPStatus.NOT_MODIFIED:
                return
            raise LakeUnavailable(f"Cannot read the ledger of ingested files: {explain(error, 'lake')}") from error
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self.path.parent.glob(f"{self.path.name}*"):
            left.unlink()  # including side files of an interrupted run
        self.path.write_bytes(text)
        self._version, self._stored = found.properties.etag, self._digest()

    def store(self) -> None:
        """Upload the file, which must be closed; raises LakeUnavailable, also if another run stored a newer copy."""
        digest = self._digest()
        if self._client is None or (self._version and digest == self._stored):
            return
        from azure.core import MatchConditions
        from azure.core.exceptions import AzureError

        held: dict[str, Any] = {"etag": self._version, "match_condition": MatchConditions.IfNotModified}
        try:
            stored = self._client.upload_blob(
                self.path.read_bytes(), overwrite=self._version is not None, **(held if self._version else {})
            )
        except AzureError as error:
            raise LakeUnavailable(f"Cannot store the ledger of ingested files: {explain(error, 'lake')}") from error
        self._version, self._stored = stored["etag"], digest

    def _digest(self) -> bytes:
        """Return a hash of the file; a file with a WAL left by an interrupted run never matches."""
        if not self.path.exists() or self.path.with_name(f"{self.path.name}-wal").exists():
            return b"unlike any"
        return blake2b(self.path.read_bytes()).digest()

    def _open(self) -> "BlobClient":
        lake, options = lake_place(self._settings)
        return open_blob(f"{lake}/ingest/{self.path.name}", options, self._settings.identity_client_id)
