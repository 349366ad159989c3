"""Keys, roles, and the caller of a request with its permissions."""

import hashlib
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, NamedTuple, Self
from urllib.parse import quote

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, PlainSerializer, SecretStr, SerializationInfo
from pydantic import model_validator as validator

REVEAL_SECRETS = "reveal"
"""Serialization context with which secrets are written in clear text, to pass settings to a child process."""


def _serialize_secret(secret: SecretStr | None, info: SerializationInfo) -> str | None:
    if secret is None:
        return None
    return secret.get_secret_value() if info.context == REVEAL_SECRETS else "***"


Secret = Annotated[SecretStr, PlainSerializer(_serialize_secret)]
"""A setting whose value is never printed."""

Role = Literal["write", "read", "admin"]


CallerKind = Literal["key", "token", "command", "anyone"]


class Identity(BaseModel):
    """A person or program at an OIDC issuer; `issuer` and `subject` identify it, the other fields are for display."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    issuer: str = Field(min_length=1, max_length=1000, description="`iss` of its tokens, without a `/` at the end.")
    subject: str = Field(min_length=1, max_length=255, description="`sub` of its tokens.")
    object_id: str = Field(default="", max_length=200, description="`oid` of its tokens, which Entra ID sets.")
    name: str = Field(default="", max_length=200, description="Its name, which may change.")

    def is_same(self, other: "Identity | None") -> bool:
        """Return whether both are the same person or program; names are ignored."""
        return other is not None and (self.issuer, self.subject) == (other.issuer, other.subject)


class Caller(NamedTuple):
    """The sender of a request, with its permissions.

    name: name for display. namespaces: job namespaces that the caller may write, empty for all. datasets: dataset
    namespaces that the caller may change, see `Key`. identity: identity from a token or session, None for a key.
    is_person: whether a person signed in.
    """

    name: str
    roles: frozenset[Role]
    namespaces: frozenset[str] = frozenset()
    datasets: frozenset[str] | None = None
    kind: CallerKind = "key"
    identity: Identity | None = None
    is_person: bool = False

    @property
    def label(self) -> str:
        """The text that names the caller in events, rejections and the admin log. It is unique across kinds of callers.

        The label is the name of a key, `oidc:ISSUER#SUBJECT NAME` for a token, `command:USER@MACHINE` for a command.
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
        """The text that names the caller in error messages."""
        return f"Key {self.name!r}" if self.kind == "key" else f"{'User' if self.is_person else 'Client'} {self.name!r}"

    def has_role(self, role: Role) -> bool:
        """Return whether the caller has a role; `admin` includes all roles."""
        return role in self.roles or "admin" in self.roles

    def may_write(self, namespace: str) -> bool:
        """Return whether the caller may send events of a namespace."""
        return not self.namespaces or namespace in self.namespaces


NOBODY = "nobody"
"""Label of a request without a valid credential."""

_RESERVED_NAMES = ("anyone", NOBODY)
_RESERVED_PREFIXES = ("key:", "oidc:", "command:")

ANYONE = Caller("anyone", frozenset({"admin"}), kind="anyone")


class Key(BaseModel):
    """The key of a producer or reader. Settings contain its secret in clear text, the key file its SHA-256.

    Secrets made by `headwater keys` are 256 random bits, so nobody can guess a secret from its hash. A slow password
    hash would make each request slower without adding protection.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(min_length=1, max_length=200, description="Shown in events and metrics instead of the key.")
    key: Secret | None = Field(default=None, min_length=8, description="The secret that the producer sends, in clear.")
    sha256: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="SHA-256 of the secret, instead.")
    roles: frozenset[Role] = Field(default=frozenset({"write"}), description="write, read, admin.")
    namespaces: frozenset[str] = Field(default=frozenset(), description="Job or dataset namespaces it may write.")
    datasets: frozenset[str] | None = Field(
        default=None,
        description="Namespaces in which it may drop, rename, truncate and tag datasets; `*` for all.",
    )
    expires: AwareDatetime | None = Field(default=None, description="Time at which it expires.")
    id: str = Field(default="", description="Id, which distinguishes keys of the same name.")
    made: AwareDatetime | None = Field(default=None, description="Time of creation.")
    made_by: str = Field(default="", description="Label of the creator, for display.")
    owner: Identity | None = Field(default=None, description="The person who may list and revoke it.")

    @validator(mode="after")
    def _check_one_secret(self) -> Self:
        if (self.key is None) == (self.sha256 is None):
            raise ValueError(f"key {self.name!r} needs either `key` or `sha256`")
        return self

    @property
    def digest(self) -> bytes:
        """The SHA-256 of the secret."""
        return bytes.fromhex(self.sha256) if self.sha256 else digest_of(self.key.get_secret_value() if self.key else "")

    @cached_property
    def caller(self) -> Caller:
        """The caller of requests with this key."""
        return Caller(self.name, self.roles, self.namespaces, self.datasets)

    def is_valid(self, at: datetime) -> bool:
        """Return whether the key has not expired."""
        return self.expires is None or at < self.expires


def digest_of(secret: str) -> bytes:
    """Return the SHA-256 of a secret."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()
