"""The parameters of questions, each defined once with type, description and bounds."""

from typing import Annotated, Literal

from headwater.lineage.runs.jobs import JobLevel
from headwater.lineage.traversal.impact import Mode as WalkMode
from headwater.questions.answer_types.graphs import Level
from headwater.questions.answer_types.lists import ChangedThing, ChangeWord
from headwater.questions.answer_types.reports import FindingKind
from headwater.questions.answer_types.volume import Measure
from headwater.questions.declaring import Help
from headwater.questions.moments import Microseconds, Moment

MAX_LIMIT = 10_000
MAX_DEPTH = 1_000
MAX_AROUND = 5_000
MAX_NODES = 2_000
MAX_FOUND = 60
MAX_TEXT = 200
DATASET = "silver/customers"

Namespace = Annotated[str | None, Help("Namespace of the dataset; optional if the name is unique.")]
Dataset = Annotated[str, Help("A dataset by its name, an alias, or a unique end of its name.", example=DATASET)]
AnyDataset = Annotated[
    str | None, Help("A dataset by its name, an alias, or a unique end of its name; default: all.", example=DATASET)
]
Column = Annotated[
    str | None, Help("Name of a column, without regard to case; default: the whole dataset.", example="email")
]
FromNamespace = Annotated[str | None, Help("Namespace of the dataset at the start of the path.")]
FromDataset = Annotated[str, Help("Dataset at the start of the path.")]
FromColumn = Annotated[str | None, Help("Column at the start of the path.")]
ToNamespace = Annotated[str | None, Help("Namespace of the dataset at the end of the path.")]
ToDataset = Annotated[str, Help("Dataset at the end of the path.")]
ToColumn = Annotated[str | None, Help("Column at the end of the path.")]
Mode = Annotated[WalkMode, Help("value: steps that pass values; any: also columns that filter, join, group or sort.")]
Depth = Annotated[int, Help("Maximum number of edges.", most=MAX_DEPTH)]
Limit = Annotated[int, Help("Maximum number of items.", most=MAX_LIMIT)]
Containing = Annotated[
    str | None, Help("Only items whose name contains this text, without regard to case.", longest=MAX_TEXT)
]
Sort = Annotated[str | None, Help("Sort by this member, such as name; -name sorts descending.", longest=MAX_TEXT)]
Cursor = Annotated[str | None, Help("Continue after a page: its `next`.")]
Roots = Annotated[bool, Help("only the columns at the far ends.")]
Paths = Annotated[bool, Help("add the path to each column.")]
Up = Annotated[int, Help("Maximum number of edges upstream.", 0, MAX_DEPTH)]
Down = Annotated[int, Help("Maximum number of edges downstream.", 0, MAX_DEPTH)]
Around = Annotated[int, Help("Maximum number of columns, or of tables if no column is given.", most=MAX_AROUND)]
Found = Annotated[int, Help("Maximum number of results, best first.", most=MAX_FOUND)]
Nodes = Annotated[int, Help("Maximum number of nodes, largest groups first.", most=MAX_NODES)]
View = Annotated[
    Literal["current", "newest", "all"],
    Help("current; newest: without earlier executions and jobs presumed retired; all: include historical lineage."),
]
Window = Annotated[
    int | None,
    Help(
        "Days in which an earlier execution counts as use; 0: only newest executions count. Default: the setting "
        "`window_days` (92).",
        0,
        36_500,
    ),
]
AsOf = Annotated[Microseconds | None, Help("Only events with an event time up to this time.")]
KnownAt = Annotated[Microseconds | None, Help("Only events received up to this time.")]
SeenSince = Annotated[Microseconds | None, Help("Only edges that a run reported since this time.")]
Origins = Annotated[
    str | None,
    Help("Only edges with these origins, separated by commas: observed, declared, inferred (from SQL); default: all."),
]
Strict = Annotated[bool, Help("a batch job that read the dataset and wrote nothing may have used all columns.")]
Exposure = Annotated[
    Literal["exposed", "unknown", "masked", "once_exposed", "tagged"] | None,
    Help("Only these; once_exposed: contains unmasked rows of earlier writes; tagged: columns that have the tag."),
]
Verdict = Annotated[Literal["used", "unused", "unknown"] | None, Help("Only columns with this verdict.")]
Change = Annotated[Literal["added", "removed", "changed"] | None, Help("Only changes of this kind.")]
ChangeAsked = Annotated[ChangeWord | None, Help("Only changes of this kind.")]
Thing = Annotated[ChangedThing | None, Help("Only changes of this kind of object.")]
FindingKindAsked = Annotated[FindingKind | None, Help("Only findings of this kind.")]
CoverageKind = Annotated[Literal["dataset", "job"] | None, Help("Only datasets, or only jobs.")]
InNamespace = Annotated[str | None, Help("Only items in this namespace.")]
Owner = Annotated[str | None, Help("Only items with this owner in their ownership facet.")]
Tagged = Annotated[str | None, Help("Only items with this tag, including tags of columns.")]
RunStateAsked = Annotated[
    Literal["RUNNING", "COMPLETE", "FAIL", "ABORT", "LOST", "ENDED"] | None,
    Help(
        "Only items with this run state (for datasets and jobs, of the last run). LOST: no event for 24 h. "
        "ENDED: no end event, but its parent or root run has ended."
    ),
]
JobOfRuns = Annotated[str | None, Help("Only runs of this job: its name, or NAMESPACE/NAME.")]
Before = Annotated[Microseconds | None, Help("Only items before this time.")]
Tag = Annotated[str, Help("The tag of the sensitive columns.")]
Since = Annotated[Microseconds | None, Help("Only items received, exposed or changed at or after this time.")]
OpenSince = Annotated[
    Microseconds | None, Help("Only incidents that were open at or after this time; default: 24 hours before.")
]
IncidentId = Annotated[str, Help("The id of the incident, from `incidents`.")]
From = Annotated[Microseconds, Help("Start time.", called="since")]
To = Annotated[Microseconds | None, Help("End time; default: now.", called="until")]
FromMoment = Annotated[Moment, Help("Start time.", called="since")]
ToMoment = Annotated[Moment | None, Help("End time; default: now.", called="until")]
Against = Annotated[Moment | None, Help("The state at this time, or after the run for run:ID; default: now.")]
RunOf = Annotated[str | None, Help("A run id, or a unique beginning of one.")]
After = Annotated[str | None, Help("Continue after this run id: `next` of the previous page.")]
RunId = Annotated[
    str,
    Help("A run id, or a unique beginning of one.", example="0195c000-0000-7000-8000-000000000002"),
]
Entity = Annotated[Literal["run", "job", "dataset"], Help("The kind of object with the facet.")]
Facet = Annotated[str, Help("Name of the facet, such as ownership.", example="ownership")]
Listed = Annotated[int, Help("Maximum number of items, newest first.", most=1_000)]
SentNamespace = Annotated[str, Help("Namespace as a producer sends it.")]
SentName = Annotated[str, Help("Name as a producer sends it.", example="/silver/customers/")]
SentProducer = Annotated[str | None, Help("Producer of the event with the name; some rules depend on it.")]
SentJobNamespace = Annotated[
    str | None, Help("Namespace of the job in the event with the name; some rules depend on it.")
]
At = Annotated[Microseconds | None, Help("The meaning at this time.")]
NameOfJob = Annotated[bool, Help("the name is a job's name.")]
Address = Annotated[
    str,
    Help("Address of this Headwater for producers.", longest=2_000, example="http://localhost:5000"),
]
Text = Annotated[
    str, Help("Parts of names, separated by spaces.", longest=MAX_TEXT, called="text", example="customers")
]
Kinds = Annotated[str | None, Help("Only these, separated by commas: job, dataset, alias, column, tag.")]
Groups = Annotated[Level, Help("Level of the groups; none shows datasets.")]
Granularity = Annotated[
    JobLevel,
    Help(
        "`statement` shows each job by itself. The other values fold each job into the job, application, task or DAG "
        "above it."
    ),
]
JobNamespace = Annotated[str | None, Help("Namespace of the job; optional if the name is unique.")]
AnyJob = Annotated[str | None, Help("A job by its name, or NAMESPACE/NAME; default: all.")]
System = Annotated[bool, Help("include system tables, such as information_schema.")]
Former = Annotated[bool, Help("include former locations, which no name means any more.")]
Offset = Annotated[int, Help("Number of items to skip.", 0, 1_000_000)]
Expand = Annotated[tuple[str, ...], Help("Id of a group to expand; can be repeated.")]
OfEither = Annotated[str | None, Help("Namespace of the dataset or job; optional if the name is unique.")]
MeasureAsked = Annotated[Measure | None, Help("Only this measure; default: all.")]
Points = Annotated[int, Help("Maximum number of points of a series, the newest ones.", most=2_500)]
HealthStatus = Annotated[
    Literal["failed", "late", "stale"] | None, Help("Only this status; default: failed, late and stale.")
]
Drawn = Annotated[
    tuple[str, ...], Help('A shown item, as ["dataset","NAMESPACE","NAME"] or ["job", …]; at most 100, repeated.')
]
