"""Build OpenLineage events that activate and withdraw declarations, and read the active declarations. No I/O.

The lake stores each active declaration as a facet of a job of its own. Therefore, any machine can withdraw a
declaration, and an unchanged declaration sends no events.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple
from urllib.parse import quote

import msgspec

from headwater.common.errors import WrongSetting
from headwater.governance.declarations.declaration import (
    Declaration,
    ResolvedDataset,
    ResolvedJob,
    ResolvedOutput,
    ResolvedStep,
)
from headwater.governance.declarations.file import DeclaredOwner
from headwater.index.api_changes import job_deletion_event
from headwater.lineage.names.dataset_name import Name

FACET = "headwater_declaration"


NAMESPACE, PREFIX = "headwater", "declare/"
"""Namespace and name prefix of the job with the facet; the name of the declaration follows the prefix."""


PRODUCER = "urn:headwater:declare"


_SPEC = "https://openlineage.io/spec"


_EVENT_SCHEMA = f"{_SPEC}/2-0-2/OpenLineage.json#/$defs/"


_TAGGED_BY = "HEADWATER"


Json = dict[str, Any]


class LedgerEntry(msgspec.Struct, frozen=True):
    """A declared job or dataset.

    digest: hash of the event without its time. facets: names of the declared facets of a dataset.
    """

    namespace: str
    name: str
    digest: str
    facets: list[str] = []

    @property
    def entity_name(self) -> Name:
        """The name of the job or dataset."""
        return Name(self.namespace, self.name)


class ActiveDeclaration(msgspec.Struct, frozen=True):
    """An active declaration.

    collection: name of the folder with the declaration, or empty. since: time at which it became active.
    """

    declaration: str
    collection: str = ""
    jobs: list[LedgerEntry] = []
    datasets: list[LedgerEntry] = []
    since: str = ""

    @property
    def is_active(self) -> bool:
        """Whether the declaration is active; a withdrawn declaration has no jobs and datasets."""
        return bool(self.jobs or self.datasets)


def active_declarations(facets: Iterable[Any]) -> dict[str, ActiveDeclaration]:
    """Return the active declarations by name. facets: items of the answer to the question `facets`.

    Ignores items that have the name of the facet but do not contain a declaration.
    """
    found = {}
    for item in facets:
        try:
            active = msgspec.convert({**item["facet"], "since": item["eventTime"]}, ActiveDeclaration)
        except (KeyError, TypeError, msgspec.ValidationError):
            continue
        if active.is_active and (item["namespace"], item["name"]) == (NAMESPACE, PREFIX + active.declaration):
            found[active.declaration] = active
    return found


def check_conflicts(wanted: Sequence[Declaration], known: dict[str, ActiveDeclaration]) -> None:
    """Raise WrongSetting if two declarations have the same name or job, because one would replace the other.

    wanted: the declarations to activate. known: the active declarations by name.
    """
    holders: dict[Name, str] = {}
    names: set[str] = set()
    for each in wanted:
        if each.name in names:
            raise WrongSetting(f"Two files have the declaration name {each.name!r}. Change the `name:` of one of them.")
        names.add(each.name)
        holders |= _claim_jobs(each.name, (job.name for job in each.jobs), holders)
    for name, active in known.items():
        if name not in names:
            _claim_jobs(name, (entry.entity_name for entry in active.jobs), holders)


def _claim_jobs(name: str, jobs: Iterable[Name], holders: dict[Name, str]) -> dict[Name, str]:
    listed = [*jobs]
    for job in listed:
        if job in holders:
            raise WrongSetting(
                f"Job {'/'.join(job.parts)!r} is declared by {holders[job]!r} and by {name!r}. Rename the job in one "
                "of them, or withdraw the other declaration with `headwater declare --withdraw`."
            )
    return dict.fromkeys(listed, name)


def events_to_declare(wanted: Declaration, known: ActiveDeclaration | None, collection: str, time: str) -> list[Json]:
    """Return the events that activate a declaration, or an empty list if it is unchanged.

    The last event stores the active declaration. known: the declaration as it is active now, or None.
    time: in the format of events.
    """
    before = known or ActiveDeclaration(wanted.name)
    jobs = [LedgerEntry(*each.name.parts, digest_of(job_event(each, ""))) for each in wanted.jobs]
    datasets = [
        LedgerEntry(*each.name.parts, digest_of([facets := dataset_facets(each), each.name]), sorted(facets))
        for each in wanted.datasets
    ]
    now = ActiveDeclaration(wanted.name, collection, jobs, datasets)
    if (jobs, datasets, collection) == (before.jobs, before.datasets, before.collection):
        return []
    held = {each.entity_name: each for each in before.datasets}
    events = [job_event(each, time) for each, entry in zip(wanted.jobs, jobs, strict=True) if entry not in before.jobs]
    events += [
        dataset_event(each, wanted.name, held[each.name].facets if each.name in held else (), time)
        for each, entry in zip(wanted.datasets, datasets, strict=True)
        if entry not in before.datasets
    ]
    return [
        *events,
        *_withdrawal_events(before, {each.entity_name for each in (*jobs, *datasets)}, time),
        _ledger_event(now, time),
    ]


def events_to_withdraw(known: ActiveDeclaration, time: str) -> list[Json]:
    """Return the events that withdraw a declaration."""
    removed = ActiveDeclaration(known.declaration, known.collection)
    return [*_withdrawal_events(known, set(), time), _ledger_event(removed, time)]


def _withdrawal_events(before: ActiveDeclaration, remaining: set[Name], time: str) -> list[Json]:
    events: list[Json] = []
    for job in before.jobs:
        if job.entity_name not in remaining:
            events += [
                withdrawn_job_event(job.entity_name, time),
                {**job_deletion_event(job.entity_name), "eventTime": time},
            ]
    removed = [each for each in before.datasets if each.entity_name not in remaining]
    return [
        *events,
        *(withdrawn_dataset_event(each.entity_name, before.declaration, each.facets, time) for each in removed),
    ]


def _ledger_event(active: ActiveDeclaration, time: str) -> Json:
    members = {name: value for name, value in msgspec.to_builtins(active).items() if name != "since"}
    facet = {"_producer": PRODUCER, "_schemaURL": f"{_EVENT_SCHEMA}JobFacet", **members}
    job = {"namespace": NAMESPACE, "name": PREFIX + active.declaration, "facets": {FACET: facet}}
    return {"eventTime": time, "producer": PRODUCER, "schemaURL": f"{_EVENT_SCHEMA}JobEvent", "job": job}


class FacetVersion(NamedTuple):
    """The version and name of a facet's specification."""

    version: str
    name: str

    @property
    def url(self) -> str:
        """The value of the facet's member `_schemaURL`."""
        return f"{_SPEC}/facets/{self.version}/{self.name}.json#/$defs/{self.name}"


