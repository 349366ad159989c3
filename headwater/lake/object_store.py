"""Files in the lake that are not part of tables, in a folder or an object store. Writes are atomic.

The module uses obstore, which has the same client and options as delta-rs and does not block other threads.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, UnknownConfigurationKeyError
from obstore.store import LocalStore, from_url

from headwater.common.errors import LakeUnavailable
from headwater.common.storage_faults import explain_storage_error
from headwater.common.storage_options import check_options, option_seconds

T = TypeVar("T")

_OF_CLIENT = re.compile(
    "allow_http|allow_invalid_certificates|connect_timeout|default_content_type|http[12]_.*|pool_.*|proxy_.*|"
    "randomize_addresses|timeout|user_agent"
)
"""Client options. obstore requires them in a separate argument and panics if they are among the store options."""
_NO_BUCKET = re.compile("NoSuchBucket|The specified bucket does not exist|ContainerNotFound|FilesystemNotFound")
"""Errors that mean a missing bucket, not a missing file."""
_AT_ONCE = 8 << 20
"""Bytes per request. Requests are kept small, because the timeout of a request does not depend on its size."""
_OF_RETRIES = ("max_retries", "retry_timeout")
_UNKNOWN = re.compile(r"Configuration key: '([^']*)'")


class StoredFile(NamedTuple):
    """A file: its name relative to the lake, its size, and when it was written, by the store's clock (us, UTC)."""

    name: str
    size: int
    at_us: int


class ObjectStore:
    """The files in one folder or URI. Thread-safe."""

    def __init__(self, address: str, options: Mapping[str, str], *, setting: str = "lake"):
        """Set up the client without connecting.

        options: storage options as for delta-rs. setting: the name of the setting that contains the address, for error
        messages. Raises WrongSetting if an option that must be a number or a time has another value.
        """
        check_options(options, f"options of `{setting}`")
        self.address = address
        self._setting = setting
        self._store = self._translate_errors(lambda: _open_store(address, options))

    def create(self, name: str, content: bytes) -> bool:
        """Create a file. Returns False and writes nothing if the file exists. Raises LakeUnavailable."""
        try:
            self._translate_errors(lambda: obstore.put(self._store, name, content, mode="create", use_multipart=False))
        except FileExistsError:
            return False
        return True

    def write(self, name: str, content: bytes) -> None:
        """Write or replace a file atomically. Raises LakeUnavailable."""
        self._translate_errors(lambda: obstore.put(self._store, name, content, use_multipart=False))

    def read(self, name: str) -> bytes | None:
        """Return the content of a file, or None if it does not exist. Raises LakeUnavailable."""
        try:
            return self._translate_errors(lambda: bytes(obstore.get(self._store, name).bytes()))
        except FileNotFoundError:
            return None

    def pieces(self, name: str) -> Iterator[bytes]:
        """Yield the content of a file in pieces, all from one version of the file.

        Raises FileNotFoundError, and LakeUnavailable, also if the file is replaced meanwhile.
        """
        meta = self._translate_errors(lambda: obstore.head(self._store, name))
        for at in range(0, meta["size"], _AT_ONCE):
            part: Any = {"range": (at, min(at + _AT_ONCE, meta["size"])), "if_match": meta["e_tag"]}
            yield self._translate_errors(lambda part=part: bytes(obstore.get(self._store, name, options=part).bytes()))  # type: ignore[misc]

    def put(self, name: str, path: Path) -> None:
        """Upload a file from the local disk as `name`, replacing an existing file. Raises LakeUnavailable."""
        self._translate_errors(lambda: obstore.put(self._store, name, path, chunk_size=_AT_ONCE, max_concurrency=2))

    def files(self, folder: str) -> list[StoredFile]:
        """List the files in a folder recursively, sorted by name. Raises LakeUnavailable."""
        found = self._translate_errors(lambda: [each for some in obstore.list(self._store, folder) for each in some])
        files = (StoredFile(each["path"], each["size"], int(each["last_modified"].timestamp() * 1e6)) for each in found)
        return sorted(files)

    def delete(self, names: Iterable[str]) -> None:
        """Delete files. Ignores files that do not exist. Raises LakeUnavailable."""
        for name in names:
            try:
                self._translate_errors(lambda name=name: obstore.delete(self._store, name))  # type: ignore[misc]
            except FileNotFoundError:
                continue

    def _translate_errors(self, call: Callable[[], T]) -> T:
        try:
            return call()
        except AlreadyExistsError as error:
            raise FileExistsError(str(error)) from error
        except (BaseError, OSError) as error:
            if isinstance(error, FileNotFoundError) and not _NO_BUCKET.search(str(error)):
                raise
            raise LakeUnavailable(
                f"Cannot use {self.address}: {explain_storage_error(error, self._setting)}"
            ) from error


def _open_store(address: str, options: Mapping[str, str]) -> Any:
    if "://" not in address:
        return LocalStore(address, automatic_cleanup=True, mkdir=True)
    named = {name.lower(): value for name, value in options.items()}
    named = {
        (short if _OF_CLIENT.fullmatch(short := name.removeprefix("aws_")) else name): named[name] for name in named
    }
    client = {name: value for name, value in named.items() if _OF_CLIENT.fullmatch(name)}
    retries = _retry_options({name: named[name] for name in _OF_RETRIES if name in named})
    config = {name: value for name, value in named.items() if name not in client and name not in _OF_RETRIES}
    while True:
        try:
            return from_url(address, config=config, client_options=client, retry_config=retries)  # type: ignore[call-overload]
        except UnknownConfigurationKeyError as error:  # an option that only delta-rs knows
            unknown = _UNKNOWN.search(str(error))
            if unknown is None or config.pop(unknown[1], None) is None:
                raise


def _retry_options(options: Mapping[str, str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if "max_retries" in options:
        found["max_retries"] = int(options["max_retries"])
    if "retry_timeout" in options:
        found["retry_timeout"] = timedelta(seconds=option_seconds(options["retry_timeout"]) or 0.0)
    return found
