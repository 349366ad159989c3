"""The file of keys. It contains hashes instead of secrets, and processes reload it when it changes."""

import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from headwater.auth.access import Identity, Key, digest_of
from headwater.common.errors import HeadwaterError, WrongSetting

log = logging.getLogger(__name__)

PREFIX = "hw_"
"""Prefix of generated secrets, which makes leaked ones recognizable."""

MAX_KEYS_PER_NAME = 2
"""Valid keys with one name: the one in use, and its replacement during a rotation."""

USE_INTERVAL_S = 600.0
"""Minimum time between two writes of `last used` for a key. It limits the precision of `last used`."""


class _NoKeyMatches(Exception):
    """No key of the file matches."""


_KEYS = TypeAdapter(tuple[Key, ...])


class TextStore(Protocol):
    """A small text that several processes read and change."""

    def read(self) -> str | None:
        """Return the text, None if it does not exist. Raises LakeUnavailable, WrongSetting."""

    def change(self, edit: Callable[[str | None], str]) -> None:
        """Replace the text atomically by the result of `edit`, which may be called several times."""


class KeyFile:
    """The keys of a file by digest, and the time of their last use."""

    def __init__(self, store: TextStore, uses: TextStore, reload_every_s: float = 0.25):
        """store: the text of the file; uses: stores the last use of each key."""
        self._store = store
        self._uses = uses
        self._reload_every_s = reload_every_s
        self._next_reload = 0.0
        self._text: str | None = None
        self._saved_uses: dict[str, float] = {}
        self.keys: Mapping[bytes, Key] = {}
        self.used: dict[str, float] = {}
        self.exists = False

    def is_due(self) -> bool:
        """Return whether to reload the file now. Returns True once per interval."""
        now = time.monotonic()
        if now < self._next_reload:
            return False
        self._next_reload = now + self._reload_every_s
        return True

    def reload(self) -> None:
        """Reload the file if it changed. If this fails, keep the known keys.

        A file that existed once counts as existing until the process restarts, so that deleting it does not open
        access.
        """
        try:
            text = self._store.read()
            self.exists = self.exists or text is not None
            if text != self._text:
                self.keys = {key.digest: key for key in read_keys(text)}
                self._text = text
        except HeadwaterError as error:
            self.exists = True
            log.error("Cannot reload the file of keys, the previous keys stay valid: %s", error)

    def all(self) -> Sequence[Key]:
        """Return the current keys. Raises LakeUnavailable or WrongSetting if they cannot be read."""
        return read_keys(self._store.read())

    def last_used(self) -> dict[str, float]:
        """Return the approximate time of the last use by key id (s since 1970), as saved by all processes."""
        found: dict[str, float] = json.loads(self._uses.read() or "{}")
        return {name: max(when, self.used.get(name, 0.0)) for name, when in (self.used | found).items()}

    def add(self, wanted: Key) -> tuple[Key, str]:
        """Add a key with a new id and secret, and return the key and the secret, which is not stored.

        Raises WrongSetting if the name already has MAX_KEYS_PER_NAME valid keys.
        """
        secret = PREFIX + secrets.token_urlsafe(32)
        made = {"id": secrets.token_hex(4), "sha256": digest_of(secret).hex(), "key": None, "made": datetime.now(UTC)}
        key = Key.model_validate(wanted.model_dump() | made)

        def edit(text: str | None) -> str:
            found = read_keys(text)
            valid = [each for each in found if each.name == key.name and each.is_valid(datetime.now(UTC))]
            if len(valid) >= MAX_KEYS_PER_NAME:
                ids = " and ".join(each.id for each in valid)
                raise WrongSetting(f"{key.name!r} has {len(valid)} valid keys: {ids}. Revoke one of them first.")
            return serialize_keys([*found, key])

        self._change(edit)
        return key, secret

    def revoke(self, which: Callable[[Key], bool]) -> Sequence[Key]:
        """Remove the matching keys and return them."""
        return self._replace(which, lambda _: None)

    def assign(self, which: Callable[[Key], bool], owner: Identity) -> Sequence[Key]:
        """Set the owner of the matching keys and return the changed keys."""

        def owned(key: Key) -> Key:
            return key.model_copy(update={"owner": owner})

        return [owned(key) for key in self._replace(which, owned)]

    def _replace(self, which: Callable[[Key], bool], new: Callable[[Key], Key | None]) -> Sequence[Key]:
        """Replace the matching keys and return the old ones.

        Without a match, write nothing, because a new file would end open access.
        """
        old: list[Key] = []

        def edit(text: str | None) -> str:
            found = read_keys(text)
            old[:] = [key for key in found if which(key)]
            if not old:
                raise _NoKeyMatches
            replaced = [new(key) if key in old else key for key in found]
            return serialize_keys([key for key in replaced if key is not None])

        with suppress(_NoKeyMatches):
            self._change(edit)
        return old

    def _change(self, edit: Callable[[str | None], str]) -> None:
        self._store.change(edit)
        self._next_reload = 0.0  # the next request of this process sees the change

    def unsaved_uses(self) -> dict[str, float]:
        """Return the uses to save by key id: the first one, then one per USE_INTERVAL_S."""
        return {
            name: when for name, when in self.used.items() if when > self._saved_uses.get(name, 0.0) + USE_INTERVAL_S
        }

    def save_uses(self) -> None:
        """Save the unsaved uses. A failure is only logged."""
        fresh = self.unsaved_uses()
        self._saved_uses |= fresh
        try:
            self._uses.change(lambda text: json.dumps(json.loads(text or "{}") | fresh))
        except (HeadwaterError, ValueError) as error:
            log.error("Cannot save when keys were used: %s", error)


def read_keys(text: str | None) -> Sequence[Key]:
    """Parse a file of keys. Raises WrongSetting, whose message does not quote the file."""
    try:
        return _KEYS.validate_json(text) if text else ()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise WrongSetting(f"The file of keys is invalid at {where!r}: {first['msg']}. Restore it.") from None


def serialize_keys(keys: Sequence[Key]) -> str:
    """Return the text of a file of keys. It contains no secrets."""
    values: list[dict[str, Any]] = [key.model_dump(mode="json", exclude={"key"}, exclude_defaults=True) for key in keys]
    return json.dumps(values, indent=1) + "\n"
