"""Keys of the API: the key file with their hashes, and the rules for listing, creating, assigning and revoking keys."""

import hashlib
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, Protocol

from pydantic import TypeAdapter, ValidationError

from headwater.auth.access import Caller, Identity, Key, Role, digest_of
from headwater.common.durations import parse_duration_s
from headwater.common.errors import HeadwaterError, NotConfigured, WrongQuestion, WrongSetting

log = logging.getLogger(__name__)

PREFIX = "hw_"
"""Prefix of generated secrets, which makes leaked ones recognizable."""

MAX_KEYS_PER_NAME = 2
"""Maximum number of valid keys with one name: the key in use, and its replacement during a rotation."""

USE_INTERVAL_S = 600.0
"""Minimum seconds between two writes of a key's last use. Stored times of last use are no more precise than this."""


class _NoKeyMatches(Exception):
    """No key of the file matches."""


_KEYS = TypeAdapter(tuple[Key, ...])


class TextStore(Protocol):
    """A small text, such as a file, that several processes read and change."""

    def read(self) -> str | None:
        """Return the text, None if there is none yet. Raises LakeUnavailable or WrongSetting."""

    def change(self, edit: Callable[[str | None], str]) -> None:
        """Replace the text atomically by the result of `edit`.

        edit: maps the current text, None if there is none, to the new text. It may be called several times.
        """


class KeyFile:
    """The keys of the key file by digest, and the times of their last use."""

    def __init__(self, store: TextStore, uses: TextStore, reload_every_s: float = 0.25):
        """store: stores the keys. uses: stores the last use of each key. reload_every_s: seconds between reloads."""
        self._store = store
        self._uses = uses
        self._reload_every_s = reload_every_s
        self._next_reload = 0.0
        self._text: str | None = None
        self._saved_uses: dict[str, float] = {}
        self.keys: Mapping[bytes, Key] = {}
        self.used: dict[str, float] = {}
        self.exists = False

    def should_reload_now(self) -> bool:
        """Return whether to reload the file now. Returns True once per interval."""
        now = time.monotonic()
        if now < self._next_reload:
            return False
        self._next_reload = now + self._reload_every_s
        return True

    def reload(self) -> None:
        """Reload the file if it changed. If reloading fails, keep the known keys.

        A file that existed once counts as existing until the process restarts. So deleting the file does not allow
        access without keys.
        """
        try:
            text = self._store.read()
            self.exists = self.exists or text is not None
            if text != self._text:
                self.keys = {key.digest: key for key in parse_keys(text)}
                self._text = text
        except HeadwaterError as error:
            self.exists = True
            log.error("Cannot reload the key file, the previous keys stay valid: %s", error)

    def current_keys(self) -> Sequence[Key]:
        """Read the key file and return its keys. Raises LakeUnavailable or WrongSetting if it cannot be read."""
        return parse_keys(self._store.read())

    def last_uses_s(self) -> dict[str, float]:
        """Return the time of the last use of each key by key id (s since 1970), as all processes have saved it.

        The times are precise to USE_INTERVAL_S.
        """
        found: dict[str, float] = json.loads(self._uses.read() or "{}")
        return {name: max(when, self.used.get(name, 0.0)) for name, when in (self.used | found).items()}

    def add_key(self, request: Key) -> tuple[Key, str]:
        """Add a key with a new id and a new secret. Returns the key and the secret; the file stores only its hash.

        Raises WrongSetting if the name already has MAX_KEYS_PER_NAME valid keys.
        """
        secret = PREFIX + secrets.token_urlsafe(32)
        made = {"id": secrets.token_hex(4), "sha256": digest_of(secret).hex(), "key": None, "made": datetime.now(UTC)}
        key = Key.model_validate(request.model_dump() | made)

        def edit(text: str | None) -> str:
            found = parse_keys(text)
            valid = [each for each in found if each.name == key.name and each.is_valid(datetime.now(UTC))]
            if len(valid) >= MAX_KEYS_PER_NAME:
                ids = " and ".join(each.id for each in valid)
                raise WrongSetting(f"{key.name!r} has {len(valid)} valid keys: {ids}. Revoke one of them first.")
            return serialize_keys([*found, key])

        self._change_file(edit)
        return key, secret

    def remove_keys(self, is_match: Callable[[Key], bool]) -> Sequence[Key]:
        """Remove the matching keys and return them."""
        return self._replace_keys(is_match, lambda _: None)

    def set_owner(self, is_match: Callable[[Key], bool], owner: Identity) -> Sequence[Key]:
        """Set the owner of the matching keys and return the changed keys."""

        def with_owner(key: Key) -> Key:
            return key.model_copy(update={"owner": owner})

        return [with_owner(key) for key in self._replace_keys(is_match, with_owner)]

    def _replace_keys(
        self, is_match: Callable[[Key], bool], replacement_of: Callable[[Key], Key | None]
    ) -> Sequence[Key]:
        """Replace the matching keys, and return them as they were before.

        replacement_of: returns the new key for a matching key, None to remove the key. If no key matches, the file is
        not written, because creating a key file would end access without keys.
        """
        old: list[Key] = []

        def edit(text: str | None) -> str:
            found = parse_keys(text)
            old[:] = [key for key in found if is_match(key)]
            if not old:
                raise _NoKeyMatches
            replaced = [replacement_of(key) if key in old else key for key in found]
            return serialize_keys([key for key in replaced if key is not None])

        with suppress(_NoKeyMatches):
            self._change_file(edit)
        return old

    def _change_file(self, edit: Callable[[str | None], str]) -> None:
        self._store.change(edit)
        self._next_reload = 0.0  # the next request of this process sees the change

    def unsaved_uses(self) -> dict[str, float]:
        """Return the times of last use to save, by key id: the first use, and then at most one per USE_INTERVAL_S."""
        return {
            name: when for name, when in self.used.items() if when > self._saved_uses.get(name, 0.0) + USE_INTERVAL_S
        }

    def save_uses(self) -> None:
        """Save the times of last use that are not saved yet. If this fails, log the error and raise nothing."""
        fresh = self.unsaved_uses()
        self._saved_uses |= fresh
        try:
            self._uses.change(lambda text: json.dumps(json.loads(text or "{}") | fresh))
        except (HeadwaterError, ValueError) as error:
            log.error("Cannot save when keys were used: %s", error)


