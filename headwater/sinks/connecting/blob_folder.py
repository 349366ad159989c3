"""A folder in an Azure storage container, with or without a hierarchical namespace; writes each file in one request."""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headwater.common.errors import Retry
from headwater.common.extras import require_extra
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
from headwater.intake.event_log.blob_claims import blob_credential, parse_claims_url
from headwater.sinks.connecting.folders import REQUEST_S, BoundedCalls

if TYPE_CHECKING:
    from azure.storage.blob import ContainerClient


_LIMITS: dict[str, Any] = {"connection_timeout": 10, "read_timeout": 60, "retry_total": 0}
"""Timeouts in seconds. The client does not retry, because the caller of the folder retries."""


class BlobFolder:
    """A folder under one Azure storage address; it connects when the first file is written."""

    def __init__(self, url: str, options: Mapping[str, str], deadline_s: float = REQUEST_S) -> None:
        """options: `account_name` and `account_key`, or `sas_token`; without them, this machine's identity is used.

        deadline_s: maximum time of one request with its response, in seconds.
        """
        self._url = url
        self._place = parse_claims_url(url, options.get("account_name"))
        self._options = options
        self._container: ContainerClient | None = None
        self._calls = BoundedCalls(deadline_s)

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file, replacing an existing file at this path; raises Retry if the request fails."""
        body = b"".join(lines)
        named = f"{self._place.path}{path}"
        self._call_storage("write", lambda container: container.upload_blob(named, body, overwrite=True))

    def check(self) -> str:
        """Write and delete a test file."""
        self.write("headwater.check", [])
        self._call_storage("delete", lambda container: container.delete_blob(f"{self._place.path}headwater.check"))
        return f"{self._url} can be written"

    def close(self) -> None:
        """Close the connection."""
        if self._container:
            self._container.close()

    def _call_storage(self, operation: str, request: "Callable[[ContainerClient], object]") -> None:
        try:
            self._calls.run_bounded(lambda: request(self._open_container()))
        except Retry as error:
            self._container = None  # the abandoned request keeps its connection
            raise Retry(f"Cannot {operation} in {self._url}: {error}") from error
        except _azure_error_class() as error:
            raise Retry(f"Cannot {operation} in {self._url}: {explain_storage_error(error, 'folder')}") from error

    def _open_container(self) -> "ContainerClient":
        from azure.storage.blob import ContainerClient  # noqa: PLC0415 - an extra

        if self._container is None:
            disable_sdk_logging()
            at, named = self._place.account, self._place.container
            self._container = ContainerClient(at, named, credential=blob_credential(self._options, None), **_LIMITS)
        return self._container


def open_blob_folder(url: str, options: Mapping[str, str]) -> BlobFolder:
    """Return a folder; raises WrongSetting if Azure's packages are not installed."""
    with require_extra("azure"):
        import azure.identity  # noqa: PLC0415 - an extra
        import azure.storage.blob  # noqa: F401, PLC0415 - an extra
    return BlobFolder(url, options)


def _azure_error_class() -> type[Exception]:
    from azure.core.exceptions import AzureError  # noqa: PLC0415 - an extra

    return AzureError
