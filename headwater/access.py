"""Who may do what: keys per producer or reader, each with roles and, if wanted, namespaces."""

import hashlib
import hmac
from collections.abc import Mapping, Sequence
from typing import Annotated, Literal
from urllib.parse import parse_qs

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, SerializationInfo

REVEAL = "reveal"
"""Serialization context in which secrets are written out: only for a process of ours."""


def _shown(secret: SecretStr, info: SerializationInfo) -> str:
    return secret.get_secret_value() if info.context == REVEAL else "***"


Secret = Annotated[SecretStr, PlainSerializer(_shown)]
"""A setting that is never shown."""

Role = Literal["write", "read", "admin"]


class Key(BaseModel):
    """One producer's or reader's key; `admin` may do everything, no namespaces means all of them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, description="Shown in events and metrics instead of the key.")
    key: Secret = Field(min_length=8, description="The secret the producer sends.")
    roles: frozenset[Role] = Field(default=frozenset({"write"}), description="write, read, admin.")
    namespaces: frozenset[str] = Field(default=frozenset(), description="Job or dataset namespaces it may write.")
    datasets: frozenset[str] | None = Field(
        default=None, description="Dataset namespaces that it may drop, rename, truncate, tag in; `*` for all."
    )

    def may(self, role: Role) -> bool:
        """Tell whether this key has a role."""
        return role in self.roles or "admin" in self.roles

    def may_write(self, namespace: str) -> bool:
        """Tell whether this key may send events about a namespace."""
        return not self.namespaces or namespace in self.namespaces


ANYONE = Key(name="anyone", key=SecretStr("loopback"), roles=frozenset({"admin"}))


class Access:
    """Finds the key that a request carries."""

    def __init__(self, keys: Sequence[Key]):
        """Without keys everybody is `anyone`: settings allow that on loopback only."""
        self._digests = [(_digest(key.key.get_secret_value()), key) for key in keys]

    def find(self, headers: Mapping[str, str], query: str) -> Key | None:
        """Return the key of a request, None if it is missing or wrong. Takes the same time for every wrong key.

        headers: lower-case names. Looks at `Authorization: Bearer`, `x-functions-key` and `?code=`, in this order.
        """
        if not self._digests:
            return ANYONE
        digest = _digest(_presented(headers, query))
        found = None
        for known, key in self._digests:
            if hmac.compare_digest(known, digest):
                found = key
        return found


def _presented(headers: Mapping[str, str], query: str) -> str:
    scheme, _, token = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer" and token:
        return token.strip()
    return headers.get("x-functions-key") or next(iter(parse_qs(query).get("code", [])), "")


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
