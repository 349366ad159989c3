"""What answers look like: the schemas of the OpenAPI document. Tests hold every answer against them."""

from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, field


class Shape(Struct, forbid_unknown_fields=True):
    """An answer, or a part of one, has these members and no others."""


class Dataset(Shape):
    """A dataset by its canonical name."""

    namespace: str
    dataset: str


class Job(Shape):
    """A job."""

    namespace: str
    name: str


class Column(Shape):
    """A column; null stands for the whole dataset."""

    namespace: str
    dataset: str
    column: str | None


class Transformation(Shape):
    """What a step does to a value."""

    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masking: bool
    description: str | None


class Via(Shape):
    """The last step to a column: from where, by which job, how."""

    namespace: str
    dataset: str
    column: str | None
    job: Job
    transformation: Transformation


class PathStep(Shape):
    """A column on a way, and how it was reached."""

    namespace: str
    dataset: str
    column: str | None
    via: Via


class ReachedColumn(Shape):
    """A column that lineage reaches; `path` only if asked for."""

    namespace: str
    dataset: str
    column: str | None
    distance: int
    masked: bool
    via: Via
    in_schema: bool
    path: list[PathStep] | UnsetType = UNSET


class Stop(Shape):
    """A dataset from which only lineage of whole tables goes on."""

    namespace: str
    dataset: str
    onward: list[Dataset]
    jobs: list[Job]


Mode = Literal["value", "any"]
Count = Annotated[int, Meta(ge=0)]


class Reach(Shape):
    """What a column ends up in, or is made of."""

    column: Column
    mode: Mode
    columns: list[ReachedColumn]
    stops: list[Stop]
    truncated: bool


class PathAnswer(Shape):
    """Whether one column reaches another, and how."""

    from_: Column = field(name="from")
    to: Column
    mode: Mode
    reaches: bool
    path: list[PathStep]
    stops: list[Stop]


class EdgeReason(Shape):
    """A job that makes an edge."""

    job: Job
    origin: str
    transformations: list[Transformation]
    runs: Count
    first_seen: str | None
    last_seen: str | None
    landed: bool
    newest_run: str | None
    sql: str | UnsetType | None = UNSET


class EdgeAnswer(Shape):
    """Why an edge is there."""

    from_: Column = field(name="from")
    to: Column
    items: list[EdgeReason]


class SurfaceItem(Shape):
    """A column that may hold a tagged value; `how` is a reason in words where nobody says."""

    namespace: str
    dataset: str
    column: str | None
    exposure: Literal["exposed", "unknown", "masked"]
    how: Transformation | str
    source: Column | None
    via: dict[str, Any] | None


class Surface(Shape):
    """The masking surface."""

    tag: str
    sources: list[Column]
    items: list[SurfaceItem]
    exposures: dict[str, int]
    totalCount: Count  # noqa: N815 - as the answer has it
    truncated: bool


class Verdict(Shape):
    """Whether a column may be dropped."""

    namespace: str
    dataset: str
    column: str | None
    verdict: Literal["used", "unused", "unknown"]
    reason: str | None
    caveats: list[str]
    read_by: list[Job]
    consumers: list[str]
    also_read_by: list[Job]
    observed_since: str | None
    last_used: str | None


class Unused(Shape):
    """Columns with verdicts."""

    items: list[Verdict]
    verdicts: dict[str, int]
    totalCount: Count  # noqa: N815
    truncated: bool


class DiffItem(Shape):
    """An edge that came, went, or changed in being masked."""

    change: Literal["added", "removed", "changed"]
    from_: Column = field(name="from")
    to: Column
    type: Literal["DIRECT", "INDIRECT"]
    masked: bool
    job: Job


class Diff(Shape):
    """What changed between two moments."""

    added: Count
    removed: Count
    changed: Count
    items: list[DiffItem]
    totalCount: Count  # noqa: N815
    truncated: bool


class CoverageItem(Shape):
    """A dataset or a job without column lineage."""

    kind: Literal["dataset", "job"]
    namespace: str
    reason: str
    dataset: str | UnsetType = UNSET
    name: str | UnsetType = UNSET


class Coverage(Shape):
    """What lineage does not cover."""

    datasets: dict[str, int]
    jobs: dict[str, int]
    items: list[CoverageItem]
    totalCount: Count  # noqa: N815
    truncated: bool


class RunLineage(Shape):
    """What a run read and wrote, and the runs that are part of it; its members are described in docs/questions.md."""

    run: dict[str, Any]
    reads: list[dict[str, Any]]
    writes: list[dict[str, Any]]
    children: list[dict[str, Any]]
    truncated: bool


class Listed(Shape):
    """A page of a list, newest first."""

    items: list[dict[str, Any]]
    totalCount: Count  # noqa: N815
    truncated: bool


class NameStep(Shape):
    """What one rule made of a name."""

    rule: str
    namespace: str
    name: str
    why: str


