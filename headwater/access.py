"""Who may do what: keys as settings and the file of keys have them, and what a request may do that carries one."""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self
from urllib.parse import quote

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


Kind = Literal["key", "token", "command", "anyone"]


class Identity(BaseModel):
    """A person or program at an OIDC issuer; `issuer` and `subject` identify it, the other fields are for display."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str = Field(min_length=1, max_length=1000, description="`iss` of its tokens, without a `/` at the end.")
    subject: str = Field(min_length=1, max_length=255, description="`sub` of its tokens.")
    object_id: str = Field(default="", max_length=200, description="`oid` of its tokens, which Entra ID sets.")
    name: str = Field(default="", max_length=200, description="Its name, which may change.")

    def is_same(self, other: "Identity | None") -> bool:
        """Tell whether both are the same person or program, whatever they are called."""
        return other is not None and (self.issuer, self.subject) == (other.issuer, other.subject)


class Caller(NamedTuple):
    """Who sends a request; no namespaces means all of them.

    name: for display; identity: of a token or a session; is_person: whether a person signed in, not a program.
    """

    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str] = frozenset()
    datasets: frozenset[str] | None = None
    kind: Kind = "key"
    identity: Identity | None = None
    is_person: bool = False

    @property
    def label(self) -> str:
        """Return what records (events, refusals, admin log) show for this caller; no two kinds of caller share one.

        A key has its own name, a token `oidc:ISSUER#SUBJECT NAME`, a command `command:USER@MACHINE`.
        """
        if self.identity is not None:
            subject = quote(self.identity.subject, safe="@:|+=")
            object_id = f" oid:{quote(self.identity.object_id)}" if self.identity.object_id else ""
            return f"oidc:{quote(self.identity.issuer, safe=':/')}#{subject}{object_id} {self.name}"
        if self.kind == "command":
            return f"command:{self.name}"
        is_reserved = self.name in _RESERVED_NAMES or self.name.startswith(_RESERVED_PREFIXES)
        return f"key:{self.name}" if self.kind == "key" and is_reserved else self.name

    @property
    def title(self) -> str:
        """Return the caller as an error message names it."""
        return f"Key {self.name!r}" if self.kind == "key" else f"{'User' if self.is_person else 'Client'} {self.name!r}"

    def may(self, role: Role) -> bool:
        """Tell whether the caller has a role; `admin` may do everything."""
        return role in self.roles or "admin" in self.roles

    def may_write(self, namespace: str) -> bool:
        """Tell whether the caller may send events about a namespace."""
        return not self.namespaces or namespace in self.namespaces


NOBODY = "nobody"
"""Label of a request without a valid credential."""

_RESERVED_NAMES = ("anyone", NOBODY)
_RESERVED_PREFIXES = ("key:", "oidc:", "command:")

ANYONE = Caller("anyone", frozenset({"admin"}), kind="anyone")


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
    made_by: str = Field(default="", description="Who made it, for display.")
    owner: Identity | None = Field(default=None, description="The person who may list and revoke it.")

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
