"""Claims as objects of a bucket; a lifecycle rule of the bucket deletes them by age."""

import secrets
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from headwater.errors import GiveUp, LogUnavailable
from headwater.eventlog import claim_name
from headwater.eventlog.object_buckets import bucket_faults, open_bucket
from headwater.storage_faults import explain

if TYPE_CHECKING:
    from obstore.store import ObjectStore

_REQUEST_S = 2.0
"""And no second try: the receiver answers 503 within 2.5 s, and the parser tries again by itself."""


class ObjectClaims:
    """Claims under one address, `s3://BUCKET/PATH` or `gs://BUCKET/PATH`. Connects when it is first needed."""

    def __init__(self, url: str, options: Mapping[str, str]):
        """Name the place. options: storage options of delta-rs."""
        self._url = url
        self._options = options
        self._store: ObjectStore | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Keep a body in one request; durable when this returns.

        Returns its key, which tells the length; raises LogUnavailable.
        """
        key = f"{secrets.token_hex(16)}-{len(body)}"
        store = self._open()
        try:
            store.put(key, body, use_multipart=False)
        except bucket_faults() as error:
            raise self._unavailable("keep", error) from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it is gone, LogUnavailable if it cannot be read right now."""
        store = self._open()
        try:
            body = bytes(store.get(claim_name(key)).bytes())
        except bucket_faults() as error:
            if isinstance(error, FileNotFoundError) and "NoSuchBucket" not in str(error):
                raise GiveUp(f"The body of this event, {key.decode()}, is gone from {self._url}.") from error
            raise self._unavailable("read", error) from error
        if len(body) != self.size(key):
            raise LogUnavailable(f"Of a large body in {self._url} only a part could be read. It is tried again.")
        return body

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 for what is no key."""
        length = key.rpartition(b"-")[2]
        return int(length) if length.isdigit() else 0

    def _open(self) -> "ObjectStore":
        with self._one_at_a_time:
            self._store = self._store or open_bucket(self._url, self._options, seconds=_REQUEST_S)
            return self._store

    def _unavailable(self, what: str, error: Exception) -> LogUnavailable:
        return LogUnavailable(f"Cannot {what} a large body in {self._url}: {explain(error, 'claims_url')}")
