"""What is known of a Delta table's commits: values alone, so that naming them imports no reader of tables."""

from typing import Literal, NamedTuple

Replaced = Literal["whole", "part", "append", "unclear"]
"""What a commit does to the rows that are there: it replaces all of them, changes a part, or only adds rows."""


class TableCommit(NamedTuple):
    """A commit; time in us, UTC.

    engine: what wrote it, as it says; words: ids that its writer left in it; changes_data: not only where rows lie.
    replaced: what it does to the rows that are there.
    """

    version: int
    time_us: int
    operation: str
    engine: str
    user: str
    words: frozenset[str]
    changes_data: bool
    replaced: Replaced = "unclear"


class CommittedTable(NamedTuple):
    """A Delta table, the name it has as a dataset before any rule, its commits of a span and of an hour before."""

    uri: str
    namespace: str
    name: str
    commits: list[TableCommit]
