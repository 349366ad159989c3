"""The value forms that Marquez's Java client and page accept. A null or a different form breaks a list or a page.

The forms come from the constructors of the client's models (`@NonNull`, `Instant`, `ZonedDateTime`, `UUID`, `URL`,
`URI`, enums; its `ImmutableMap`s and `ImmutableSet`s accept no null) and from the types of the page.
`docs/reference/marquez.md` contains an overview.
"""

# ruff: noqa: N815 - members are called as Marquez calls them

from typing import Annotated, Any, Literal
from uuid import UUID

from msgspec import Meta, Struct

_TIME = r"^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d{1,9})?)?Z$"
Time = Annotated[str, Meta(pattern=_TIME)]
Url = Annotated[str, Meta(pattern=r"(?i)^(https?|ftp|file)://([^/?#@]*@)?(\[[^]]*\]|[^/?#:@\[]*)(:\d{0,5})?([/?#]|$)")]
Uri = Annotated[str, Meta(pattern=r"^(?!:|//$)[A-Za-z0-9._~!$&'()*+,;=:@/?#%-]*$")]
NodeId = Annotated[str, Meta(pattern=r"(?s)^(dataset|datasetField|job):.*:.*$")]
Facets = dict[str, dict[str, Any] | list[Any] | str | int | float | bool]
RunState = Literal["NEW", "RUNNING", "COMPLETED", "ABORTED", "FAILED"]
DatasetType = Literal["DB_TABLE", "STREAM"]
JobType = Literal["BATCH", "STREAM", "SERVICE"]


class Id(Struct):
    namespace: str
    name: str


class VersionId(Struct):
    namespace: str
    name: str
    version: UUID


class RunVersion(Struct):
    datasetVersionId: VersionId
    facets: Facets


class BriefRun(Struct):
    id: str
    createdAt: Time
    updatedAt: Time
    state: RunState
    nominalStartTime: Time | None
    nominalEndTime: Time | None
    startedAt: Time | None
    endedAt: Time | None
    durationMs: int | None
    args: dict[str, str]


class Run(BriefRun):
    jobVersion: VersionId | None
    facets: Facets
    inputDatasetVersions: list[RunVersion] = []
    outputDatasetVersions: list[RunVersion] = []


class Field(Struct):
    name: str
    type: str | None
    tags: set[str]
    description: str | None


class InputField(Struct):
    namespace: str
    dataset: str
    field: str
    transformationDescription: str | None
    transformationType: str | None


class ColumnLineage(Struct):
    name: str
    inputFields: list[InputField]


class DatasetNode(Struct):
    id: Id
    type: DatasetType
    name: str
    physicalName: str
    createdAt: Time
    updatedAt: Time
    namespace: str
    sourceName: str
    fields: list[Field]
    tags: set[str]
    lastModifiedAt: Time | None
    description: str | None
    lastLifecycleState: str | None


class Dataset(DatasetNode):
    columnLineage: list[ColumnLineage] | None
    facets: Facets
    currentVersion: UUID
    deleted: bool


class DatasetVersion(Struct):
    id: VersionId
    type: DatasetType
    name: str
    physicalName: str
    createdAt: Time
    version: UUID
    namespace: str
    sourceName: str
    fields: list[Field]
    tags: set[str]
    description: str | None
    lifecycleState: str | None
    createdByRun: Run | None
    facets: Facets


class JobNode(Struct):
    id: Id
    type: JobType
    name: str
    simpleName: str
    parentJobName: str | None
    createdAt: Time
    updatedAt: Time
    namespace: str
    inputs: list[Id]
    outputs: list[Id]
    location: Url | None
    description: str | None
    latestRun: Run | None


class Job(JobNode):
    latestRuns: Annotated[list[BriefRun], Meta(min_length=1)] | None
    facets: Facets
    currentVersion: UUID | None
    tags: set[str]


class JobVersion(Struct):
    id: VersionId
    name: str
    createdAt: Time
    version: UUID
    namespace: str
    location: Url | None
    inputs: list[Id]
    outputs: list[Id]
    latestRun: Run | None


class Namespace(Struct):
    name: str
    createdAt: Time
    updatedAt: Time
    ownerName: str
    description: str | None
    isHidden: bool


class Source(Struct):
    type: str
    name: str
    createdAt: Time
    updatedAt: Time
    connectionUrl: Uri
    description: str | None


class Tag(Struct):
    name: str
    description: str | None


class Edge(Struct):
    origin: NodeId
    destination: NodeId


class Node(Struct):
    id: NodeId
    type: Literal["JOB", "DATASET"]
    data: dict[str, Any]
    inEdges: list[Edge]
    outEdges: list[Edge]


class ColumnData(Struct):
    namespace: str
    dataset: str
    field: str
    fieldType: str
    inputFields: list[InputField]


class ColumnNode(Struct):
    id: NodeId
    type: Literal["DATASET_FIELD"]
    data: ColumnData
    inEdges: list[Edge]
    outEdges: list[Edge]


class Found(Struct):
    type: Literal["JOB", "DATASET"]
    name: str
    namespace: str
    nodeId: NodeId
    updatedAt: Time


class RunOfEvent(Struct):
    runId: str


class Event(Struct):
    eventType: str | None
    eventTime: Time
    run: RunOfEvent
    job: dict[str, Any]
    producer: Uri | None = None
    schemaURL: Uri | None = None
    inputs: list[Any] | None = None
    outputs: list[Any] | None = None


class RunFacets(Struct):
    runId: str
    facets: Facets


class Events24(Struct):
    startInterval: Time
    endInterval: Time
    fail: int
    start: int
    complete: int
    abort: int


class Counted(Struct):
    startInterval: Time
    endInterval: Time
    count: int
