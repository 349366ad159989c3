"""The file of keys: hashes, never a secret; read anew when it changes, so that no process starts anew for a key."""

import json
import logging
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from headwater.access import Identity, Key, digest_of
from headwater.errors import HeadwaterError, WrongSetting

log = logging.getLogger(__name__)

PREFIX = "hw_"
"""A secret of ours begins with it, so that who finds one somewhere knows what it is."""

MOST_OF_A_NAME = 2
"""Valid keys of one name: the one in use, and the one that it is exchanged for."""

TELL_USE_S = 600.0
"""How exact `last used` is: a file is written at most that often for a key, not for each request."""


class _NoneOfThem(Exception):
    """No key of the file is meant."""


_KEYS = TypeAdapter(tuple[Key, ...])


class TextPlace(Protocol):
    """A small text that several processes read and change."""

    def read(self) -> str | None:
        """Return it, None where there is none; raises LakeUnavailable, WrongSetting."""

    def change(self, edit: Callable[[str | None], str]) -> None:
        """Replace it by what is made of it, as if nobody else did so meanwhile; edit may be called again."""


class KeyFile:
    """Keys of one file, by their digests, and when each was used."""

    def __init__(self, place: TextPlace, uses: TextPlace, look_every_s: float = 0.25):
        """Look at nothing yet. uses: where the last use of keys is kept."""
        self._place = place
        self._uses = uses
        self._look_every_s = look_every_s
        self._next_look = 0.0
        self._text: str | None = None
        self._told: dict[str, float] = {}
        self.keys: Mapping[bytes, Key] = {}
        self.used: dict[str, float] = {}
        self.is_there = False

    def is_due(self) -> bool:
        """Tell whether it is time to look; tells so once."""
        now = time.monotonic()
        if now < self._next_look:
            return False
        self._next_look = now + self._look_every_s
        return True

    def look(self) -> None:
        """Read what has changed; where that fails, what is known stays.

        A file that was there once counts as there: to let everybody in again takes a start of the process.
        """
        try:
            text = self._place.read()
            self.is_there = self.is_there or text is not None
            if text != self._text:
                self.keys = {key.digest: key for key in read_keys(text)}
                self._text = text
        except HeadwaterError as error:
            self.is_there = True
            log.error("The file of keys is not taken up: %s", error)

    def all(self) -> Sequence[Key]:
        """Return the keys as they are now; raises where they cannot be read."""
        return read_keys(self._place.read())

    def last_used(self) -> dict[str, float]:
        """Return, by key id, about when it was used last (s since 1970), as far as processes have told."""
        found: dict[str, float] = json.loads(self._uses.read() or "{}")
        return {name: max(when, self.used.get(name, 0.0)) for name, when in (self.used | found).items()}

    def add(self, wanted: Key) -> tuple[Key, str]:
        """Make a key, whose id, secret and hash are made here; returns it and the secret, which nobody has again.

        Raises WrongSetting where a name has as many valid keys as it may.
        """
        secret = PREFIX + secrets.token_urlsafe(32)
        made = {"id": secrets.token_hex(4), "sha256": digest_of(secret).hex(), "key": None, "made": datetime.now(UTC)}
        key = Key.model_validate(wanted.model_dump() | made)

        def edit(text: str | None) -> str:
            found = read_keys(text)
            valid = [each for each in found if each.name == key.name and each.is_valid(datetime.now(UTC))]
            if len(valid) >= MOST_OF_A_NAME:
                ids = " and ".join(each.id for each in valid)
                raise WrongSetting(f"{key.name!r} has {len(valid)} valid keys: {ids}. Revoke one of them first.")
            return written([*found, key])

        self._change(edit)
        return key, secret

    def revoke(self, which: Callable[[Key], bool]) -> Sequence[Key]:
        """Take keys out and return them."""
        return self._replace(which, lambda _: None)

    def assign(self, which: Callable[[Key], bool], owner: Identity) -> Sequence[Key]:
        """Give keys an owner and return them as they are now."""

        def owned(key: Key) -> Key:
            return key.model_copy(update={"owner": owner})

        return [owned(key) for key in self._replace(which, owned)]

    def _replace(self, which: Callable[[Key], bool], new: Callable[[Key], Key | None]) -> Sequence[Key]:
        """Replace keys and return the old ones. Without any, nothing is written: a new file would end open access."""
        old: list[Key] = []

        def edit(text: str | None) -> str:
            found = read_keys(text)
            old[:] = [key for key in found if which(key)]
            if not old:
                raise _NoneOfThem
            replaced = [new(key) if key in old else key for key in found]
            return written([key for key in replaced if key is not None])

        with suppress(_NoneOfThem):
            self._change(edit)
        return old

    def _change(self, edit: Callable[[str | None], str]) -> None:
        self._place.change(edit)
        self._next_look = 0.0  # who asks next in this process sees it

    def unknown_uses(self) -> dict[str, float]:
        """Return, by key id, the uses that are worth a write: the first, and then one in TELL_USE_S."""
        return {name: when for name, when in self.used.items() if when > self._told.get(name, 0.0) + TELL_USE_S}

    def tell_uses(self) -> None:
        """Write these down; where that fails, what is known stays."""
        fresh = self.unknown_uses()
        self._told |= fresh
        try:
            self._uses.change(lambda text: json.dumps(json.loads(text or "{}") | fresh))
        except (HeadwaterError, ValueError) as error:
            log.error("The use of keys is not kept: %s", error)


def read_keys(text: str | None) -> Sequence[Key]:
    """Read a file of keys; raises WrongSetting, which says nothing of what is in it."""
    try:
        return _KEYS.validate_json(text) if text else ()
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise WrongSetting(f"The file of keys is broken at {where!r}: {first['msg']}. Restore it.") from None


def written(keys: Sequence[Key]) -> str:
    """Return the text of a file of keys: hashes alone."""
    values: list[dict[str, Any]] = [key.model_dump(mode="json", exclude={"key"}, exclude_defaults=True) for key in keys]
    return json.dumps(values, indent=1) + "\n"
