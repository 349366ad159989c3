"""Claims with keys that contain the length of the body.

So the length is known without a request, and incomplete downloads are detected.
"""

import secrets

from headwater.common.errors import GiveUp, LogUnavailable


def new_sized_key(body: bytes) -> str:
    """Return a new key for a body."""
    return f"{secrets.token_hex(16)}-{len(body)}"


def size_in_key(key: bytes) -> int:
    """Return the length of the body that a key contains (bytes); 0 for an invalid key."""
    length = key.rpartition(b"-")[2]
    return int(length) if length.isdigit() else 0


def check_whole_body(body: bytes | None, key: bytes, url: str) -> bytes:
    """Check and return a downloaded body. Raises GiveUp if it is missing, and LogUnavailable if it is incomplete.

    body: the downloaded bytes, or None if there is no blob. key: key of the claim. url: location for messages.
    """
    if body is None:
        raise GiveUp(f"The body of this event, {key.decode()}, is missing in {url}.")
    if len(body) != size_in_key(key):
        raise LogUnavailable(f"A large body in {url} was read only in part. Headwater tries again.")
    return body
