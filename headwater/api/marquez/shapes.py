"""Shapes of the answers of Marquez's API that the dashboard reads. Its TypeScript types are generated from them."""

# ruff: noqa: N815 - members are called as Marquez calls them

from typing import Any

from msgspec import UNSET, UnsetType

from headwater.questions.answer_types.common import AnswerStruct, Count, Job, StepTransformation, Time

Facets = dict[str, Any]
"""Facets by name, in any form that a producer sends."""


class MarquezField(AnswerStruct):
    """A column of a schema."""

    name: str
    type: str | None
    tags: list[str]
    description: str | None


class MarquezInputField(AnswerStruct):
    """A column that feeds another."""

    namespace: str
    name: str
    dataset: str
    field: str
    transformationDescription: str | None
    transformationType: str
    transformations: list[StepTransformation]


class MarquezColumn(AnswerStruct):
    """A column with its input fields."""

    name: str
    inputFields: list[MarquezInputField]
    transformationDescription: str | None
    transformationType: str


class MarquezDataset(AnswerStruct):
    """A dataset. displayName: omitted if it equals the name; schemaLocation: only for streams."""

    id: Job
    type: str
    name: str
    physicalName: str
    namespace: str
    sourceName: str
    createdAt: Time | None
    updatedAt: Time | None
    fields: list[MarquezField]
    tags: list[str]
    lastModifiedAt: Time | None
    lastLifecycleState: str | None
    description: str | None
    currentVersion: str
    columnLineage: list[MarquezColumn] | None
    facets: Facets
    deleted: bool
    displayName: str | UnsetType = UNSET
    schemaLocation: str | UnsetType | None = UNSET


class MarquezVersionId(AnswerStruct):
    """A version of a dataset or job."""

    namespace: str
    name: str
    version: str


class MarquezDatasetVersion(AnswerStruct):
    """A dataset version that a run read or wrote."""

    datasetVersionId: MarquezVersionId
    facets: Facets


class MarquezRun(AnswerStruct):
    """A run. In `latestRuns` of a job, it has no versions and facets."""

    id: str
    createdAt: Time
    updatedAt: Time
    nominalStartTime: Time | None
    nominalEndTime: Time | None
    state: str
    startedAt: Time | None
    endedAt: Time | None
    durationMs: int | None
    args: dict[str, str]
    jobVersion: MarquezVersionId | UnsetType | None = UNSET
    facets: Facets | UnsetType = UNSET
    inputVersions: list[MarquezVersionId] | UnsetType = UNSET
    outputVersions: list[MarquezVersionId] | UnsetType = UNSET
    inputDatasetVersions: list[MarquezDatasetVersion] | UnsetType = UNSET
    outputDatasetVersions: list[MarquezDatasetVersion] | UnsetType = UNSET


class MarquezVersion(AnswerStruct):
    """A version of a dataset. schemaLocation: only for streams."""

    id: MarquezVersionId
    type: str
    name: str
    physicalName: str
    namespace: str
    sourceName: str
    createdAt: Time
    version: str
    externalVersion: str | None
    fields: list[MarquezField]
    tags: list[str]
    lifecycleState: str | None
    description: str | None
    currentSchemaVersion: str | None
    lineageHash: str | None
    createdByRun: MarquezRun | None
    facets: Facets
    schemaLocation: str | UnsetType | None = UNSET


class MarquezVersions(AnswerStruct):
    """Versions of a dataset."""

    versions: list[MarquezVersion]
    totalCount: Count
    truncated: bool


class MarquezJob(AnswerStruct):
    """A job. `latestRun` and `latestRuns` are null if it has no run."""

    id: Job
    type: str
    name: str
    simpleName: str
    parentJobName: str | None
    parentJobUuid: None
    createdAt: Time
    updatedAt: Time
    namespace: str
    inputs: list[Job]
    outputs: list[Job]
    location: str | None
    description: str | None
    latestRun: MarquezRun | None
    latestRuns: list[MarquezRun] | None
    tags: list[str]
    facets: Facets
    currentVersion: str | None
    labels: list[str]


class MarquezRuns(AnswerStruct):
    """Runs of a job."""

    runs: list[MarquezRun]
    totalCount: Count
    truncated: bool


class MarquezFacets(AnswerStruct):
    """The facets of a run, or of its job."""

    runId: str
    facets: Facets


class MarquezNamespace(AnswerStruct):
    """A namespace."""

    name: str
    createdAt: Time
    updatedAt: Time
    ownerName: str
    description: str | None
    isHidden: bool


class MarquezNamespaces(AnswerStruct):
    """Namespaces."""

    namespaces: list[MarquezNamespace]
    totalCount: Count
    truncated: bool


READ_BY_PAGE: dict[str, type[AnswerStruct]] = {
    "namespaces": MarquezNamespaces,
    "namespaces/{namespace}/datasets/{dataset}": MarquezDataset,
    "namespaces/{namespace}/datasets/{dataset}/versions": MarquezVersions,
    "namespaces/{namespace}/jobs/{job}": MarquezJob,
    "namespaces/{namespace}/jobs/{job}/runs": MarquezRuns,
    "jobs/runs/{run}": MarquezRun,
    "jobs/runs/{run}/facets": MarquezFacets,
}
"""Shape of the answer by path below `/api/v1/`."""
