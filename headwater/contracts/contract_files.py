"""Contracts in files and folders."""

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

from headwater.contracts.odcs_text import text_of
from headwater.contracts.promise import Promise, read_promises
from headwater.errors import WrongSetting

POLICIES = "policies.yml"
"""The file of a folder that holds no contract."""

_ENDINGS = (".yml", ".yaml")
_MOST = 10_000


class ContractFile(NamedTuple):
    """A file and what it promises."""

    path: Path
    text: str
    promises: list[Promise]


def contract_paths(places: Iterable[Path]) -> list[Path]:
    """Return the files of contracts: those that are named, and all YAML below folders; raises WrongSetting for none."""
    found: list[Path] = []
    for place in places:
        if place.is_dir():
            below = sorted(each for each in place.rglob("*") if each.suffix in _ENDINGS and each.name != POLICIES)
            found += [each for each in below if each.is_file()]
        elif place.exists():
            found.append(place)
        else:
            raise WrongSetting(f"There is no file {str(place)!r}. Name contracts, or folders of contracts.")
    if len(found) > _MOST:
        raise WrongSetting(f"{len(found)} files are to be read. Name {_MOST} at most.")
    return list(dict.fromkeys(found))


def read_contract(path: Path) -> ContractFile:
    """Read a contract; raises WrongSetting saying what is wrong with it."""
    text = text_of(path, str(path), "A contract of one table is far smaller.")
    return ContractFile(path, text, read_promises(text, str(path)))