def parse_keys(text: str | None) -> Sequence[Key]:
    """Parse the text of a key file. Raises WrongSetting with a message that does not quote the text."""
    try:
        return _KEYS.validate_json(text) if text else ()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise WrongSetting(f"The key file is invalid at {where!r}: {first['msg']}. Restore it.") from None


def serialize_keys(keys: Sequence[Key]) -> str:
    """Return the text of a key file. It contains no secrets."""
    values: list[dict[str, Any]] = [key.model_dump(mode="json", exclude={"key"}, exclude_defaults=True) for key in keys]
    return json.dumps(values, indent=1) + "\n"


NEVER = "never"
UNASSIGNED = "unassigned"
"""Owner to display for a key that no person owns. Only administrators can list and revoke such a key."""

MAX_NAME_PREFIX = 80
_NAME = re.compile(r"[\w.@+-][\w.@+ -]{0,98}")


class KeyRequest(NamedTuple):
    """A request for a new key.

    lasts: how long the key is valid, such as `90d`, or NEVER. datasets: namespaces of datasets that the key may change;
    empty means the same as `namespaces`.
    """

    name: str
    roles: Sequence[Role]
    namespaces: Sequence[str] = ()
    datasets: Sequence[str] = ()
    lasts: str = "365d"


class KeyManager:
    """Manages the keys of a key file, and also lists the keys of the settings, which it cannot change."""

    def __init__(self, file: KeyFile, fixed: Sequence[Key], issuer: str | None = None):
        """Manage the keys of `file`. fixed: keys of the settings; issuer: default issuer of owners."""
        self._file = file
        self._fixed = fixed
        self._issuer = issuer

    def list_keys(self, caller: Caller) -> list[dict[str, Any]]:
        """Return the keys without their hashes: all keys for an administrator, and a person's own keys for a person."""
        used = self._file.last_uses_s()
        mine = [key for key in self._file.current_keys() if _may_manage(caller, key)]
        fixed = list(self._fixed) if caller.has_role("admin") else []
        return [_key_json(key, used.get(key.id) if key.id else None) for key in (*mine, *fixed)]

    def create_key(self, caller: Caller, request: KeyRequest) -> dict[str, Any]:
        """Create a key and return it with its secret, which cannot be shown again.

        Raises WrongQuestion if the caller may not create such a key. Only administrators and signed-in persons create
        keys; otherwise a stolen key could create another one before it is revoked.
        """
        if caller.kind == "anyone":  # the first key ends open access, so only the owner of the folder may create it
            raise WrongQuestion(
                "There are no keys yet, and the first key cannot be created over HTTP. Run `headwater keys add` with "
                "`--data FOLDER` on the machine of the server, where FOLDER is its data folder."
            )
        namespaces, datasets = frozenset(request.namespaces), frozenset(request.datasets)
        name = request.name
        if not _NAME.fullmatch(name):
            raise WrongQuestion(
                f"{name[:100]!r} is not a valid name of a key. Use 1 to 99 letters, digits, spaces and . @ + - _"
            )
        if not caller.has_role("admin"):
            _check_personal_request(caller, frozenset(request.roles), namespaces)
            name, namespaces, datasets = (
                _personal_key_name(caller, name),
                namespaces or caller.namespaces,
                frozenset[str](),
            )
        try:
            lasts = None if request.lasts == NEVER else timedelta(seconds=parse_duration_s(request.lasts))
            expires = datetime.now(UTC) + lasts if lasts else None
            key, secret = self._file.add_key(
                Key(
                    name=name, sha256="0" * 64, roles=frozenset(request.roles), namespaces=namespaces,
                    datasets=datasets or None, expires=expires, made_by=caller.label,
                    owner=caller.identity if caller.is_person else None,
                )
            )  # fmt: skip
        except (WrongSetting, OverflowError) as error:
            raise WrongQuestion(str(error)) from error
        return {**_key_json(key, None), "key": secret}

    def revoke_keys(self, caller: Caller, id_or_name: str) -> list[dict[str, Any]]:
        """Revoke the key with this id, or all keys with this name, and return the revoked keys.

        Raises NotConfigured if the caller may not revoke any such key.
        """
        gone = self._file.remove_keys(lambda key: id_or_name in (key.id, key.name) and _may_manage(caller, key))
        if not gone:
            raise self._unknown_key_error(caller, id_or_name, "Remove it from the settings.")
        return [_key_json(key, None) for key in gone]

    def assign_owner(
        self, id_or_name: str, subject: str, issuer: str | None = None, name: str | None = None
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
        changed = self._file.set_owner(lambda key: id_or_name in (key.id, key.name), owner)
        if not changed:
            raise self._unknown_key_error(None, id_or_name, "Only keys of the file can have an owner.")
        return [_key_json(key, None) for key in changed]

    def _unknown_key_error(self, caller: Caller | None, id_or_name: str, fix: str) -> HeadwaterError:
        """Return the error for a key that is not in the file. caller: None for an administrator."""
        if (caller is None or caller.has_role("admin")) and any(key.name == id_or_name for key in self._fixed):
            return WrongQuestion(f"Key {id_or_name[:100]!r} is in the settings. {fix}")
        return NotConfigured("key", id_or_name, [])


def _may_manage(caller: Caller, key: Key) -> bool:
    """Return whether a caller may list and revoke a key. Owners are compared by identity, as names are not unique."""
    return caller.has_role("admin") or (
        caller.is_person and key.owner is not None and key.owner.is_same(caller.identity)
    )


def _personal_key_name(caller: Caller, name: str) -> str:
    """Return the name of a person's own key. It contains a hash of the identity, so it is unique among persons."""
    assert caller.identity is not None  # noqa: S101 - _check_own: a person
    identity = f"{caller.identity.issuer}\n{caller.identity.subject}"
    mark = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:12]
    return f"{caller.name[:MAX_NAME_PREFIX]}#{mark}:{name}"