_COLUMN_LINEAGE = FacetVersion("1-2-0", "ColumnLineageDatasetFacet")


_SCHEMA = FacetVersion("1-2-0", "SchemaDatasetFacet")


_DATASET_OWNERS = FacetVersion("1-0-1", "OwnershipDatasetFacet")


_DATASET_TAGS = FacetVersion("1-0-1", "TagsDatasetFacet")


_DATASET_TEXT = FacetVersion("1-0-1", "DocumentationDatasetFacet")


_OF_DATASETS = {
    "schema": _SCHEMA, "ownership": _DATASET_OWNERS, "tags": _DATASET_TAGS, "documentation": _DATASET_TEXT
}  # fmt: skip


_JOB_OWNERS = FacetVersion("1-0-1", "OwnershipJobFacet")


_JOB_TAGS = FacetVersion("1-0-1", "TagsJobFacet")


_JOB_TEXT = FacetVersion("1-1-0", "DocumentationJobFacet")


_JOB_TYPE = FacetVersion("2-0-4", "JobTypeJobFacet")


def job_event(job: ResolvedJob, time: str) -> Json:
    """Return the JobEvent that declares a job and replaces its earlier declaration. time: in the format of events."""
    facets = {"jobType": _versioned_facet(_JOB_TYPE, processingType="BATCH", integration="DECLARED", jobType="JOB")}
    facets |= _owner_and_description_facets(job.owners, job.description, _JOB_OWNERS, _JOB_TEXT)
    if job.tags:
        facets["tags"] = _versioned_facet(_JOB_TAGS, tags=[_tag_json(each) for each in job.tags])
    outputs = [{**each.dataset.as_json, "facets": _lineage_facet(each)} for each in job.outputs]
    return _job_event(job.name, facets, [each.as_json for each in job.inputs], outputs, time)


def withdrawn_job_event(name: Name, time: str) -> Json:
    """Return the JobEvent that removes the declared lineage and facets of a job."""
    gone = {"ownership": _JOB_OWNERS, "documentation": _JOB_TEXT, "tags": _JOB_TAGS}
    return _job_event(
        name, {facet: _versioned_facet(which, _deleted=True) for facet, which in gone.items()}, [], [], time
    )


