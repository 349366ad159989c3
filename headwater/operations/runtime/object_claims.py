"""Store large bodies as objects in a bucket; a lifecycle rule of the bucket deletes them by age."""

import threading
from collections.abc import Mapping

from headwater.common.errors import LakeUnavailable, LogUnavailable
from headwater.intake.event_log import claim_name
from headwater.intake.event_log.sized_claims import check_whole_body, new_sized_key, size_in_key
from headwater.lake.object_store import ObjectStore

_LIMITS = {"timeout": "2s", "connect_timeout": "2s", "max_retries": "0", "retry_timeout": "2s"}
"""Options of the client. It does not retry: the receiver must answer within 2.5 s, and the parser retries itself."""


class ObjectClaims:
    """Large bodies at `s3://BUCKET/PATH` or `gs://BUCKET/PATH`. The first request opens the connection."""

    def __init__(self, url: str, options: Mapping[str, str]):
        """options: storage options of delta-rs."""
        self._url = url
        self._options = {**_LIMITS, **options}
        self._store: ObjectStore | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Store a body durably in one request. Returns the key of the body, which contains its length.

        Raises LogUnavailable.
        """
        key = new_sized_key(body)
        try:
            self._open_store().write(key, body)
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot store a large body. {error}") from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body. Raises GiveUp if the body was deleted, LogUnavailable if it cannot be read now."""
        try:
            body = self._open_store().read(claim_name(key))
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot read a large body. {error}") from error
        return check_whole_body(body, key, self._url)

    def size(self, key: bytes) -> int:
        """Return the length of a body in bytes, 0 for an invalid key."""
        return size_in_key(key)

    def _open_store(self) -> ObjectStore:
        with self._one_at_a_time:
            self._store = self._store or ObjectStore(self._url, self._options, setting="claims_url")
            return self._store
