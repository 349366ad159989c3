"""Claims as blobs of a container of Azure storage; a lifecycle rule of the container deletes them by age.

`azure-storage-blob`, also on an account with hierarchical namespace: one request keeps a body, all or nothing, where
`azure-storage-file-datalake` takes three; and Azurite, which proves it, answers few requests of the other.
"""

import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from headwater.errors import LogUnavailable, WrongSetting
from headwater.eventlog import claim_name
from headwater.eventlog.azure_log_lines import silence_sdk
from headwater.eventlog.sized_claims import size_in, sized_key, whole_body
from headwater.storage_faults import explain

if TYPE_CHECKING:
    from azure.storage.blob import ContainerClient

_LIMITS: dict[str, Any] = {"connection_timeout": 2, "read_timeout": 2, "retry_total": 0}
"""Seconds, and no second try: the receiver answers 503 within 2.5 s, and the parser tries again by itself."""


class ClaimPlace(NamedTuple):
    """Where claims lie: address of the account, name of the container, path in it with a slash at its end, or none."""

    account: str
    container: str
    path: str


class BlobClaims:
    """Claims under one address. Makes no connection, and imports no SDK (0.7 s), before it is first needed."""

    def __init__(self, url: str, options: Mapping[str, str], identity_client_id: str | None):
        """Name the place; raises WrongSetting if the address is none.

        url: `https://ACCOUNT.blob.core.windows.net/CONTAINER`, a path behind it if wanted; `.dfs.` means the same.
        options: `account_name` and `account_key`, or `sas_token`; without them a managed identity is used.
        """
        self._url = url
        self._place = place(url, options.get("account_name"))
        self._options = options
        self._client_id = identity_client_id
        self._container: ContainerClient | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Keep a body; durable when this returns. Returns its key, which tells the length; raises LogUnavailable."""
        key = sized_key(body)
        try:
            self._open().upload_blob(f"{self._place.path}{key}", body, length=len(body), overwrite=False)
        except _azure_error() as error:
            raise self._unavailable("keep", error) from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it is gone, LogUnavailable if it cannot be read right now."""
        try:
            body: bytes | None = self._open().download_blob(f"{self._place.path}{claim_name(key)}").readall()
        except _azure_error() as error:
            if getattr(error, "error_code", None) != "BlobNotFound":
                raise self._unavailable("read", error) from error
            body = None
        return whole_body(body, key, self._url)

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 for what is no key."""
        return size_in(key)

    def _open(self) -> "ContainerClient":
        with self._one_at_a_time:
            if self._container is None:
                self._container = self._connect()
            return self._container

    def _connect(self) -> "ContainerClient":
        from azure.storage.blob import ContainerClient  # noqa: PLC0415 - see the class

        silence_sdk()
        return ContainerClient(
            self._place.account,
            self._place.container,
            credential=blob_credential(self._options, self._client_id),
            **_LIMITS,
        )

    def _unavailable(self, what: str, error: Exception) -> LogUnavailable:
        return LogUnavailable(f"Cannot {what} a large body in {self._url}: {explain(error, 'claims_url')}")


def blob_credential(options: Mapping[str, str], client_id: str | None) -> Any:
    """Return what opens a container: a key, a SAS, the identity of that id, or whatever identity is found."""
    if "account_key" in options:
        return {name: options[name] for name in ("account_name", "account_key")}
    if "sas_token" in options:
        return options["sas_token"]
    from azure.identity import DefaultAzureCredential, ManagedIdentityCredential  # noqa: PLC0415 - see the class

    return ManagedIdentityCredential(client_id=client_id, **_LIMITS) if client_id else DefaultAzureCredential()


def place(url: str, account_name: str | None) -> ClaimPlace:
    """Read an address; that of an emulator begins with the account's name. Raises WrongSetting naming the form."""
    parts = urlsplit(url)
    path = parts.path.strip("/").split("/")
    account = f"{parts.scheme}://{parts.netloc}".replace(".dfs.", ".blob.")
    if account_name and path[0] == account_name:
        account += f"/{path.pop(0)}"
    if parts.scheme not in ("http", "https") or parts.query or not parts.netloc or not path or not path[0]:
        raise WrongSetting(
            f"claims_url = {url.partition('?')[0]!r} is no address of a container. Write it like "
            "https://ACCOUNT.blob.core.windows.net/claims; credentials go into `claims_options`."
        )
    return ClaimPlace(account, path[0], "".join(f"{name}/" for name in path[1:]))


def _azure_error() -> type[Exception]:
    from azure.core.exceptions import AzureError  # noqa: PLC0415 - loaded by then

    return AzureError
