"""Answers about single columns: who may read them, who needs them, and what they are called."""

from typing import Literal

from msgspec import UNSET, UnsetType

from headwater.lineage.edges.origins import Origin
from headwater.questions.answers.answer_parts import (
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
    """The last step to a column; only its job where it was written without column lineage.

    unread: why nothing, or not all, follows from the SQL of that job. not_completed: the run that may have written the
    column.
    """

    namespace: str | UnsetType = UNSET
    dataset: str | UnsetType = UNSET
    column: str | UnsetType | None = UNSET
    job: Job
    transformation: StepTransformation | UnsetType = UNSET
    origin: Origin | UnsetType = UNSET
    doubtful: bool | UnsetType = UNSET
    presumed_retired: bool | UnsetType = UNSET
    unread: str | UnsetType = UNSET
    not_completed: list[UnfinishedRun] | UnsetType = UNSET


class SurfaceItem(Column):
    """A column that has the tag or may hold a tagged value; `how` is a reason in words where nobody says.

    tagged: the column has the tag itself, and `exposure` is the state of its own writes.
    exposed_until: newest executions do not write it in the clear, and rows that were written so up to then may still be
    there. earlier: only earlier writes lead there, whose rows no whole rewrite has replaced. former: the name that
    meant its dataset, where no name does any more.
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
    """How many columns there are of each exposure, whichever of them are listed.

    once_exposed: with the masked and unknown ones that have an `exposed_until`; tagged: of all, those that have the tag
    themselves.
    """

    exposed: Count
    unknown: Count
    masked: Count
    once_exposed: Count
    tagged: Count


class Surface(ListAnswer):
    """The masking surface.

    events_removed_before: the day (UTC) before which events were removed, so that columns may be missing and no column
    is proven to be masked.
    """

    tag: str
    sources: list[Column]
    items: list[SurfaceItem]
    exposures: Exposures
    events_removed_before: str | UnsetType = UNSET


class Showing(AnswerStruct):
    """A batch job that read a dataset and wrote nothing, and when it last did."""

    job: Job
    time: Time | None


Word = Literal["used", "unused", "unknown"]


class Verdict(Column):
    """Whether a column may be dropped.

    read_before_recreation: its readers read the dataset before it was last made anew, none since.
    readers: position of its dataset in the answer's `readers`.
    readers_only: its dataset has a complete list of columns, and only lists of readers or lineage name this one since.
    earlier: no newest execution uses it, but an earlier one within the window did. last_used: when a run last did,
    be it before the window; null where none is known. observed_since: since when runs are known that read it, or for
    an unused column its dataset. presumed_retired: all jobs in `read_by` are presumed retired (rule 6.12).
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
    """How many columns there are of each verdict, whichever of them are listed."""

    used: Count
    unused: Count
    unknown: Count


class Reason(AnswerStruct):
    """How many columns have a verdict for one reason."""

    verdict: Word
    reason: str
    count: Count


class DatasetReaders(Dataset):
    """The jobs that read a dataset, and those of them that report no column lineage for it.

    shown_by: batch jobs that read the dataset and wrote nothing. not_completed: runs that list it as an input and did
    not complete. unread: the readers whose SQL would tell more if it were read, with the reason why it is not.
    former: the name that meant it, where no name does any more. presumed_retired: the jobs among them that are presumed
    retired (rule 6.12); they come last.
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

    readers: of each dataset that an item is of, once; reasons: the most frequent first; hidden: system tables that
    were left out; former_hidden: locations that no name means any more, which were.
    """

    items: list[Verdict]
    readers: list[DatasetReaders]
    verdicts: Verdicts
    reasons: list[Reason]
    hidden: Count
    former_hidden: Count


class NameStep(AnswerStruct):
    """What one rule made of a name."""

    rule: str
    namespace: str
    name: str
    why: str


class Names(AnswerStruct):
    """Which dataset a name means."""

    canonical: Job
    rules_hash: str
    items: list[NameStep]


class Rules(AnswerStruct):
    """Which rules are in force."""

    rules_hash: str
    names_hash: str
    indexed: bool
    tags: Count
    masking: Count
    consumers: Count
    problems: list[str]


class Found(Displayed):
    """Something that is called so."""

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
    """What was found, best first."""

    items: list[Found]
