"""Reads files in ADLS Gen2 and OneLake with `azure-storage-file-datalake`.

Files are listed in pages and read in ranges.
"""

import io
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple, cast
from urllib.parse import unquote, urlsplit

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import require_extra
from headwater.common.storage_faults import explain_storage_error
from headwater.intake.event_log.azure_log_lines import disable_sdk_logging
from headwater.intake.event_log.blob_claims import blob_credential
from headwater.intake.files.sources.file_source import FileGone, FoundFile, is_folder_of_earlier_day, is_ignored_name

if TYPE_CHECKING:
    from azure.storage.filedatalake import DataLakeFileClient

RANGE_BYTES = 4 << 20
"""Bytes of one read. Most files of a transport are smaller, so they are read by one request."""
PAGE = 1000
_LIMITS: dict[str, Any] = {
    "connection_timeout": 10,
    "read_timeout": 60,
    "retry_total": 3,
    "initial_backoff": 1,
    "random_jitter_range": 1,
}
"""Timeouts and pauses in seconds. The first pause of the SDK's defaults would be 15 s."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOST = re.compile(r"[\w.-]+\.dfs\.[\w.-]+")


class AzurePlace(NamedTuple):
    """A folder in Azure.

    account: URL of the account. container: the container; in OneLake, the workspace. path: the path without slashes at
    its ends.
    """

    account: str
    container: str
    path: str


class AzureFiles:
    """One file, or the files of a folder. Connects with the first request. Not thread-safe."""

    poll_interval_s = 10.0  # each listing costs requests

    def __init__(self, address: str, options: Mapping[str, str], client_id: str | None) -> None:
        """Store the address without connecting. Raises WrongSetting if it is not valid.

        options: `account_name` and `account_key`, or `sas_token`. Without credentials, the managed identity with
        `client_id` is used, or the default identity if `client_id` is None. The option `endpoint` replaces the URL of
        the account.
        """
        self._address = address
        self._place = parse_folder_address(address)
        account = options.get("endpoint", self._place.account)
        self.store = f"{account}/{self._place.container}"
        named = {"account_name": urlsplit(self._place.account).netloc.partition(".")[0], **options}
        with require_extra("azure"):
            from azure.storage.filedatalake import FileSystemClient  # noqa: PLC0415 - an extra
        disable_sdk_logging()
        credential = blob_credential(named, client_id)
        self._files = FileSystemClient(account, self._place.container, credential, **_LIMITS)

    def files(self, since_us: int) -> Iterator[FoundFile]:
        """List the files that were modified at or after a time (us).

        With time 0, the files of all folders are listed in one sequence of pages. With another time, each folder is
        listed separately, so that folders of earlier days can be skipped.
        """
        root = self._place.path
        below = self._files_below(root, since_us)
        try:
            first = next(below, None)
        except FileGone:
            first = None
            if not self.find(root):
                raise WrongSetting(f"{self._address} does not exist. Give an existing folder.") from None
        if first is None:  # an empty folder, or not a folder
            file = self.find(root) if root else None
            below = iter([file] if file and file.size else [])
        listed = below if first is None else chain([first], below)
        return (found for found in listed if found.modified_us >= since_us)

    def find(self, path: str) -> FoundFile | None:
        """Return the file at a path; None if there is no file."""
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # noqa: PLC0415 - an extra

        try:
            properties: Any = self._files.get_file_client(path).get_file_properties()
        except ResourceNotFoundError:
            return None
        except AzureError as error:
            raise self._retry_error("read", error) from error
        if properties.get("metadata", {}).get("hdi_isfolder") or properties.get("is_directory"):
            return None
        modified_us, version = _to_us(properties["last_modified"]), properties["etag"].strip('"')
        return FoundFile(path, path, properties["size"], modified_us, version)

    def open(self, found: FoundFile) -> BinaryIO:
        """Open a file for reading. All ranges are read from the version of the file that the first read found."""
        raw = RangedFile(self._files.get_file_client(found.path), found, self._address)
        return cast("BinaryIO", io.BufferedReader(raw, RANGE_BYTES))

    def delete(self, found: FoundFile) -> bool:
        """Delete a file unless it has changed since it was listed. Return whether it was deleted."""
        from azure.core import MatchConditions  # noqa: PLC0415 - an extra
        from azure.core.exceptions import (  # noqa: PLC0415 - an extra
            AzureError,
            ResourceModifiedError,
            ResourceNotFoundError,
        )

        try:
            self._files.get_file_client(found.path).delete_file(
                etag=f'"{found.version}"', match_condition=MatchConditions.IfNotModified
            )
        except (ResourceModifiedError, ResourceNotFoundError):
            return False
        except AzureError as error:
            raise self._retry_error("delete", error) from error
        return True

    def _files_below(self, folder: str, since_us: int) -> Iterator[FoundFile]:
        from azure.core.exceptions import AzureError, ResourceNotFoundError  # noqa: PLC0415 - an extra

        folders = []
        try:
            for each in self._files.get_paths(folder or None, recursive=not since_us, max_results=PAGE):
                below = each.name.removeprefix(folder).strip("/").split("/")
                if any(map(is_ignored_name, below)):
                    continue
                if not each.is_directory:
                    modified_us, version = _to_us(each.last_modified), (each.etag or "").strip('"')
                    yield FoundFile(each.name, each.name, each.content_length, modified_us, version)
                elif since_us and not is_folder_of_earlier_day(below[-1], since_us):
                    folders.append(each.name)
        except ResourceNotFoundError as error:
            raise FileGone(folder) from error
        except AzureError as error:
            raise self._retry_error("list", error) from error
        for name in folders:
            with suppress(FileGone):  # it was deleted while its siblings were listed
                yield from self._files_below(name, since_us)

    def _retry_error(self, what: str, error: Exception) -> Retry:
        return Retry(f"Cannot {what} {self._address}: {explain_storage_error(error, 'PATH')}")


class RangedFile(io.RawIOBase):
    """A file in Azure that is read in ranges on demand."""

    def __init__(self, client: "DataLakeFileClient", found: FoundFile, address: str) -> None:
        """Store the parameters. The first read sends the first request."""
        self._client = client
        self._size = found.size
        self._at = 0
        self._version: str | None = None
        self._address = address

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position."""
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read a range at the current position.

        Raises FileGone if the file has changed since the first range was read.
        """
        from azure.core import MatchConditions  # noqa: PLC0415 - an extra
        from azure.core.exceptions import (  # noqa: PLC0415 - an extra
            AzureError,
            ResourceModifiedError,
            ResourceNotFoundError,
        )

        wanted = min(len(buffer), self._size - self._at)
        if wanted <= 0:
            return 0
        same: dict[str, Any] = (
            {"etag": self._version, "match_condition": MatchConditions.IfNotModified} if self._version else {}
        )
        try:
            answer = self._client.download_file(self._at, wanted, max_concurrency=1, **same)
            text = answer.readall()
        except (ResourceModifiedError, ResourceNotFoundError) as error:
            raise FileGone(self._address) from error
        except AzureError as error:
            raise Retry(f"Cannot read {self._address}: {explain_storage_error(error, 'PATH')}") from error
        self._version = answer.properties["etag"]
        buffer[: len(text)] = text
        self._at += len(text)
        return len(text)


def parse_folder_address(address: str) -> AzurePlace:
    """Parse `abfss://CONTAINER@HOST/PATH` or `https://HOST/CONTAINER/PATH`. Raises WrongSetting for other forms."""
    parts = urlsplit(address)
    path = unquote(parts.path).strip("/")
    container = parts.username
    if parts.scheme == "https":
        container, _, path = path.partition("/")
    host = parts.hostname or ""
    if parts.scheme not in ("abfss", "https") or not container or not _HOST.fullmatch(host) or parts.query:
        raise WrongSetting(
            f"{address.partition('?')[0]!r} is not a valid address of a folder in Azure. Write it like "
            "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/FOLDER, or of OneLake "
            "abfss://WORKSPACE@onelake.dfs.fabric.microsoft.com/LAKEHOUSE.Lakehouse/Files/FOLDER."
        )
    return AzurePlace(f"https://{host}", unquote(container), path)


def _to_us(moment: datetime) -> int:
    return int((moment.astimezone(UTC) - _EPOCH).total_seconds() * 1e6)
