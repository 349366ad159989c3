"""The owners of datasets and jobs, for all questions that name people (docs/reference/questions.md, owners)."""

from collections.abc import Iterable
from typing import Any, Literal

from headwater.events.rule_facets import text_at
from headwater.index.reading.facets import DescriptiveFacets
from headwater.index.reading.jobs import JobAncestry, current_writers
from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.owner_rules import dataset_owners, job_owners
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.runs.jobs import job_ancestors
from headwater.questions.about import decode_facets, owners_in_facets
from headwater.questions.answer_types.common import Dataset
from headwater.questions.answer_types.health import OwnedDataset, Owner
from headwater.questions.answer_types.lineage import Reach

_MAX_OWNERS = 100
_MAX_DATASETS = 200
"""The maximum number of datasets in a list of owners."""

_NOBODY = "airflow"
"""The owner that Airflow sends if a DAG names none."""


class OwnerReader:
    """Reads owners by the rules of the user and the newest facets. Create one for each answer."""

    def __init__(self, live: LiveGraph, rules: UserRules):
        """live: the caller locks it to one generation while the reader is in use."""
        self._live, self._rules = live, rules.owners
        self._jobs, self._facets = JobAncestry(live), DescriptiveFacets(live)

    def owners_of(self, dataset: Name) -> list[Owner]:
        """Return the owners of a dataset by the first source that has some.

        The sources are `owners.yaml`, the dataset's `ownership` facet, dbt's `dbt_model` facet, and the jobs whose
        lineage for the dataset counts now. dataset: the canonical name.
        """
        declared = dataset_owners(self._rules, dataset.without_generation)
        if declared is not None:
            return _owners(declared, "rules")
        return self._live.cached_in_generation(
            ("owners of dataset", self._rules, dataset.without_generation), lambda: self._read_dataset(dataset)
        )

    def owners_of_job(self, job: Name) -> list[Owner]:
        """Return the owners of a job by the first source that has some. job: the key of the job.

        The sources are `owners.yaml`, the job's `ownership` facet and Airflow's run facet, for the job and then for
        each of its ancestors, the nearest first.
        """
        return self._live.cached_in_generation(("owners of job", self._rules, job), lambda: self._read_job(job))

    def owners_of_each(self, datasets: Iterable[Name]) -> list[OwnedDataset]:
        """Return the owners of each of the first 200 datasets that has an owner, in the given order."""
        names = list(dict.fromkeys(each.without_generation for each in datasets))[:_MAX_DATASETS]
        return [OwnedDataset(*name.parts, owners) for name in names if (owners := self.owners_of(name))]

    def _read_dataset(self, dataset: Name) -> list[Owner]:
        sent = owners_in_facets(decode_facets(self._facets.dataset_facets(dataset, "ownership")))
        if sent:
            return sent
        model = decode_facets(self._facets.dataset_facets(dataset, "dbt_model")).get("dbt_model")
        if owner := text_at(model, "config", "owner"):
            return _owners([owner], "facet")
        owned = (self.owners_of_job(job) for job in current_writers(self._live, dataset))
        return unique_owners(Owner(each.name, each.type, "job") for some in owned for each in some)

    def _read_job(self, job: Name) -> list[Owner]:
        for ancestor in job_ancestors(job, self._jobs.started):
            if owners := self._read_own(ancestor.job):
                return owners
        return []

    def _read_own(self, job: Name) -> list[Owner]:
        name = self._live.job_name(job)
        declared = job_owners(self._rules, name)
        if declared is not None:
            return _owners(declared, "rules")
        facets = decode_facets(self._facets.job_facets(name))
        is_airflow = text_at(facets.get("jobType"), "integration") == "AIRFLOW"
        sent = [each for each in owners_in_facets(facets) if not (is_airflow and each.name == _NOBODY)]
        return sent or (self._airflow_owners(job) if is_airflow else [])

    def _airflow_owners(self, job: Name) -> list[Owner]:
        """Return the owners in the run facets of Airflow. Old providers send no `ownership` facet."""
        facet: Any = self._jobs.newest_run_facet(job, "airflow") or self._jobs.newest_run_facet(job, "airflowDagRun")
        texts = (text_at(facet, part, "owner") or "" for part in ("task", "dag"))
        named = ([each.strip() for each in text.split(",") if each.strip() not in {"", _NOBODY}] for text in texts)
        return _owners(next(filter(None, named), []), "facet")


def add_owners(answer: Reach, owners: OwnerReader) -> Reach:
    """Add the owners of the datasets in an answer to it, and return it."""
    datasets: list[Dataset] = [answer.column, *answer.columns, *(each for stop in answer.stops for each in stop.onward)]
    answer.owners = owners.owners_of_each(Name(each.namespace, each.dataset) for each in datasets)
    return answer


def unique_owners(owners: Iterable[Owner]) -> list[Owner]:
    """Return the first owner of each name, at most 100."""
    found: dict[str, Owner] = {}
    for owner in owners:
        found.setdefault(owner.name, owner)
    return list(found.values())[:_MAX_OWNERS]


def _owners(names: Iterable[str], source: Literal["rules", "facet"]) -> list[Owner]:
    return unique_owners(Owner(name, None, source) for name in names)
