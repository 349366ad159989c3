"""Claims whose keys tell how long their bodies are: no store is asked for it, and what was cut off is known."""

import secrets

from headwater.errors import GiveUp, LogUnavailable


def sized_key(body: bytes) -> str:
    """Return a new key for a body."""
    return f"{secrets.token_hex(16)}-{len(body)}"


def size_in(key: bytes) -> int:
    """Return a body's length in bytes, 0 for what is no key."""
    length = key.rpartition(b"-")[2]
    return int(length) if length.isdigit() else 0


def whole_body(body: bytes | None, key: bytes, url: str) -> bytes:
    """Return a body that was read; raises GiveUp if there is none, LogUnavailable if it is not all of it."""
    if body is None:
        raise GiveUp(f"The body of this event, {key.decode()}, is gone from {url}.")
    if len(body) != size_in(key):
        raise LogUnavailable(f"Of a large body in {url} only a part could be read. It is tried again.")
    return body
