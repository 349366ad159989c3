"""Commits of a Delta table. Only values, so importing them loads no table reader."""

from typing import Literal, NamedTuple

Replaced = Literal["whole", "part", "append", "unclear"]
"""The effect of a commit on existing rows: it replaces all of them, changes a part, or only adds rows."""


class TableCommit(NamedTuple):
    """A commit. time_us: us, UTC.

    engine: the writer, as it reports itself. words: ids in its commitInfo. changes_data: false if it only reorganises
    files. replaced: its effect on existing rows.
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
    """A Delta table, its name before naming rules, and its commits in a period and the hour before it."""

    uri: str
    namespace: str
    name: str
    commits: list[TableCommit]
