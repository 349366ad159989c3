"""Shapes of the answers for agents: one line of text for each item; `left_out` counts the omitted items."""

from msgspec import Struct, field


class SearchMatches(Struct):
    """Names that match a search, best match first."""

    found: list[str]
    left_out: str | None


class ReachedColumns(Struct):
    """Reached columns by dataset, nearest first. Each line has the number of steps and describes the last step."""

    of: str
    columns: dict[str, list[str]]
    stops: list[str]
    left_out: str | None


class PathSteps(Struct):
    """The steps of a path."""

    reaches: bool
    path: list[str]
    stops: list[str]
    left_out: str | None


class ExposedColumns(Struct, omit_defaults=True, kw_only=True):
    """Columns by exposure, each with the job that wrote it and how."""

    tagged: list[str]
    counts: dict[str, int]
    exposed: list[str] = []
    once_exposed: list[str] = []
    unknown: list[str] = []
    masked: list[str] = []
    left_out: str | None


class ColumnVerdicts(Struct, omit_defaults=True, kw_only=True):
    """Columns of one verdict, with reasons."""

    counts: dict[str, int]
    used: list[str] = []
    unused: list[str] = []
    unknown: list[str] = []
    reasons: list[str]
    caveats: list[str]
    left_out: str | None


class EdgeChanges(Struct):
    """Added, removed and changed edges."""

    counts: dict[str, int]
    edges: list[str]
    left_out: str | None


class OtherChanges(Struct):
    """Changes other than lineage, one line each."""

    from_: str = field(name="from")
    to: str | None
    counts: dict[str, int]
    changes: list[str]
    left_out: str | None


class DatasetSummary(Struct):
    """A summary of one dataset."""

    dataset: str
    columns: list[str]
    made_of: list[str]
    written_by: list[str]
    feeds: list[str]
    also_read_by: list[str]
    changes: list[str]
    left_out: str | None
