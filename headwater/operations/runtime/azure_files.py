"""Small files next to the tables of a lake in Azure, which the instances of a Function App share.

The files are a remote `sinks.yml`, notes of why partitions wait, and the ledger of ingested files. This module uses
Azure's SDK, because delta-rs blocks every thread of the process until the storage responds.
"""

import logging
import threading
import time
from collections.abc import Mapping
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.extras import require_extra
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
from headwater.intake.event_log.blob_claims import blob_credential
from headwater.operations.runtime.storage import is_lake_remote, lake_root_and_options
from headwater.operations.runtime.troubles import join_reasons
from headwater.operations.settings import Settings

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient, ContainerClient


_LIMITS: dict[str, Any] = {"connection_timeout": 5, "read_timeout": 15, "retry_total": 0}
"""Timeouts in seconds. The client does not retry, because the caller polls again."""

log = logging.getLogger(__name__)
_LOOK_S = 10.0


class LakeFile:
    """One file at `abfss://container@account.dfs.core.windows.net/path`. Not thread-safe."""

    def __init__(
        self, address: str, options: Mapping[str, str], client_id: str | None = None, min_interval_s: float = 0.0
    ) -> None:
        """options: storage options of delta-rs; min_interval_s: minimum time between requests."""
        self.name = address.rpartition("/")[2]
        self._address = address
        self._options = options
        self._client_id = client_id
        self._min_interval_s = min_interval_s
        self._client: BlobClient | None = None
        self._looked: float | None = None
        self._text: str | None = None

    def version(self) -> str | None:
        """Return the text of the file, which serves as its version; None if the file does not exist.

        Requests the file at most every `min_interval_s` seconds. Raises LakeUnavailable or WrongSetting.
        """
        if self._looked is None or time.monotonic() >= self._looked + self._min_interval_s:
            self._text = self._download()
            self._looked = time.monotonic()
        return self._text

    def text(self) -> str | None:
        """Return the text of the file from the last request. Raises the same errors as `version`."""
        return self.version() if self._looked is None else self._text

    def _download(self) -> str | None:
        self._client = self._client or open_blob(self._address, self._options, self._client_id)
        from azure.core.exceptions import AzureError

        try:
            return self._client.download_blob().readall().decode()
        except UnicodeDecodeError as error:
            raise WrongSetting(f"{self.name} cannot be read: {error}. Correct or remove the file.") from error
        except AzureError as error:
            if getattr(error, "error_code", None) == "BlobNotFound":
                return None
            raise LakeUnavailable(f"Cannot read {self._address}: {explain_storage_error(error, 'sinks')}") from error


def open_blob(address: str, options: Mapping[str, str], client_id: str | None) -> "BlobClient":
    """Open a file at `abfss://container@account.dfs.core.windows.net/path`; options: storage options of delta-rs."""
    return open_container(address, options, client_id).get_blob_client(urlsplit(address).path.strip("/"))


def open_container(address: str, options: Mapping[str, str], client_id: str | None) -> "ContainerClient":
    """Open the container of the address `abfss://container@account.dfs.core.windows.net/path`."""
    with require_extra("azure"):
        from azure.storage.blob import ContainerClient
    disable_sdk_logging()
    parts = urlsplit(address)
    host = str(parts.hostname)
    account = options.get("endpoint", f"https://{host.replace('.dfs.', '.blob.')}")
    named = {"account_name": host.partition(".")[0], **options}
    return ContainerClient(account, str(parts.username), credential=blob_credential(named, client_id), **_LIMITS)


def supports_lake_files(settings: Settings) -> bool:
    """Return whether the lake is in a storage on which this module can store files."""
    return (settings.lake or "").startswith("abfss://")


