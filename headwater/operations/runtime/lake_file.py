"""Read a small file next to the tables of a remote lake.

It uses Azure's SDK, because delta-rs blocks every thread of the process until the storage responds.
"""

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.common.extras import extra
from headwater.common.storage_faults import explain
from headwater.intake.event_log.azure_log_lines import silence_sdk
from headwater.intake.event_log.blob_claims import blob_credential

if TYPE_CHECKING:
    from azure.storage.blob import BlobClient, ContainerClient

_LIMITS: dict[str, Any] = {"connection_timeout": 5, "read_timeout": 15, "retry_total": 0}
"""Seconds; no retries, because the caller polls again."""


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
        """Return the file's text as its version, None if it does not exist; requests it at most every `min_interval_s`.

        Raises LakeUnavailable or WrongSetting.
        """
        if self._looked is None or time.monotonic() >= self._looked + self._min_interval_s:
            self._text = self._read()
            self._looked = time.monotonic()
        return self._text

    def text(self) -> str | None:
        """Return the file's text from the last request; raises like `version`."""
        return self.version() if self._looked is None else self._text

    def _read(self) -> str | None:
        self._client = self._client or open_blob(self._address, self._options, self._client_id)
        from azure.core.exceptions import AzureError

        try:
            return self._client.download_blob().readall().decode()
        except UnicodeDecodeError as error:
            raise WrongSetting(f"{self.name} cannot be read: {error}. Correct or remove the file.") from error
        except AzureError as error:
            if getattr(error, "error_code", None) == "BlobNotFound":
                return None
            raise LakeUnavailable(f"Cannot read {self._address}: {explain(error, 'sinks')}") from error


def open_blob(address: str, options: Mapping[str, str], client_id: str | None) -> "BlobClient":
    """Open a file at `abfss://container@account.dfs.core.windows.net/path`; options: storage options of delta-rs."""
    return open_container(address, options, client_id).get_blob_client(urlsplit(address).path.strip("/"))


def open_container(address: str, options: Mapping[str, str], client_id: str | None) -> "ContainerClient":
    """Open the container of such an address."""
    with extra("azure"):
        from azure.storage.blob import ContainerClient
    silence_sdk()
    parts = urlsplit(address)
    host = str(parts.hostname)
    account = options.get("endpoint", f"https://{host.replace('.dfs.', '.blob.')}")
    named = {"account_name": host.partition(".")[0], **options}
    return ContainerClient(account, str(parts.username), credential=blob_credential(named, client_id), **_LIMITS)
