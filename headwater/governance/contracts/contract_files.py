"""Contract files and folders."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from headwater.common.errors import WrongSetting
from headwater.governance.contracts.odcs_text import text_of
from headwater.governance.contracts.promise import Promise, read_promises

POLICIES = "policies.yml"
"""The file with policies in a folder of contracts."""

_SUFFIXES = (".yml", ".yaml")
_MAX_FILES = 10_000


class ContractFile(NamedTuple):
    """A contract file and its promises."""

    path: Path
    text: str
    promises: list[Promise]


def contract_paths(places: Iterable[Path]) -> list[Path]:
    """Return contract files: the given files, and all YAML files below given folders.

    Raises WrongSetting for a missing path.
    """
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            below = sorted(each for each in place.rglob("*") if each.suffix in _SUFFIXES and each.name != POLICIES)
            found += [each for each in below if each.is_file()]
        elif place.exists():
            found.append(place)
        else:
            raise WrongSetting(f"There is no file or folder {str(place)!r}. Name contracts, or folders with contracts.")
    if len(found) > _MAX_FILES:
        raise WrongSetting(f"The given paths contain {len(found)} files. Check at most {_MAX_FILES} at a time.")
    return list(dict.fromkeys(found))


def read_contract(path: Path) -> ContractFile:
    """Read a contract. Raises WrongSetting with the error."""
    text = text_of(path, str(path), "Write one contract per table.")
    return ContractFile(path, text, read_promises(text, str(path)))
