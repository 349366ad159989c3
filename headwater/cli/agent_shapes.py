"""What agents are answered: names as texts, one line for each thing; `left_out` counts the rest."""

from msgspec import Struct, field


class NamesFound(Struct):
    """What is called like what was asked, best first."""

    found: list[str]
    left_out: str | None


class ColumnsReached(Struct):
    """Columns by dataset, nearest first, each with its steps, and from where, by which job and how the last one led."""

    of: str
    columns: dict[str, list[str]]
    stops: list[str]
    left_out: str | None


class WayShown(Struct):
    """The steps of a way."""

    reaches: bool
    path: list[str]
    stops: list[str]
    left_out: str | None


class ColumnsExposed(Struct, omit_defaults=True, kw_only=True):
    """Columns by exposure, each with the job that wrote it and how."""

    tagged: list[str]
    counts: dict[str, int]
    exposed: list[str] = []
    once_exposed: list[str] = []
    unknown: list[str] = []
    masked: list[str] = []
    left_out: str | None


class ColumnsJudged(Struct, omit_defaults=True, kw_only=True):
    """Columns of one verdict, and why."""

    counts: dict[str, int]
    used: list[str] = []
    unused: list[str] = []
    unknown: list[str] = []
    reasons: list[str]
    caveats: list[str]
    left_out: str | None


class EdgesChanged(Struct):
    """Edges that came, went or changed."""

    counts: dict[str, int]
    edges: list[str]
    left_out: str | None


class ThingsChanged(Struct):
    """What changed beside lineage, one line each."""

    from_: str = field(name="from")
    to: str | None
    counts: dict[str, int]
    changes: list[str]
    left_out: str | None


class DatasetTold(Struct):
    """What single answers say of a dataset."""

    dataset: str
    columns: list[str]
    made_of: list[str]
    written_by: list[str]
    feeds: list[str]
    also_read_by: list[str]
    changes: list[str]
    left_out: str | None
