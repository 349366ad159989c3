"""Claims as objects of a bucket; a lifecycle rule of the bucket deletes them by age."""

import secrets
import threading
from collections.abc import Mapping

from headwater.errors import GiveUp, LakeUnavailable, LogUnavailable
from headwater.eventlog import claim_name
from headwater.lake.object_store import ObjectStore

_LIMITS = {"timeout": "2s", "connect_timeout": "2s", "max_retries": "0", "retry_timeout": "2s"}
"""And no second try: the receiver answers 503 within 2.5 s, and the parser tries again by itself."""


class ObjectClaims:
    """Claims under one address, `s3://BUCKET/PATH` or `gs://BUCKET/PATH`. Connects when it is first needed."""

    def __init__(self, url: str, options: Mapping[str, str]):
        """Name the place. options: storage options of delta-rs."""
        self._url = url
        self._options = {**_LIMITS, **options}
        self._store: ObjectStore | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Keep a body in one request; durable when this returns.

        Returns its key, which tells the length; raises LogUnavailable.
        """
        key = f"{secrets.token_hex(16)}-{len(body)}"
        try:
            self._open().write(key, body)
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot keep a large body. {error}") from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it is gone, LogUnavailable if it cannot be read right now."""
        try:
            body = self._open().read(claim_name(key))
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot read a large body. {error}") from error
        if body is None:
            raise GiveUp(f"The body of this event, {key.decode()}, is gone from {self._url}.")
        if len(body) != self.size(key):
            raise LogUnavailable(f"Of a large body in {self._url} only a part could be read. It is tried again.")
        return body

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 for what is no key."""
        length = key.rpartition(b"-")[2]
        return int(length) if length.isdigit() else 0

    def _open(self) -> ObjectStore:
        with self._one_at_a_time:
            self._store = self._store or ObjectStore(self._url, self._options, setting="claims_url")
            return self._store
