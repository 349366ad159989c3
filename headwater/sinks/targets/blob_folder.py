"""A folder of a container in Azure's storage, with a hierarchical namespace or without: each file in one request."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.errors import Retry
from headwater.eventlog.azure_log_lines import silence_sdk
from headwater.eventlog.blob_claims import blob_credential, place
from headwater.extras import extra
from headwater.sinks.connecting.bounded_calls import REQUEST_S, BoundedCalls
from headwater.storage_faults import explain

if TYPE_CHECKING:
    from azure.storage.blob import ContainerClient

_LIMITS: dict[str, Any] = {"connection_timeout": 10, "read_timeout": 60, "retry_total": 0}
"""Seconds, and no second try: who writes tries again by itself."""


class BlobFolder:
    """Files under one address; connects with the first one."""

    def __init__(self, url: str, options: Mapping[str, str], deadline_s: float = REQUEST_S) -> None:
        """Name the place.

        options: `account_name` and `account_key`, or `sas_token`; else this machine's identity. deadline_s: for one
        request with its answer.
        """
        self._url = url
        self._place = place(url, options.get("account_name"))
        self._options = options
        self._container: ContainerClient | None = None
        self._calls = BoundedCalls(deadline_s)

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file whole, over the one that is there; raises Retry."""
        body = b"".join(lines)
        named = f"{self._place.path}{path}"
        self._ask("write", lambda container: container.upload_blob(named, body, overwrite=True))

    def check(self) -> str:
        """Write a file and delete it."""
        self.write("headwater.check", [])
        self._ask("delete", lambda container: container.delete_blob(f"{self._place.path}headwater.check"))
        return f"{self._url} can be written"

    def close(self) -> None:
        """Close the connection."""
        if self._container:
            self._container.close()

    def _ask(self, what: str, request: "Callable[[ContainerClient], object]") -> None:
        try:
            self._calls.run(lambda: request(self._opened()))
        except Retry as error:
            self._container = None  # what is on its way keeps its connection
            raise Retry(f"Cannot {what} in {self._url}: {error}") from error
        except _azure_error() as error:
            raise Retry(f"Cannot {what} in {self._url}: {explain(error, 'folder')}") from error

    def _opened(self) -> "ContainerClient":
        from azure.storage.blob import ContainerClient  # noqa: PLC0415 - an extra

        if self._container is None:
            silence_sdk()
            at, named = self._place.account, self._place.container
            self._container = ContainerClient(at, named, credential=blob_credential(self._options, None), **_LIMITS)
        return self._container


def open_blob_folder(url: str, options: Mapping[str, str]) -> BlobFolder:
    """Open a folder; raises WrongSetting where Azure's packages are not installed."""
    with extra("azure"):
        import azure.identity  # noqa: PLC0415 - an extra
        import azure.storage.blob  # noqa: F401, PLC0415 - an extra
    return BlobFolder(url, options)


def _azure_error() -> type[Exception]:
    from azure.core.exceptions import AzureError  # noqa: PLC0415 - an extra

    return AzureError
