"""Policies: what must hold of every dataset that a pattern fits; read from a small YAML."""

from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any, NamedTuple

from headwater.contracts.odcs_text import read_yaml, text_of
from headwater.errors import WrongSetting

_FORM = (
    "Write `version: 1` and `policies`, each with `tag` and `stays_in`, or `masked`, or `owner`: lists of patterns "
    "such as s3://lake/gold/* or */customers#email."
)


class Policies(NamedTuple):
    """tags: tag → patterns of the datasets in which its values may be read; by the name of the policy.

    masked: patterns `DATASET#COLUMN` of columns that must be masked; owner: of tables that must have an owner.
    """

    tags: dict[str, tuple[str, tuple[str, ...]]]
    masked: dict[str, tuple[str, ...]]
    owner: dict[str, tuple[str, ...]]


def load_policies(path: Path) -> Policies:
    """Read policies from a file; raises WrongSetting naming what is wrong with it."""
    return read_policies(text_of(path, f"the policies in {path}", "Split it."), str(path))


def read_policies(text: str, where: str) -> Policies:
    """Read policies; raises WrongSetting naming what is wrong."""
    document = read_yaml(text, where)
    named = document.get("policies")
    if document.get("version") != 1 or not isinstance(named, dict) or document.keys() - {"version", "policies"}:
        raise WrongSetting(f"{where} holds no policies. {_FORM}")
    found = Policies({}, {}, {})
    for name, told in named.items():
        _take(found, str(name), told, where)
    return found


def fits(patterns: tuple[str, ...], name: str) -> bool:
    """Tell whether one of some patterns fits a name, in any case."""
    return any(fnmatchcase(name.casefold(), pattern.casefold()) for pattern in patterns)


def _take(found: Policies, name: str, told: Any, where: str) -> None:
    if isinstance(told, dict) and told.keys() == {"tag", "stays_in"} and isinstance(told["tag"], str):
        found.tags[name] = told["tag"], _patterns(told["stays_in"], name, where, or_none=True)
    elif isinstance(told, dict) and told.keys() == {"masked"}:
        found.masked[name] = _patterns(told["masked"], name, where)
        if not all("#" in pattern for pattern in found.masked[name]):
            raise WrongSetting(f"{where}: policy {name!r}: a pattern names no column. Write it like */customers#email.")
    elif isinstance(told, dict) and told.keys() == {"owner"}:
        found.owner[name] = _patterns(told["owner"], name, where)
    else:
        raise WrongSetting(f"{where}: policy {name!r} is none of the three. {_FORM}")


def _patterns(told: Any, name: str, where: str, *, or_none: bool = False) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(isinstance(each, str) for each in told) or not (told or or_none):
        raise WrongSetting(f"{where}: policy {name!r} lists no patterns. {_FORM}")
    return tuple(told)
