"""Checks contracts and policies: files in, what is broken out."""

from collections.abc import Iterable
from pathlib import Path

from headwater.contracts.check_reports import CheckedFile
from headwater.contracts.contract_breaks import Break, breaks_of, missing
from headwater.contracts.contract_files import POLICIES, ContractFile
from headwater.contracts.observed_answers import ObservedAnswers
from headwater.contracts.policies import load_policies
from headwater.contracts.policy_breaks import policy_breaks
from headwater.contracts.promise import Promise
from headwater.errors import NotKnown


def check_contract(file: ContractFile, observed: ObservedAnswers) -> CheckedFile:
    """Hold a contract against what is observed."""
    found = [each for promise in file.promises for each in _check(promise, observed)]
    return CheckedFile(str(file.path), file.text, len(file.promises), found)


def check_policies(path: Path, observed: ObservedAnswers) -> CheckedFile:
    """Hold policies against what is observed of all datasets; raises WrongSetting for a file that holds none."""
    policies = load_policies(path)
    count = len(policies.tags) + len(policies.masked) + len(policies.owner)
    return CheckedFile(str(path), path.read_text(encoding="utf-8"), count, policy_breaks(policies, observed))


def policies_beside(places: Iterable[Path]) -> list[Path]:
    """Return the policies that lie in folders of contracts."""
    return [found for place in places if place.is_dir() and (found := place / POLICIES).is_file()]


def _check(promise: Promise, observed: ObservedAnswers) -> list[Break]:
    try:
        return breaks_of(promise, observed.of(*promise.asked))
    except NotKnown as error:
        return [missing(promise, f"nobody knows it. {error}")]
