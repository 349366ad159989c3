"""The rules of `owners.yaml`: who owns datasets and jobs, like a CODEOWNERS file. They change no lineage."""

from collections.abc import Iterable
from typing import NamedTuple

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.rule_text import RuleEntry, read_entries
from headwater.lineage.rules.selectors import is_match

_KEYS = ("namespace", "dataset", "job", "owners")


class OwnerRule(NamedTuple):
    """A rule of `owners.yaml`.

    namespace, dataset, job: globs in lower case. One of `dataset` and `job` may be None; if both are, the rule concerns
    all datasets and jobs of the namespaces. owners: names of owners; empty for nobody.
    """

    namespace: str | None
    dataset: str | None
    job: str | None
    owners: tuple[str, ...]

    def is_dataset_match(self, dataset: Name) -> bool:
        """Tell whether the rule concerns a dataset. dataset: its canonical name."""
        return self.job is None and self._is_match(self.dataset, dataset)

    def is_job_match(self, job: Name) -> bool:
        """Tell whether the rule concerns a job. job: its display name."""
        return self.dataset is None and self._is_match(self.job, job)

    def _is_match(self, glob: str | None, name: Name) -> bool:
        return is_match(self.namespace, name.namespace.casefold()) and is_match(glob, name.name.casefold())


def read_owners(text: str, file: str) -> tuple[OwnerRule, ...]:
    """Read `owners.yaml`."""
    return tuple(map(_owner_rule, read_entries(text, file, {"owners": _KEYS})["owners"]))


def dataset_owners(rules: Iterable[OwnerRule], dataset: Name) -> tuple[str, ...] | None:
    """Return the owners in the first rule that concerns a dataset; None without a rule."""
    return next((rule.owners for rule in rules if rule.is_dataset_match(dataset)), None)


def job_owners(rules: Iterable[OwnerRule], job: Name) -> tuple[str, ...] | None:
    """Return the owners in the first rule that concerns a job; None without a rule. job: its display name."""
    return next((rule.owners for rule in rules if rule.is_job_match(job)), None)


def _owner_rule(entry: RuleEntry) -> OwnerRule:
    namespace, dataset, job = (entry.optional_text(key) for key in _KEYS[:3])
    if dataset is not None and job is not None:
        raise entry.setting_error("it names a dataset and a job", "write two rules")
    if namespace is None and dataset is None and job is None:
        raise entry.setting_error("it would fit everything", "add namespace, dataset or job")
    if "owners" not in entry.nodes:
        raise entry.setting_error("owners is missing", "add `owners: [NAME]`, or `owners: []` for nobody")
    namespace, dataset, job = (each and each.casefold() for each in (namespace, dataset, job))
    return OwnerRule(namespace, dataset, job, entry.texts("owners"))