def _check_personal_request(caller: Caller, roles: frozenset[Role], namespaces: frozenset[str]) -> None:
    if not caller.is_person or caller.identity is None:
        raise WrongQuestion(
            "Only administrators and signed-in persons can create keys. Sign in, or ask an administrator."
        )
    if not roles <= caller.roles or (caller.namespaces and not namespaces <= caller.namespaces):
        raise WrongQuestion(
            f"A key cannot have more permissions than its creator. Choose among your roles, "
            f"{', '.join(sorted(caller.roles))}, and your namespaces."
        )


def _key_json(key: Key, used: float | None) -> dict[str, Any]:
    return {
        "id": key.id, "name": key.name, "roles": sorted(key.roles), "namespaces": sorted(key.namespaces),
        "datasets": None if key.datasets is None else sorted(key.datasets), "made": _iso_time(key.made),
        "made_by": key.made_by, **_owner_json(key.owner), "expires": _iso_time(key.expires),
        "valid": key.is_valid(datetime.now(UTC)),
        "last_used": _iso_time(datetime.fromtimestamp(used, UTC)) if used else None, "kept": _storage_kind(key),
    }  # fmt: skip


def _owner_json(owner: Identity | None) -> dict[str, str | None]:
    return {
        "owner": (owner.name or owner.subject) if owner else UNASSIGNED,
        "owner_issuer": owner.issuer if owner else None,
        "owner_subject": owner.subject if owner else None,
        "owner_object_id": (owner.object_id or None) if owner else None,
    }


def _storage_kind(key: Key) -> str:
    return "file" if key.id else "settings, in clear" if key.key else "settings"


def _iso_time(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None
