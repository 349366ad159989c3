"""What people do with keys: see them, make one, take one back; each as far as their own roles go."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from headwater.access import ANYONE, Caller, Key, Role
from headwater.durations import seconds
from headwater.errors import NotConfigured, WrongQuestion, WrongSetting
from headwater.identity.key_file import KeyFile

NEVER = "never"
_NAME = re.compile(r"[\w.@+-][\w.@+ -]{0,98}")


class WantedKey(NamedTuple):
    """A key that somebody asks for. lasts: such as `90d`, or NEVER; datasets: None for the namespaces."""

    name: str
    roles: Sequence[Role]
    namespaces: Sequence[str] = ()
    datasets: Sequence[str] = ()
    lasts: str = "365d"


class KeyDesk:
    """The keys of one file, and those of the settings, which are only shown."""

    def __init__(self, file: KeyFile, fixed: Sequence[Key]):
        """Read nothing yet."""
        self._file = file
        self._fixed = fixed

    def listed(self, caller: Caller) -> list[dict[str, Any]]:
        """List keys without what they are found by: all to an admin, to others their own."""
        used = self._file.last_used()
        mine = [key for key in self._file.all() if caller.may("admin") or key.made_by == caller.name]
        fixed = list(self._fixed) if caller.may("admin") else []
        return [_shown(key, used.get(key.id) if key.id else None) for key in (*mine, *fixed)]

    def add(self, caller: Caller, wanted: WantedKey) -> dict[str, Any]:
        """Make a key; the answer has its secret, which nothing can show again.

        Raises WrongQuestion where the caller may not have what it asks for. Others than admins must have signed in as
        people: a stolen key could else outlive its end.
        """
        if caller == ANYONE:  # the first key shuts the door: whoever holds the folder decides that
            raise WrongQuestion("Nobody needs a key here yet. Make the first one with `headwater keys add`.")
        namespaces, datasets = frozenset(wanted.namespaces), frozenset(wanted.datasets)
        name = wanted.name
        if not _NAME.fullmatch(name):
            raise WrongQuestion("A key's name is 1 to 99 letters, digits, spaces and . @ + - _")
        if not caller.may("admin"):
            _check_own(caller, frozenset(wanted.roles), namespaces)
            name, namespaces, datasets = f"{caller.name}:{name}", namespaces or caller.namespaces, frozenset[str]()
        try:
            lasts = None if wanted.lasts == NEVER else timedelta(seconds=seconds(wanted.lasts))
            expires = datetime.now(UTC) + lasts if lasts else None
            key, secret = self._file.add(
                Key(
                    name=name, sha256="0" * 64, roles=frozenset(wanted.roles), namespaces=namespaces,
                    datasets=datasets or None, expires=expires, made_by=caller.name,
                )
            )  # fmt: skip
        except (WrongSetting, OverflowError) as error:
            raise WrongQuestion(str(error)) from error
        return {**_shown(key, None), "key": secret}

    def revoke(self, caller: Caller, which: str) -> list[dict[str, Any]]:
        """Take back the key of this id, or all of this name; raises NotConfigured where the caller has no such key."""
        is_mine = caller.may("admin")
        gone = self._file.revoke(lambda key: which in (key.id, key.name) and (is_mine or key.made_by == caller.name))
        if not gone:
            if is_mine and any(key.name == which for key in self._fixed):
                raise WrongQuestion(f"Key {which[:100]!r} stands in the settings. Take it out there.")
            raise NotConfigured("key", which, [])
        return [_shown(key, None) for key in gone]


def _check_own(caller: Caller, roles: frozenset[Role], namespaces: frozenset[str]) -> None:
    if not caller.is_person:
        raise WrongQuestion("Only an admin, or somebody who has signed in, makes keys.")
    if not roles <= caller.roles or (caller.namespaces and not namespaces <= caller.namespaces):
        raise WrongQuestion(f"Your own roles are {', '.join(sorted(caller.roles))}: a key of yours can have no more.")


def _shown(key: Key, used: float | None) -> dict[str, Any]:
    return {
        "id": key.id, "name": key.name, "roles": sorted(key.roles), "namespaces": sorted(key.namespaces),
        "datasets": None if key.datasets is None else sorted(key.datasets), "made": _text(key.made),
        "made_by": key.made_by, "expires": _text(key.expires), "valid": key.is_valid(datetime.now(UTC)),
        "last_used": _text(datetime.fromtimestamp(used, UTC)) if used else None, "kept": _kept(key),
    }  # fmt: skip


def _kept(key: Key) -> str:
    return "file" if key.id else "settings, in clear" if key.key else "settings"


def _text(moment: datetime | None) -> str | None:
    return moment.astimezone(UTC).isoformat(timespec="seconds").replace("+00:00", "Z") if moment else None