def dataset_event(dataset: ResolvedDataset, declaration: str, earlier_facet_names: Iterable[str], time: str) -> Json:
    """Return the DatasetEvent that declares a dataset.

    earlier_facet_names: names of the facets that were declared until now.
    """
    return _dataset_event(
        dataset.name, declaration, {**_deleted_facets(earlier_facet_names), **dataset_facets(dataset)}, time
    )


def withdrawn_dataset_event(name: Name, declaration: str, facet_names: Iterable[str], time: str) -> Json:
    """Return the DatasetEvent that deletes the declared facets of a dataset."""
    return _dataset_event(name, declaration, _deleted_facets(facet_names), time)


def dataset_facets(dataset: ResolvedDataset) -> dict[str, Json]:
    """Return the declared facets of a dataset."""
    declared = dataset.declared
    facets = _owner_and_description_facets(dataset.owners, declared.description, _DATASET_OWNERS, _DATASET_TEXT)
    if declared.columns:
        listed = [{"name": each.name, "type": each.type, "description": each.description} for each in declared.columns]
        facets["schema"] = _versioned_facet(
            _SCHEMA, fields=[{k: text for k, text in each.items() if text} for each in listed]
        )
    tags = [_tag_json(each) for each in declared.tags]
    tags += [{**_tag_json(each), "field": column.name} for column in declared.columns for each in column.tags]
    return facets | ({"tags": _versioned_facet(_DATASET_TAGS, tags=tags)} if tags else {})


def digest_of(event: Any) -> str:
    """Return a hash of an event; the event must not contain its time, so that equal declarations have equal hashes."""
    return sha256(msgspec.json.encode(event, order="deterministic")).hexdigest()[:16]


def _lineage_facet(output: ResolvedOutput) -> Json:
    if not output.columns and not output.steps_into_all_columns:
        return {}
    fields = {column: {"inputFields": _input_fields(steps)} for column, steps in output.columns.items()}
    whole = _input_fields(output.steps_into_all_columns)
    return {"columnLineage": _versioned_facet(_COLUMN_LINEAGE, fields=fields, **({"dataset": whole} if whole else {}))}


def _input_fields(steps: Sequence[ResolvedStep]) -> list[Json]:
    """Return the input fields of a column, without whole datasets as sources, which are only inputs of the job."""
    return [
        {
            **step.source.as_json,
            "field": step.column,
            "transformations": [
                {
                    "type": step.transformation_type,
                    "subtype": step.how,
                    "description": step.description,
                    "masking": step.masked,
                }
            ],
        }
        for step in steps
        if step.column is not None
    ]


def _owner_and_description_facets(
    owners: Sequence[DeclaredOwner], text: str | None, owned: FacetVersion, documented: FacetVersion
) -> dict[str, Json]:
    facets = {}
    if owners:
        listed = [{"name": each.name} | ({"type": each.type} if each.type else {}) for each in owners]
        facets["ownership"] = _versioned_facet(owned, owners=listed)
    if text:
        facets["documentation"] = _versioned_facet(documented, description=text)
    return facets


def _deleted_facets(facet_names: Iterable[str]) -> dict[str, Json]:
    """Return facets that delete declared facets; an empty list of tags deletes the tags of this producer."""
    listed = {name: _versioned_facet(which, _deleted=True) for name, which in _OF_DATASETS.items()}
    listed["tags"] = _versioned_facet(_DATASET_TAGS, tags=[])
    return {name: listed[name] for name in facet_names if name in listed}


def _tag_json(key: str) -> Json:
    return {"key": key, "value": "true", "source": _TAGGED_BY}


def _versioned_facet(version: FacetVersion, **members: Any) -> Json:
    return {"_producer": PRODUCER, "_schemaURL": version.url, **members}


def _job_event(name: Name, facets: Mapping[str, Json], inputs: list[Any], outputs: list[Any], time: str) -> Json:
    job = {**name.as_json, "facets": facets}
    listed = {"job": job, "inputs": inputs, "outputs": outputs}
    return {"eventTime": time, "producer": PRODUCER, "schemaURL": f"{_EVENT_SCHEMA}JobEvent", **listed}


def _dataset_event(name: Name, declaration: str, facets: Mapping[str, Json], time: str) -> Json:
    dataset = {**name.as_json, "facets": facets}
    producer = f"{PRODUCER}:{quote(declaration, safe='')}"
    return {"eventTime": time, "producer": producer, "schemaURL": f"{_EVENT_SCHEMA}DatasetEvent", "dataset": dataset}
