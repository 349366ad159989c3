"""Value types for commits of a Delta table, in a module that does not import a table reader."""

from typing import Literal, NamedTuple

Replaced = Literal["whole", "part", "append", "unclear"]
"""The effect of a commit on the existing rows: it replaces all rows, changes a part, only adds rows, or is unclear."""


class TableCommit(NamedTuple):
    """A commit of a Delta table. time_us: its time (us, UTC).

    engine: the engine and version in its commitInfo. words: all words in its commitInfo that may be ids.
    changes_data: false if the commit only reorganises files. replaced: the effect on existing rows.
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
    """A Delta table with its commits in a period and the hour before this period.

    namespace, name: the name by OpenLineage's naming convention, to which naming rules have not been applied.
    """

    uri: str
    namespace: str
    name: str
    commits: list[TableCommit]
