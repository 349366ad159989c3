"""Who may do what: keys as settings and the file of keys have them, and what a request may do that carries one."""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, SerializationInfo
from pydantic import model_validator as validator

REVEAL = "reveal"
"""Serialization context in which secrets are written out: only for a process of ours."""


def _shown(secret: SecretStr | None, info: SerializationInfo) -> str | None:
    if secret is None:
        return None
    return secret.get_secret_value() if info.context == REVEAL else "***"


Secret = Annotated[SecretStr, PlainSerializer(_shown)]
"""A setting that is never shown."""

Role = Literal["write", "read", "admin"]


class Caller(NamedTuple):
    """Who a request is of, by whatever showed it; no namespaces means all of them.

    is_person: signed in at an OIDC issuer, not a key.
    """

    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str] = frozenset()
    datasets: frozenset[str] | None = None
    is_person: bool = False

    def may(self, role: Role) -> bool:
        """Tell whether the caller has a role; `admin` may do everything."""
        return role in self.roles or "admin" in self.roles

    def may_write(self, namespace: str) -> bool:
        """Tell whether the caller may send events about a namespace."""
        return not self.namespaces or namespace in self.namespaces


ANYONE = Caller("anyone", frozenset({"admin"}))


class Key(BaseModel):
    """One producer's or reader's key: in clear, as settings may have it, or its SHA-256, as `headwater keys` keeps it.

    A secret that `headwater keys` makes is 256 random bits: nobody guesses it from its hash, at any speed, so that a
    slow hash, made for words that people choose, would cost each request and protect nothing.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200, description="Shown in events and metrics instead of the key.")
    key: Secret | None = Field(default=None, min_length=8, description="The secret the producer sends, in clear.")
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="Its SHA-256 in place of it.")
    roles: frozenset[Role] = Field(default=frozenset({"write"}), description="write, read, admin.")
    namespaces: frozenset[str] = Field(default=frozenset(), description="Job or dataset namespaces it may write.")
    datasets: frozenset[str] | None = Field(
        default=None, description="Dataset namespaces that it may drop, rename, truncate, tag in; `*` for all."
    )
    expires: AwareDatetime | None = Field(default=None, description="From then on it is refused.")
    id: str = Field(default="", description="Tells two keys of one name apart.")
    made: AwareDatetime | None = Field(default=None, description="When it was made.")
    made_by: str = Field(default="", description="Who made it.")

    @validator(mode="after")
    def _is_one(self) -> Self:
        if (self.key is None) == (self.sha256 is None):
            raise ValueError(f"key {self.name!r} needs either `key` or `sha256`")
        return self

    @property
    def digest(self) -> bytes:
        """What it is found by."""
        return bytes.fromhex(self.sha256) if self.sha256 else digest_of(self.key.get_secret_value() if self.key else "")

    @cached_property
    def caller(self) -> Caller:
        """What who sends it may do."""
        return Caller(self.name, self.roles, self.namespaces, self.datasets)

    def is_valid(self, at: datetime) -> bool:
        """Tell whether it has not expired."""
        return self.expires is None or at < self.expires


def digest_of(secret: str) -> bytes:
    """Return what a secret is known by."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
