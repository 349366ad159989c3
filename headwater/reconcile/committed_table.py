"""What is known of a Delta table's commits: values alone, so that naming them imports no reader of tables."""

from typing import NamedTuple


class TableCommit(NamedTuple):
    """A commit; time in us, UTC.

    engine: what wrote it, as it says; words: ids that its writer left in it; changes_data: not only where rows lie.
    """

    version: int
    time_us: int
    operation: str
    engine: str
    user: str
    words: frozenset[str]
    changes_data: bool


class CommittedTable(NamedTuple):
    """A Delta table, the name it has as a dataset before any rule, its commits of a span and of an hour before."""

    uri: str
    namespace: str
    name: str
    commits: list[TableCommit]
