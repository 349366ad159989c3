"""Answers about single columns: exposure, verdicts and names."""

from typing import Literal

from msgspec import UNSET, UnsetType

from headwater.lineage.edges.output_lineage import EdgeOrigin
from headwater.questions.answer_types.common import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Displayed,
    FormerLocation,
    Job,
    JobUnread,
    ListAnswer,
    StepTransformation,
    Time,
    UnfinishedRun,
)


class SurfaceVia(Displayed, kw_only=True):
    """The last step into a column. If the column was written without column lineage, only the job is set.

    unread: why the SQL of the job was not used, or only a part of it. not_completed: the run that may have written the
    column.
    """

    namespace: str | UnsetType = UNSET
    dataset: str | UnsetType = UNSET
    column: str | UnsetType | None = UNSET
    job: Job
    transformation: StepTransformation | UnsetType = UNSET
    origin: EdgeOrigin | UnsetType = UNSET
    doubtful: bool | UnsetType = UNSET
    presumed_retired: bool | UnsetType = UNSET
    unread: str | UnsetType = UNSET
    not_completed: list[UnfinishedRun] | UnsetType = UNSET


class SurfaceItem(Column):
    """A column that has the tag or may contain a tagged value.

    how: the last transformation, or a text if none is reported. tagged: the column itself has the tag, and `exposure`
    describes its own writes.
    exposed_until: newest executions do not write the column unmasked, but rows that were written unmasked until this
    time may still be there.
    earlier: only earlier writes reach the column, and no whole rewrite has replaced their rows. former: set if no name
    means the dataset any more.
    """

    exposure: Literal["exposed", "once_exposed", "unknown", "masked"]
    tagged: bool
    exposed_until: Time | None
    how: StepTransformation | str
    source: Column | None
    via: SurfaceVia | None
    earlier: bool
    former: FormerLocation | UnsetType = UNSET


class Exposures(AnswerStruct):
    """Number of columns for each exposure, whether they are listed or not.

    once_exposed: includes masked and unknown columns with an `exposed_until`. tagged: columns of any exposure that have
    the tag themselves.
    """

    exposed: Count
    unknown: Count
    masked: Count
    once_exposed: Count
    tagged: Count


class Surface(ListAnswer):
    """The masking surface: all columns that have a tag or may contain values of tagged columns.

    events_removed_before: events before this day (UTC) were removed, so columns may be missing and no column is proven
    to be masked.
    """

    tag: str
    sources: list[Column]
    items: list[SurfaceItem]
    exposures: Exposures
    events_removed_before: str | UnsetType = UNSET


class Showing(AnswerStruct):
    """A batch job that read a dataset and wrote nothing, with the time of its last read."""

    job: Job
    time: Time | None


Word = Literal["used", "unused", "unknown"]


class Verdict(Column):
    """Whether a column can be dropped.

    read_before_recreation: its readers only read the dataset before it was last recreated.
    readers: position of its dataset in the `readers` of the answer.
    readers_only: the dataset has a complete list of columns, and only later lists of readers or lineage name this
    column.
    earlier: no newest execution uses it, but an earlier one within the window did.
    last_used: time of the last use by any run, also before the window; null if none is known.
    observed_since: start of the period in which runs that use it are known, or, for an unused column, runs that read
    its dataset.
    presumed_retired: all jobs in `read_by` are presumed retired (rule 6.12).
    shown_by: deprecated, removed in the version after the next: use `shown_by` of the dataset's entry in `readers`.
    """

    verdict: Word
    reason: str | None
    caveats: list[str]
    read_by: list[Job]
    read_before_recreation: bool
    shown_by: list[Showing]
    consumers: list[str]
    readers: Count
    observed_since: Time | None
    last_used: Time | None
    earlier: bool
    readers_only: bool
    presumed_retired: bool | UnsetType = UNSET


class Verdicts(AnswerStruct):
    """Number of columns for each verdict, whether they are listed or not."""

    used: Count
    unused: Count
    unknown: Count


class Reason(AnswerStruct):
    """Number of columns with the same verdict and reason."""

    verdict: Word
    reason: str
    count: Count


class DatasetReaders(Dataset):
    """The jobs that read a dataset, and those of them that report no column lineage for it.

    shown_by: batch jobs that read the dataset and wrote nothing. not_completed: runs with the dataset as input that did
    not complete.
    unread: readers whose SQL was not used, with the reason. former: set if no name means the dataset any more.
    presumed_retired: the jobs that are presumed retired (rule 6.12); they come last in `jobs`.
    """

    jobs: list[Job]
    without_column_lineage: list[Job]
    shown_by: list[Showing]
    not_completed: list[UnfinishedRun]
    unread: list[JobUnread]
    former: FormerLocation | UnsetType = UNSET
    presumed_retired: list[Job] | UnsetType = UNSET


class Unused(ListAnswer):
    """Columns with verdicts.

    readers: one entry for each dataset of the items. reasons: most frequent first. hidden: number of omitted system
    tables. former_hidden: number of omitted former locations.
    """

    items: list[Verdict]
    readers: list[DatasetReaders]
    verdicts: Verdicts
    reasons: list[Reason]
    hidden: Count
    former_hidden: Count


class NameStep(AnswerStruct):
    """A rule that applied to a name, with the new name and the reason."""

    rule: str
    namespace: str
    name: str
    why: str


class Names(AnswerStruct):
    """The dataset or job that a name means."""

    canonical: Job
    rules_hash: str
    items: list[NameStep]


class Rules(AnswerStruct):
    """The active rules."""

    rules_hash: str
    names_hash: str
    indexed: bool
    tags: Count
    masking: Count
    consumers: Count
    problems: list[str]


class Found(Displayed):
    """A search result."""

    kind: Literal["job", "dataset", "alias", "column", "tag"]
    namespace: str
    name: str
    column: str | None
    tag: str | None
    means: Dataset | None
    match: Literal["exact", "prefix", "word", "part", "parent", "similar", "description"]
    uses: Count
    last_seen: Time | None


class SearchAnswer(ListAnswer):
    """Search results, best first."""

    items: list[Found]
