"""Claims as blobs in a container of Azure storage. A lifecycle rule of the container deletes old claims.

The module uses `azure-storage-blob`, also for accounts with hierarchical namespace: one atomic request stores a body,
while `azure-storage-file-datalake` needs three, and Azurite, which the tests use, supports few requests of that
library.
"""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from headwater.common.errors import LogUnavailable, WrongSetting
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log import claim_name
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
from headwater.intake.event_log.sized_claims import check_whole_body, new_sized_key, size_in_key

if TYPE_CHECKING:
    from azure.storage.blob import ContainerClient

_LIMITS: dict[str, Any] = {"connection_timeout": 2, "read_timeout": 2, "retry_total": 0}
"""Timeouts in seconds, without retries by the SDK.

The receiver must answer within 2.5 s, and the parser itself retries.
"""


class ClaimPlace(NamedTuple):
    """The location of claims: account URL, container, and a path with a trailing slash, or an empty path."""

    account: str
    container: str
    path: str


class BlobClaims:
    """Claims under one URL. Imports the SDK (0.7 s) and connects at first use."""

    def __init__(self, url: str, options: Mapping[str, str], identity_client_id: str | None):
        """Parse the URL. Raises WrongSetting if it is not valid.

        url: `https://ACCOUNT.blob.core.windows.net/CONTAINER`, optionally with a path; `.dfs.` works as well. options:
        `account_name` and `account_key`, or `sas_token`; without credentials, a managed identity is used.
        identity_client_id: client id of a user-assigned identity, or None for the default identity.
        """
        self._url = url
        self._place = parse_claims_url(url, options.get("account_name"))
        self._options = options
        self._client_id = identity_client_id
        self._container: ContainerClient | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Store a body durably and return its key, which contains the length of the body.

        Raises LogUnavailable if that fails.
        """
        key = new_sized_key(body)
        try:
            self._open_container().upload_blob(f"{self._place.path}{key}", body, length=len(body), overwrite=False)
        except _azure_error_class() as error:
            raise self._unavailable_error("store", error) from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return the body with this key.

        Raises GiveUp if it does not exist, and LogUnavailable if it cannot be read now.
        """
        try:
            body: bytes | None = self._open_container().download_blob(f"{self._place.path}{claim_name(key)}").readall()
        except _azure_error_class() as error:
            if getattr(error, "error_code", None) != "BlobNotFound":
                raise self._unavailable_error("read", error) from error
            body = None
        return check_whole_body(body, key, self._url)

    def size(self, key: bytes) -> int:
        """Return the length of a body in bytes; 0 for an invalid key."""
        return size_in_key(key)

    def _open_container(self) -> "ContainerClient":
        with self._one_at_a_time:
            if self._container is None:
                self._container = self._connect_container()
            return self._container

    def _connect_container(self) -> "ContainerClient":
        from azure.storage.blob import ContainerClient  # noqa: PLC0415 - see the class

        disable_sdk_logging()
        return ContainerClient(
            self._place.account,
            self._place.container,
            credential=blob_credential(self._options, self._client_id),
            **_LIMITS,
        )

    def _unavailable_error(self, operation: str, error: Exception) -> LogUnavailable:
        return LogUnavailable(
            f"Cannot {operation} a large body in {self._url}: {explain_storage_error(error, 'claims_url')}"
        )


def blob_credential(options: Mapping[str, str], client_id: str | None) -> Any:
    """Return the credential for a storage account.

    It is the account key in `options`, else the SAS token in `options`, else the managed identity with this client id,
    else the default identity.
    """
    if "account_key" in options:
        return {name: options[name] for name in ("account_name", "account_key")}
    if "sas_token" in options:
        return options["sas_token"]
    from azure.identity import DefaultAzureCredential, ManagedIdentityCredential  # noqa: PLC0415 - see the class

    return ManagedIdentityCredential(client_id=client_id, **_LIMITS) if client_id else DefaultAzureCredential()


def parse_claims_url(url: str, account_name: str | None) -> ClaimPlace:
    """Parse a claims URL. Raises WrongSetting if it is not valid.

    account_name: needed for the URL of an emulator, whose path begins with the account name.
    """
    parts = urlsplit(url)
    path = parts.path.strip("/").split("/")
    account = f"{parts.scheme}://{parts.netloc}".replace(".dfs.", ".blob.")
    if account_name and path[0] == account_name:
        account += f"/{path.pop(0)}"
    if parts.scheme not in ("http", "https") or parts.query or not parts.netloc or not path or not path[0]:
        raise WrongSetting(
            f"claims_url = {url.partition('?')[0]!r} is not the URL of a container. Use the form "
            "https://ACCOUNT.blob.core.windows.net/claims, and put credentials into `claims_options`."
        )
    return ClaimPlace(account, path[0], "".join(f"{name}/" for name in path[1:]))


def _azure_error_class() -> type[Exception]:
    from azure.core.exceptions import AzureError  # noqa: PLC0415 - loaded by then

    return AzureError
