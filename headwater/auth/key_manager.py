"""List, create, assign and revoke keys, within the permissions of the caller."""

import hashlib
import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from pydantic import ValidationError

from headwater.auth.access import Caller, Identity, Key, Role
from headwater.auth.key_file import KeyFile
from headwater.common.durations import seconds
from headwater.common.errors import HeadwaterError, NotConfigured, WrongQuestion, WrongSetting

NEVER = "never"
UNASSIGNED = "unassigned"
"""Shown as the owner of a key that no person owns: only administrators list and revoke it."""

MAX_NAME_PREFIX = 80
_NAME = re.compile(r"[\w.@+-][\w.@+ -]{0,98}")


class KeyRequest(NamedTuple):
    """A request for a new key. lasts: duration such as `90d`, or NEVER; datasets: empty for the namespaces."""

    name: str
    roles: Sequence[Role]
    namespaces: Sequence[str] = ()
    datasets: Sequence[str] = ()
    lasts: str = "365d"


class KeyManager:
    """Manages the keys of a file. Keys of the settings are only listed."""

    def __init__(self, file: KeyFile, fixed: Sequence[Key], issuer: str | None = None):
        """Manage the keys of `file`. fixed: keys of the settings; issuer: default issuer of owners."""
        self._file = file
        self._fixed = fixed
        self._issuer = issuer

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """Return the keys without their hashes: all for an administrator, their own for a person."""
        used = self._file.last_used()
        mine = [key for key in self._file.all() if _may_manage(caller, key)]
        fixed = list(self._fixed) if caller.may("admin") else []
        return [_shown(key, used.get(key.id) if key.id else None) for key in (*mine, *fixed)]

    def add(self, caller: Caller, wanted: KeyRequest) -> dict[str, Any]:
        """Create a key. The answer contains the secret, which cannot be shown again.

        Raises WrongQuestion if the caller may not create such a key. Only administrators and signed-in persons create
        keys; otherwise a stolen key could create another one before it is revoked.
        """
        if caller.kind == "anyone":  # the first key ends open access, so only the owner of the folder may create it
            raise WrongQuestion(
                "There are no keys yet, and the first key cannot be created over HTTP. Run `headwater keys add`."
            )
        namespaces, datasets = frozenset(wanted.namespaces), frozenset(wanted.datasets)
        name = wanted.name
        if not _NAME.fullmatch(name):
            raise WrongQuestion(
                f"{name[:100]!r} is not a valid name of a key. Use 1 to 99 letters, digits, spaces and . @ + - _"
            )
        if not caller.may("admin"):
            _check_own(caller, frozenset(wanted.roles), namespaces)
            name, namespaces, datasets = _own_name(caller, name), namespaces or caller.namespaces, frozenset[str]()
        try:
            lasts = None if wanted.lasts == NEVER else timedelta(seconds=seconds(wanted.lasts))
            expires = datetime.now(UTC) + lasts if lasts else None
            key, secret = self._file.add(
                Key(
                    name=name, sha256="0" * 64, roles=frozenset(wanted.roles), namespaces=namespaces,
                    datasets=datasets or None, expires=expires, made_by=caller.label,
                    owner=caller.identity if caller.is_person else None,
                )
            )  # fmt: skip
        except (WrongSetting, OverflowError) as error:
            raise WrongQuestion(str(error)) from error
        return {**_shown(key, None), "key": secret}

    def revoke(self, caller: Caller, which: str) -> list[dict[str, Any]]:
        """Revoke the key with this id, or all keys with this name. Raises NotConfigured if the caller has none."""
        gone = self._file.revoke(lambda key: which in (key.id, key.name) and _may_manage(caller, key))
        if not gone:
            raise self._unknown(caller, which, "Remove it from the settings.")
        return [_shown(key, None) for key in gone]

    def assign(
        self, which: str, subject: str, issuer: str | None = None, name: str | None = None
    ) -> list[dict[str, Any]]:
        """Set the owner of the key with this id, or of all keys with this name; for administrators.

        subject, issuer: `sub` and `iss` of the person's tokens; name: for display.
        Raises WrongQuestion if the owner is not valid, NotConfigured if there is no such key.
        """
        issuer = issuer or self._issuer
        if not issuer:
            raise WrongQuestion("The setting `oidc_issuer` is not set. Pass the issuer of the owner's tokens.")
        try:
            owner = Identity(issuer=issuer.rstrip("/"), subject=subject, name=name or subject[:200])
        except ValidationError as error:
            raise WrongQuestion(
                "The subject must have 1 to 255 characters. Use `sub` of the owner's tokens."
            ) from error
        changed = self._file.assign(lambda key: which in (key.id, key.name), owner)
        if not changed:
            raise self._unknown(None, which, "Only keys of the file can have an owner.")
        return [_shown(key, None) for key in changed]

    def _unknown(self, caller: Caller | None, which: str, fix: str) -> HeadwaterError:
        """Return the error for a key that is not in the file. caller: None for an administrator."""
        if (caller is None or caller.may("admin")) and any(key.name == which for key in self._fixed):
            return WrongQuestion(f"Key {which[:100]!r} is in the settings. {fix}")
        return NotConfigured("key", which, [])


def _may_manage(caller: Caller, key: Key) -> bool:
    """Return whether a caller may list and revoke a key. Only the identity counts, because names are not unique."""
    return caller.may("admin") or (caller.is_person and key.owner is not None and key.owner.is_same(caller.identity))


def _own_name(caller: Caller, name: str) -> str:
    """Return the name of a person's own key. It contains a hash of the identity, so it is unique among persons."""
    assert caller.identity is not None  # noqa: S101 - _check_own: a person
    identity = f"{caller.identity.issuer}\n{caller.identity.subject}"
    mark = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{caller.name[:MAX_NAME_PREFIX]}#{mark}:{name}"


def _check_own(caller: Caller, roles: frozenset[Role], namespaces: frozenset[str]) -> None:
    if not caller.is_person or caller.identity is None:
        raise WrongQuestion(
            "Only administrators and signed-in persons can create keys. Sign in, or ask an administrator."
        )
    if not roles <= caller.roles or (caller.namespaces and not namespaces <= caller.namespaces):
        raise WrongQuestion(
            f"A key cannot have more permissions than its creator. Choose among your roles, "
            f"{', '.join(sorted(caller.roles))}, and your namespaces."
        )


def _shown(key: Key, used: float | None) -> dict[str, Any]:
    return {
        "id": key.id, "name": key.name, "roles": sorted(key.roles), "namespaces": sorted(key.namespaces),
        "datasets": None if key.datasets is None else sorted(key.datasets), "made": _text(key.made),
        "made_by": key.made_by, **_shown_owner(key.owner), "expires": _text(key.expires),
        "valid": key.is_valid(datetime.now(UTC)),
        "last_used": _text(datetime.fromtimestamp(used, UTC)) if used else None, "kept": _storage_kind(key),
    }  # fmt: skip


def _shown_owner(owner: Identity | None) -> dict[str, str | None]:
    return {
        "owner": (owner.name or owner.subject) if owner else UNASSIGNED,
        "owner_issuer": owner.issuer if owner else None,
        "owner_subject": owner.subject if owner else None,
        "owner_object_id": (owner.object_id or None) if owner else None,
    }


def _storage_kind(key: Key) -> str:
    return "file" if key.id else "settings, in clear" if key.key else "settings"


def _text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None
