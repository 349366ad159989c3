"""Store large bodies as objects in a bucket; a lifecycle rule of the bucket deletes them by age."""

import threading
from collections.abc import Mapping

from headwater.common.errors import LakeUnavailable, LogUnavailable
from headwater.intake.event_log import claim_name
from headwater.intake.event_log.sized_claims import check_whole_body, new_sized_key, size_in_key
from headwater.lake.object_store import ObjectStore

_LIMITS = {"timeout": "2s", "connect_timeout": "2s", "max_retries": "0", "retry_timeout": "2s"}
"""No retries: the receiver must respond with 503 within 2.5 s, and the parser retries by itself."""


class ObjectClaims:
    """Large bodies under one address, `s3://BUCKET/PATH` or `gs://BUCKET/PATH`; connects when first needed."""

    def __init__(self, url: str, options: Mapping[str, str]):
        """options: storage options of delta-rs."""
        self._url = url
        self._options = {**_LIMITS, **options}
        self._store: ObjectStore | None = None
        self._one_at_a_time = threading.Lock()

    def put(self, body: bytes) -> bytes:
        """Store a body in one request; it is durable when this returns.

        Returns its key, which contains the length; raises LogUnavailable.
        """
        key = new_sized_key(body)
        try:
            self._open_store().write(key, body)
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot store a large body. {error}") from error
        return key.encode()

    def get(self, key: bytes) -> bytes:
        """Return a body; raises GiveUp if it was deleted, LogUnavailable if it cannot be read now."""
        try:
            body = self._open_store().read(claim_name(key))
        except LakeUnavailable as error:
            raise LogUnavailable(f"Cannot read a large body. {error}") from error
        return check_whole_body(body, key, self._url)

    def size(self, key: bytes) -> int:
        """Return a body's length in bytes, 0 for an invalid key."""
        return size_in_key(key)

    def _open_store(self) -> ObjectStore:
        with self._one_at_a_time:
            self._store = self._store or ObjectStore(self._url, self._options, setting="claims_url")
            return self._store
