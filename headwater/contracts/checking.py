"""Checks contracts and policies against observed facts."""

from collections.abc import Iterable
from pathlib import Path

from headwater.contracts.check_reports import CheckedFile
from headwater.contracts.contract_breaks import Break, broken_promises, missing
from headwater.contracts.contract_files import POLICIES, ContractFile
from headwater.contracts.observed_answers import ObservedAnswers
from headwater.contracts.policies import load_policies
from headwater.contracts.policy_breaks import policy_breaks
from headwater.contracts.promise import Promise
from headwater.errors import NotKnown


def check_contract(file: ContractFile, observed: ObservedAnswers) -> CheckedFile:
    """Compare a contract with observed facts."""
    found = [each for promise in file.promises for each in _check(promise, observed)]
    return CheckedFile(str(file.path), file.text, len(file.promises), found)


def check_policies(path: Path, observed: ObservedAnswers) -> CheckedFile:
    """Compare policies with observed facts of all datasets. Raises WrongSetting if the file contains no policies."""
    policies = load_policies(path)
    count = len(policies.tags) + len(policies.masked) + len(policies.owner)
    return CheckedFile(str(path), path.read_text(encoding="utf-8"), count, policy_breaks(policies, observed))


def policy_files(places: Iterable[Path]) -> list[Path]:
    """Return the policy files in folders of contracts."""
    return [found for place in places if place.is_dir() and (found := place / POLICIES).is_file()]


def _check(promise: Promise, observed: ObservedAnswers) -> list[Break]:
    try:
        return broken_promises(promise, observed.of(*promise.asked))
    except NotKnown as error:
        return [missing(promise, f"Headwater does not know this dataset. {error}")]
