"""A folder in a bucket of S3 or a compatible service; writes each file in one request."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from headwater.common.errors import Retry, WrongSetting
from headwater.common.extras import require_extra
from headwater.common.storage_faults import explain_storage_error
from headwater.sinks.connecting.folders import REQUEST_S, BoundedCalls

_OPTION_NAMES = {
    "aws_region": "region_name",
    "aws_endpoint_url": "endpoint_url",
    "aws_access_key_id": "aws_access_key_id",
    "aws_secret_access_key": "aws_secret_access_key",
    "aws_session_token": "aws_session_token",
}
"""Maps the option names of delta-rs to the names of botocore."""

_LIMITS: dict[str, Any] = {
    "connect_timeout": 10,
    "read_timeout": 60,
    "retries": {"total_max_attempts": 1},
    "request_checksum_calculation": "when_required",  # compatible services may not support checksums
}
"""Timeouts in seconds. The client does not retry, because the caller of the folder retries."""


class S3Folder:
    """A folder under one `s3://` address; it connects when the first file is written."""

    def __init__(self, url: str, options: Mapping[str, str], deadline_s: float = REQUEST_S) -> None:
        """Raise WrongSetting if botocore is missing or an option is unknown.

        options: the options in `_OPTION_NAMES`, and `aws_profile`; without keys, this machine's credentials are used.
        deadline_s: maximum time of one request with its response, in seconds.
        """
        if unknown := options.keys() - _OPTION_NAMES.keys() - {"aws_profile"}:
            known = ", ".join((*_OPTION_NAMES, "aws_profile"))
            raise WrongSetting(f"Unknown option {min(unknown)[:60]!r} of {url}. Known options: {known}.")
        with require_extra("aws"):
            from botocore.config import Config  # noqa: PLC0415 - an extra
            from botocore.exceptions import BotoCoreError, ClientError  # noqa: PLC0415 - an extra
            from botocore.session import Session  # noqa: PLC0415 - an extra
        parts = urlsplit(url)
        self._url = url
        self._bucket = parts.netloc
        self._prefix = f"{parts.path.strip('/')}/".removeprefix("/")
        self._faults = (BotoCoreError, ClientError)
        self._settings = {_OPTION_NAMES[name]: value for name, value in options.items() if name in _OPTION_NAMES}
        self._session = Session(profile=options.get("aws_profile"))
        self._config = Config(**_LIMITS)
        self._client: Any = None
        self._calls = BoundedCalls(deadline_s)

    def write(self, path: str, lines: Sequence[bytes]) -> None:
        """Write a file, replacing an existing file at this path; raises Retry if the request fails."""
        self._call_storage("write", path, lambda client, named: client.put_object(**named, Body=b"".join(lines)))

    def check(self) -> str:
        """Write and delete a test file."""
        self.write("headwater.check", [])
        self._call_storage("delete", "headwater.check", lambda client, named: client.delete_object(**named))
        return f"{self._url} can be written"

    def close(self) -> None:
        """Close the connection."""
        if self._client:
            self._client.close()
            self._client = None

    def _call_storage(self, operation: str, path: str, request: Callable[[Any, Mapping[str, str]], object]) -> None:
        def send_request() -> None:  # creating the client may request credentials, so it needs the deadline, too
            client = self._client = self._client or self._session.create_client(
                "s3", config=self._config, **self._settings
            )
            request(client, {"Bucket": self._bucket, "Key": self._prefix + path})

        try:
            self._calls.run_bounded(send_request)
        except Retry as error:
            self._client = None  # the abandoned request keeps its connection
            raise Retry(f"Cannot {operation} in {self._url}: {error}") from error
        except self._faults as error:
            raise Retry(f"Cannot {operation} in {self._url}: {explain_storage_error(error, 'folder')}") from error
