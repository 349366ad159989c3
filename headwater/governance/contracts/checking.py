"""Checks contracts and policies against observed facts."""

from collections.abc import Iterable
from pathlib import Path

from headwater.common.errors import NotKnown
from headwater.governance.contracts.check_reports import CheckedFile
from headwater.governance.contracts.contract_breaks import Break, broken_promises, missing
from headwater.governance.contracts.contract_files import POLICIES, ContractFile
from headwater.governance.contracts.observed_answers import ObservedAnswers
from headwater.governance.contracts.policies import load_policies
from headwater.governance.contracts.policy_breaks import policy_breaks
from headwater.governance.contracts.promise import Promise


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
