"""Policies for all datasets that match a pattern, read from YAML."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.odcs_text import read_yaml, text_of

_FORM = (
    "Write `version: 1` and `policies`. Each policy has `tag` and `stays_in`, or `masked`, or `owner`, with a list of "
    "patterns such as s3://lake/gold/* or */customers#email."
)


class Policies(NamedTuple):
    """Policies by name. tags: name → tag and patterns of the datasets in which its values may be readable.

    masked: name → patterns `DATASET#COLUMN` of columns that must be masked. owner: name → patterns of tables that must
    have an owner.
    """

    tags: dict[str, tuple[str, tuple[str, ...]]]
    masked: dict[str, tuple[str, ...]]
    owner: dict[str, tuple[str, ...]]


def load_policies(path: Path) -> Policies:
    """Read policies from a file. Raises WrongSetting with the error."""
    return read_policies(text_of(path, f"the policies in {path}", "Split it."), str(path))


def read_policies(text: str, where: str) -> Policies:
    """Parse policies. Raises WrongSetting with the error."""
    document = read_yaml(text, where)
    named = document.get("policies")
    if document.get("version") != 1 or not isinstance(named, dict) or document.keys() - {"version", "policies"}:
        raise WrongSetting(f"{where} does not contain policies. {_FORM}")
    found = Policies({}, {}, {})
    for name, policy in named.items():
        _add(found, str(name), policy, where)
    return found


def matches(patterns: tuple[str, ...], name: str) -> bool:
    """Return whether one of the patterns matches a name, without case."""
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


def _add(found: Policies, name: str, policy: Any, where: str) -> None:
    if isinstance(policy, dict) and policy.keys() == {"tag", "stays_in"} and isinstance(policy["tag"], str):
        found.tags[name] = policy["tag"], _patterns(policy["stays_in"], name, where, or_none=True)
    elif isinstance(policy, dict) and policy.keys() == {"masked"}:
        found.masked[name] = _patterns(policy["masked"], name, where)
        if not all("#" in pattern for pattern in found.masked[name]):
            raise WrongSetting(
                f"{where}: policy {name!r} has a pattern without a column. Write it like */customers#email."
            )
    elif isinstance(policy, dict) and policy.keys() == {"owner"}:
        found.owner[name] = _patterns(policy["owner"], name, where)
    else:
        raise WrongSetting(f"{where}: policy {name!r} has none of the three known forms. {_FORM}")


def _patterns(policy: Any, name: str, where: str, *, or_none: bool = False) -> tuple[str, ...]:
    if not isinstance(policy, list) or not all(isinstance(each, str) for each in policy) or not (policy or or_none):
        raise WrongSetting(f"{where}: policy {name!r} does not list patterns. {_FORM}")
    return tuple(policy)
