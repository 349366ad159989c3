"""The parameters of questions, each defined once: its type, what it means, its bounds."""

from typing import Annotated, Literal

from headwater.lineage.runs.job_hierarchy import Granularity as JobLevel
from headwater.lineage.walks.walk import Mode as WalkMode
from headwater.questions.answers.list_answers import ChangedThing, ChangeWord
from headwater.questions.answers.picture_answers import Level
from headwater.questions.answers.report_answers import FindingKind
from headwater.questions.declaring import Help
from headwater.questions.moments import Microseconds, Moment

MAX_LIMIT = 10_000
MAX_DEPTH = 1_000
MAX_AROUND = 5_000
MAX_NODES = 2_000
MAX_FOUND = 60
MAX_TEXT = 200
DATASET = "silver/customers"

Namespace = Annotated[str | None, Help("Namespace of the dataset; may be left out where the name is enough.")]
Dataset = Annotated[str, Help("A dataset by its name, any alias, or a unique end of its name.", example=DATASET)]
AnyDataset = Annotated[
    str | None, Help("A dataset by its name, any alias, or a unique end of its name; without it all.", example=DATASET)
]
Column = Annotated[str | None, Help("A column in any case; without it the whole dataset.", example="email")]
FromNamespace = Annotated[str | None, Help("Namespace of the end the way leads from.")]
FromDataset = Annotated[str, Help("Dataset of the end the way leads from.")]
FromColumn = Annotated[str | None, Help("Column of the end the way leads from.")]
ToNamespace = Annotated[str | None, Help("Namespace of the end the way leads to.")]
ToDataset = Annotated[str, Help("Dataset of the end the way leads to.")]
ToColumn = Annotated[str | None, Help("Column of the end the way leads to.")]
Mode = Annotated[WalkMode, Help("value: what values are made of; any: also what filters, joins, groups or sorts.")]
Depth = Annotated[int, Help("At most so many edges away.", most=MAX_DEPTH)]
Limit = Annotated[int, Help("At most so many items.", most=MAX_LIMIT)]
Containing = Annotated[str | None, Help("Only items with this in a name, in any case.", longest=MAX_TEXT)]
Sort = Annotated[str | None, Help("By which member, such as name; -name from the greatest down.", longest=MAX_TEXT)]
Cursor = Annotated[str | None, Help("Go on behind a page: its `next`.")]
Roots = Annotated[bool, Help("only the far ends.")]
Paths = Annotated[bool, Help("with each column the way to it.")]
Up = Annotated[int, Help("At most so many edges towards what feeds it.", 0, MAX_DEPTH)]
Down = Annotated[int, Help("At most so many edges towards what it feeds.", 0, MAX_DEPTH)]
Around = Annotated[int, Help("At most so many columns, or without a column so many tables.", most=MAX_AROUND)]
Found = Annotated[int, Help("At most so many, best first.", most=MAX_FOUND)]
Nodes = Annotated[int, Help("At most so many nodes, the largest groups first.", most=MAX_NODES)]
View = Annotated[
    Literal["current", "newest", "all"],
    Help(
        "current; newest: only newest executions, without earlier ones and jobs presumed retired; or all that ever was."
    ),
]
Window = Annotated[
    int | None,
    Help(
        "Days in which an earlier execution counts as use; 0: only newest ones do. Without it the setting "
        "`window_days`, which is 92.",
        0,
        36_500,
    ),
]
AsOf = Annotated[Microseconds | None, Help("Lineage by events with an event time up to this.")]
KnownAt = Annotated[Microseconds | None, Help("Lineage by events received up to this.")]
SeenSince = Annotated[Microseconds | None, Help("Only edges that a run reported since.")]
Origins = Annotated[
    str | None,
    Help("Only edges of these origins, separated by commas: observed, declared, inferred from SQL; without it all."),
]
Strict = Annotated[bool, Help("a batch job that read it and wrote nothing may have used any column.")]
Exposure = Annotated[
    Literal["exposed", "unknown", "masked", "once_exposed", "tagged"] | None,
    Help("Only these; once_exposed: not written in the clear now, but before; tagged: columns that have the tag."),
]
Verdict = Annotated[Literal["used", "unused", "unknown"] | None, Help("Only columns with this verdict.")]
Change = Annotated[Literal["added", "removed", "changed"] | None, Help("Only these.")]
ChangeAsked = Annotated[ChangeWord | None, Help("Only these.")]
Thing = Annotated[ChangedThing | None, Help("Only what changed of these.")]
FindingKindAsked = Annotated[FindingKind | None, Help("Only findings of this kind.")]
CoverageKind = Annotated[Literal["dataset", "job"] | None, Help("Only these.")]
InNamespace = Annotated[str | None, Help("Only of this namespace.")]
Owner = Annotated[str | None, Help("Only what has this owner, by its ownership facet.")]
Tagged = Annotated[str | None, Help("Only what has this tag, itself or on a column.")]
RunStateAsked = Annotated[
    Literal["RUNNING", "COMPLETE", "FAIL", "ABORT", "LOST", "ENDED"] | None,
    Help(
        "Only with a run in this state, of datasets and jobs the last one; LOST: nothing was heard of it for 24 h; "
        "ENDED: it sent no end, but its application or what started that has ended."
    ),
]
JobOfRuns = Annotated[str | None, Help("Only runs of this job: its name, or NAMESPACE/NAME.")]
Before = Annotated[Microseconds | None, Help("Only what is older than this.")]
Tag = Annotated[str, Help("Tag of the columns that matter.")]
Since = Annotated[Microseconds | None, Help("Only what is newer: received, exposed or changed at or after this.")]
From = Annotated[Microseconds, Help("From this moment on.", called="since")]
To = Annotated[Microseconds | None, Help("Up to this one; now without it.", called="until")]
FromMoment = Annotated[Moment, Help("From this moment on.", called="since")]
ToMoment = Annotated[Moment | None, Help("Up to this one; now without it.", called="until")]
Against = Annotated[Moment | None, Help("As it was then; after run:ID as that run left it. Now without it.")]
RunOf = Annotated[str | None, Help("A run id, or the beginning of one if no other begins so.")]
After = Annotated[str | None, Help("Go on behind the run of this id, which `next` of the page before names.")]
RunId = Annotated[
    str,
    Help("A run id, or the beginning of one if no other begins so.", example="0195c000-0000-7000-8000-000000000002"),
]
Entity = Annotated[Literal["run", "job", "dataset"], Help("What has the facet.")]
Facet = Annotated[str, Help("Name of the facet, such as ownership.", example="ownership")]
Listed = Annotated[int, Help("At most so many, newest first.", most=1_000)]
SentNamespace = Annotated[str, Help("Namespace as a producer wrote it.")]
SentName = Annotated[str, Help("Name as a producer wrote it.", example="/silver/customers/")]
SentProducer = Annotated[str | None, Help("Producer of the event that names it: some rules depend on it.")]
SentJobNamespace = Annotated[
    str | None, Help("Namespace of the job in the event that names it: some rules depend on it.")
]
At = Annotated[Microseconds | None, Help("What it meant then.")]
NameOfJob = Annotated[bool, Help("the name is that of a job.")]
Address = Annotated[
    str,
    Help("Address at which producers reach this Headwater.", longest=2_000, example="http://localhost:5000"),
]
Text = Annotated[
    str, Help("Parts of names, separated by spaces.", longest=MAX_TEXT, called="text", example="customers")
]
Kinds = Annotated[str | None, Help("Only these, separated by commas: job, dataset, alias, column, tag.")]
Groups = Annotated[Level, Help("Where groups begin; none shows datasets.")]
Granularity = Annotated[
    JobLevel,
    Help("Each job stands for itself, or is folded into the job, application, task or DAG that it is part of."),
]
JobNamespace = Annotated[str | None, Help("Namespace of the job; may be left out where the name is enough.")]
AnyJob = Annotated[str | None, Help("A job by its name, or NAMESPACE/NAME; without it all.")]
System = Annotated[bool, Help("also tables that databases keep of themselves, such as information_schema.")]
Former = Annotated[bool, Help("also former locations, which no name means any more.")]
Offset = Annotated[int, Help("Leave out so many.", 0, 1_000_000)]
Expand = Annotated[tuple[str, ...], Help("Id of a group to be opened; may come several times.")]
OfEither = Annotated[str | None, Help("Namespace of the dataset or job; may be left out where the name is enough.")]
HealthStatus = Annotated[
    Literal["failed", "late", "stale"] | None, Help("Only these; without it all that are not well.")
]
Drawn = Annotated[tuple[str, ...], Help('What is drawn, as ["dataset","NAMESPACE","NAME"] or ["job", …]; 100 at most.')]
