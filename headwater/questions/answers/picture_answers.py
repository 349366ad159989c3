"""Answers that are drawn: groups of tables, and what lies around one."""

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
    """A group of datasets, or one dataset; inside: lineage edges between its own datasets."""

    id: str
    kind: Kind
    namespace: str
    name: str
    datasets: Count
    inside: Count


class GraphEdge(AnswerStruct):
    """So many lineage edges between datasets of two nodes, and the jobs that make them."""

    from_: str = field(name="from")
    to: str
    edges: Count
    jobs: Count


class GraphAnswer(AnswerStruct):
    """The table graph; totalCount: of nodes; hidden: system tables that were left out."""

    groups: Level
    nodes: list[GraphNode]
    edges: list[GraphEdge]
    totalCount: Count  # noqa: N815
    hidden: Count
    truncated: bool


class LineageTable(Dataset):
    """A table around the asked one; distance below 0: it feeds it. moreUp, moreDown: neighbours beyond the answer."""

    columns: list[str]
    columnCount: Count  # noqa: N815
    distance: int
    columnLineage: bool  # noqa: N815
    moreUp: Count  # noqa: N815
    moreDown: Count  # noqa: N815


class LineageColumn(AnswerStruct):
    """A column related to the asked one; table: its place in `tables`."""

    table: Count
    column: str
    distance: int
    masked: MaskedOnTheWay


class ColumnEdge(AnswerStruct):
    """A step between two of `columns`, by its clearest transformation."""

    from_: Count = field(name="from")
    to: Count
    type: Literal["DIRECT", "INDIRECT"]
    subtype: str | None
    masked: bool


class TableEdge(AnswerStruct):
    """Jobs that lead from one of `tables` to another; columns: all of them say which columns."""

    from_: Count = field(name="from")
    to: Count
    columns: bool
    jobs: list[Job]


class Neighbourhood(AnswerStruct):
    """What lies around a dataset or a column; hidden: system tables beside what is shown that were left out."""

    subject: Column
    mode: Mode
    tables: list[LineageTable]
    columns: list[LineageColumn]
    columnEdges: list[ColumnEdge]  # noqa: N815
    tableEdges: list[TableEdge]  # noqa: N815
    hidden: Count
    truncated: bool