class Names(Shape):
    """Which dataset a name means."""

    canonical: Job
    rules_hash: str
    items: list[NameStep]


class Rules(Shape):
    """Which rules are in force."""

    rules_hash: str
    names_hash: str
    indexed: bool
    tags: Count
    masking: Count
    consumers: Count
    problems: list[str]


class Found(Shape):
    """Something that is called so."""

    kind: Literal["job", "dataset", "alias", "column", "tag"]
    namespace: str
    name: str
    column: str | None
    tag: str | None
    means: Dataset | None
    match: Literal["exact", "prefix", "word", "part", "parent", "similar"]
    uses: Count
    last_seen: str | None


class SearchAnswer(Shape):
    """What was found, best first."""

    items: list[Found]
    totalCount: Count  # noqa: N815
    truncated: bool


class Audit(Shape):
    """Every acknowledged event is in exactly one table."""

    received: int
    stored: int
    duplicates: int
    rejected: int
    refused: int
    pending: int
    balanced: bool


class Freshness(Shape):
    """Age of the oldest acknowledged event that is not readable yet."""

    seconds: Annotated[float, Meta(ge=0)]


class RunItem(Shape):
    """A run to look at."""

    run: str
    job: Job
    state: str
    started: str | None
    ended: str | None
    last_seen: str | None


class RunHealth(Shape):
    """How runs fare; counts by state, `series` for each bucket of the window."""

    states: dict[str, int]
    series: dict[str, list[int]]
    failed: list[RunItem]
    lost: list[RunItem]
    lostCount: Count  # noqa: N815


class Window(Shape):
    """A time cut into buckets of equal length; it ends at `to`, not included."""

    from_: str = field(name="from")
    to: str
    bucketSeconds: Annotated[float, Meta(gt=0)]  # noqa: N815


class Overview(Shape):
    """What came in, what lags, how runs fare."""

    window: Window
    events: list[int]
    rejected: dict[str, list[int]]
    refused: dict[str, list[int]]
    runs: RunHealth | None
    pending: Count
    freshness: Annotated[float, Meta(ge=0)]


class Setting(Shape):
    """An effective setting; a secret is `***`."""

    setting: str
    value: Any
    default: bool
    description: str


class SettingsAnswer(Shape):
    """Every setting."""

    items: list[Setting]


class GraphNode(Shape):
    """A group of datasets, or one dataset; inside: lineage edges between its own datasets."""

    id: str
    kind: Literal["group", "dataset"]
    namespace: str
    name: str
    datasets: Count
    inside: Count


class GraphEdge(Shape):
    """So many lineage edges between datasets of two nodes, and the jobs that make them."""

    from_: str = field(name="from")
    to: str
    edges: Count
    jobs: Count


class GraphAnswer(Shape):
    """The table graph; totalCount: of nodes."""

    groups: Literal["namespace", "lakehouse", "schema", "none"]
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    totalCount: Count  # noqa: N815
    truncated: bool


class LineageTable(Shape):
    """A table around the asked one; distance below 0: it feeds it. moreUp, moreDown: neighbours beyond the answer."""

    namespace: str
    dataset: str
    columns: list[str]
    columnCount: Count  # noqa: N815
    distance: int
    columnLineage: bool  # noqa: N815
    moreUp: Count  # noqa: N815
    moreDown: Count  # noqa: N815


class LineageColumn(Shape):
    """A column related to the asked one; table: its place in `tables`."""

    table: Count
    column: str
    distance: int
    masked: bool


class ColumnEdge(Shape):
    """A step between two of `columns`, by its clearest transformation."""

    from_: Count = field(name="from")
    to: Count
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masked: bool


class TableEdge(Shape):
    """Jobs that lead from one of `tables` to another; columns: all of them say which columns."""

    from_: Count = field(name="from")
    to: Count
    columns: bool
    jobs: list[Job]


class Surroundings(Shape):
    """What lies around a dataset or a column."""

    subject: Column
    mode: Mode
    tables: list[LineageTable]
    columns: list[LineageColumn]
    columnEdges: list[ColumnEdge]  # noqa: N815
    tableEdges: list[TableEdge]  # noqa: N815
    truncated: bool


class TimelineItem(Shape):
    """An edge that appeared or ended, or a drop of the dataset."""

    time: str
    change: Literal["appeared", "ended", "dropped"]
    job: Job
    from_: Column | None = field(name="from")
    to: Column


class Timeline(Shape):
    """When the lineage of a dataset changed."""

    dataset: Dataset
    items: list[TimelineItem]
    totalCount: Count  # noqa: N815
    truncated: bool


class SentAgain(Shape):
    """What became of rejected events that were sent again."""

    sent: Count
    accepted: Count
    refused: Count
    reasons: list[str]
    truncated: bool


class Error(Shape):
    """Why a request was not answered: what, where, what to do; for a name nobody knows the nearest ones."""

    error: str
    field: str | None
    fix: str
    nearest: list[str] | UnsetType = UNSET
