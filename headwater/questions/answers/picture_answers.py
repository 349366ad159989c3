"""Answers for graphs: groups of tables, and the surroundings of a table."""

from typing import Literal

from msgspec import field

from headwater.questions.answers.answer_parts import (
    AnswerStruct,
    Column,
    Count,
    Dataset,
    Displayed,
    Job,
    MaskedOnTheWay,
    Mode,
)

Kind = Literal["group", "dataset"]
Level = Literal["namespace", "lakehouse", "schema", "none"]


class GraphNode(Displayed):
    """A group of datasets, or one dataset. inside: number of lineage edges between its own datasets."""

    id: str
    kind: Kind
    namespace: str
    name: str
    datasets: Count
    inside: Count


class GraphEdge(AnswerStruct):
    """The number of lineage edges between datasets of two nodes, and of the jobs that make them."""

    from_: str = field(name="from")
    to: str
    edges: Count
    jobs: Count


class GraphAnswer(AnswerStruct):
    """The graph of tables. totalCount: number of nodes. hidden: number of omitted system tables."""

    groups: Level
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    totalCount: Count  # noqa: N815
    hidden: Count
    truncated: bool


class LineageTable(Dataset):
    """A table around the requested one.

    distance: negative upstream. moreUp, moreDown: number of neighbours that are not shown.
    """

    columns: list[str]
    columnCount: Count  # noqa: N815
    distance: int
    columnLineage: bool  # noqa: N815
    moreUp: Count  # noqa: N815
    moreDown: Count  # noqa: N815


class LineageColumn(AnswerStruct):
    """A column related to the requested one. table: its position in `tables`."""

    table: Count
    column: str
    distance: int
    masked: MaskedOnTheWay


class ColumnEdge(AnswerStruct):
    """A step between two of `columns`. If it has several transformations, the most direct, unmasked one."""

    from_: Count = field(name="from")
    to: Count
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masked: bool


class TableEdge(AnswerStruct):
    """Jobs that lead from one of `tables` to another. columns: all of them report column lineage."""

    from_: Count = field(name="from")
    to: Count
    columns: bool
    jobs: list[Job]


class Neighbourhood(AnswerStruct):
    """The surroundings of a dataset or a column. hidden: number of omitted system tables next to the shown ones."""

    subject: Column
    mode: Mode
    tables: list[LineageTable]
    columns: list[LineageColumn]
    columnEdges: list[ColumnEdge]  # noqa: N815
    tableEdges: list[TableEdge]  # noqa: N815
    hidden: Count
    truncated: bool