class SharedTroubles:
    """The reasons why partitions wait, in a small file for each waiting partition.

    Errors of the storage are not raised; the next call tries again.
    """

    def __init__(self, settings: Settings) -> None:
        lake, options = lake_root_and_options(settings)
        self._folder = f"{lake}/run/parser"
        self._given = options, settings.identity_client_id
        self._one_at_a_time = threading.Lock()
        self._read_at = -_LOOK_S
        self._found: Mapping[str, str] = {}

    def write_trouble(self, partition: str, reason: str | None) -> bool:
        """Write why a partition waits. reason: None deletes the partition's file. Returns whether that succeeded."""
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        try:
            with open_blob(f"{self._folder}/{partition}", *self._given) as blob:
                if reason is None:
                    blob.delete_blob()
                else:
                    blob.upload_blob(reason.encode("utf-8", "replace"), overwrite=True)
        except ResourceNotFoundError:
            return reason is None
        except AzureError as error:
            log.debug("Could not write the note of partition %s: %s", partition, error)
            return False
        return True

    def read_troubles(self) -> Mapping[str, str]:
        """Return the reasons why the parser waits, under the key `parser`; empty if it runs.

        Requests the files at most every 10 s.
        """
        with self._one_at_a_time:
            if time.monotonic() >= self._read_at + _LOOK_S:
                self._read_at = time.monotonic()
                reasons = self._download_troubles()
                self._found = {"parser": join_reasons(reasons)} if reasons else {}
            return self._found

    def _download_troubles(self) -> dict[str, str]:
        from azure.core.exceptions import AzureError

        found: dict[str, str] = {}
        try:
            with open_container(self._folder, *self._given) as container:
                start = self._folder.partition("://")[2].partition("/")[2] + "/"
                for name in container.list_blob_names(name_starts_with=start):
                    text = container.download_blob(name).readall()
                    found[name.removeprefix(start)] = text.decode("utf-8", "replace")
        except AzureError as error:
            log.debug("Could not read the notes of partitions: %s", error)
        return found


class IngestedFilesLedgerCopy:
    """The ledger file on this machine, and its copy in a remote lake.

    If a run ends without uploading the ledger, the next run sends the same events again, and they become duplicates.
    The ledger has 130 bytes for each ingested file, so it is transferred only if it has changed.
    """

    def __init__(self, settings: Settings, folder: Path) -> None:
        """folder: this machine's data folder."""
        self.path = folder / "ingest" / "taken.sqlite"
        self._settings = settings
        self._client: BlobClient | None = None
        self._version: str | None = None
        self._stored = b""

    def download(self) -> None:
        """Download the copy if another machine has stored a newer one. Raises LakeUnavailable."""
        if not is_lake_remote(self._settings):
            return
        from azure.core import MatchConditions
        from azure.core.exceptions import AzureError, ResourceNotFoundError

        self._client = self._client or self._open_blob()
        newer: dict[str, Any] = {"etag": self._version, "match_condition": MatchConditions.IfModified}
        try:
            found = self._client.download_blob(
                **(newer if self._version and self._file_digest() == self._stored else {})
            )
            text = found.readall()
        except ResourceNotFoundError:
            self._version = None
            return
        except AzureError as error:
            if getattr(error, "status_code", None) == HTTPStatus.NOT_MODIFIED:
                return
            raise LakeUnavailable(
                f"Cannot read the ledger of ingested files: {explain_storage_error(error, 'lake')}"
            ) from error
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        for left in self.path.parent.glob(f"{self.path.name}*"):
            left.unlink()  # including side files of an interrupted run
        self.path.write_bytes(text)
        self._version, self._stored = found.properties.etag, self._file_digest()

    def upload(self) -> None:
        """Upload the ledger file, which must be closed.

        Raises LakeUnavailable if the storage fails or if another run has stored a newer copy.
        """
        digest = self._file_digest()
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
            raise LakeUnavailable(
                f"Cannot store the ledger of ingested files: {explain_storage_error(error, 'lake')}"
            ) from error
        self._version, self._stored = stored["etag"], digest

    def _file_digest(self) -> bytes:
        """Return a hash of the ledger file. If an interrupted run left a WAL, the hash never matches a stored one."""
        if not self.path.exists() or self.path.with_name(f"{self.path.name}-wal").exists():
            return b"unlike any"
        return blake2b(self.path.read_bytes()).digest()

    def _open_blob(self) -> "BlobClient":
        lake, options = lake_root_and_options(self._settings)
        return open_blob(f"{lake}/ingest/{self.path.name}", options, self._settings.identity_client_id)
