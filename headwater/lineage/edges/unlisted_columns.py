"""Rule 12.10: for a dataset that no run writes, find the columns that its readers no longer list."""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from headwater.lineage.edges.schema_history import SchemaMention
from headwater.lineage.names.dataset_name import Name

SchemaKeys = Callable[[str], frozenset[str]]
"""(content hash of a list of columns) → keys of these columns"""


class ReaderList(NamedTuple):
    """A list of columns that a job reported when it read a dataset."""

    job: Name
    mention: SchemaMention


class UnlistedColumn(NamedTuple):
    """A column that an older list has and that no reader's newest list has.

    column: the key of the column.
    last_mention: the newest list that has the column.
    unlisted_since: the first list from which on no reader listed the column.
    """

    column: str
    last_mention: SchemaMention
    unlisted_since: SchemaMention


def find_unlisted_columns(
    reader_lists: Iterable[ReaderList], other_lists: Iterable[SchemaMention], keys_of: SchemaKeys
) -> list[UnlistedColumn]:
    """Return the columns that some older list has and that no reader's newest list has, sorted by key.

    reader_lists: the lists from jobs that read the dataset, within the last 92 days.
    other_lists: all other lists of columns of the dataset.
    keys_of: returns the keys of the columns in a list.
    """
    by_job: dict[Name, list[SchemaMention]] = {}
    for job, seen in reader_lists:
        by_job.setdefault(job, []).append(seen)
    if not by_job:
        return []
    histories = [sorted(own) for own in by_job.values()]
    every = sorted({*other_lists, *(seen for own in histories for seen in own)})
    newest = max(own[-1] for own in histories)
    listed = frozenset[str]().union(*(keys_of(own[-1].schema) for own in histories))
    last = {column: seen for seen in every for column in keys_of(seen.schema)}
    return [
        UnlistedColumn(column, seen, _first_list_without(column, seen, histories, keys_of))
        for column, seen in sorted(last.items())
        if column not in listed and seen < newest
    ]


def _first_list_without(
    column: str, listed: SchemaMention, histories: Sequence[Sequence[SchemaMention]], keys_of: SchemaKeys
) -> SchemaMention:
    """Return the list from which on no reader listed a column.

    column: the key of the column. listed: the newest list that has the column.
    histories: the lists of each reader, from oldest to newest. keys_of: returns the keys of the columns in a list.
    """
    found = []
    for own in histories:
        places = [at for at, seen in enumerate(own) if column in keys_of(seen.schema)]
        if places:
            found.append(own[places[-1] + 1])
    later = (seen for own in histories for seen in own if seen > listed)
    return max([*found, min(later)])
