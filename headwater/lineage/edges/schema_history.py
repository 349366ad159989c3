"""Rule 12: find the columns of a dataset at a time. Rule 12.6 decides which lists of columns are complete."""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from copy import copy
from heapq import merge
from itertools import chain
from typing import NamedTuple, Protocol

from headwater.lineage.edges.accounted_columns import may_list_partial_columns
from headwater.lineage.edges.facet_contents import FacetContents
from headwater.lineage.edges.schema_columns import NO_COLUMNS, Columns, join_schema_hashes, split_schema_hash
from headwater.lineage.edges.write_kinds import (
    ADDS_ROWS,
    SIGN_COMPLETE_LISTS,
    WHOLE_REWRITE,
    CompletedWrite,
    write_kind,
)
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.generations import MAX_TIME_US, NameSpan
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.run_facts import DELETED, DatasetUse, EventContent, RunFacts

READER_LIST, ADDED_COLUMNS, COMPLETE_UNLESS_PARTITIONED, COMPLETE_LIST = range(4)
"""The authority of a list of columns, in ascending order.

READER_LIST: a reader of the dataset sent the list.
ADDED_COLUMNS: the dataset has the columns in the list, and may have others.
COMPLETE_UNLESS_PARTITIONED: the list is complete, unless some event shows that the dataset is written in parts.
COMPLETE_LIST: the list is complete.
"""


def list_authority(content: EventContent, use: DatasetUse, *, is_output: bool) -> int:
    """Return the authority, from `READER_LIST` to `COMPLETE_LIST`, of the schema that an event gives for a dataset.

    use: the dataset in the event. is_output: whether the dataset is an output of the event.
    The result depends only on this event.
    """
    if (
        SIGN_COMPLETE_LISTS in content.write_signs
        and _is_final_event(content)
        and not use.is_part
        and not _is_input_echo(content)
    ):
        return COMPLETE_LIST
    return _output_list_authority(content, use) if is_output else READER_LIST


def _is_final_event(content: EventContent) -> bool:
    return content.kind != "RUN" or content.type == "COMPLETE"


def _output_list_authority(content: EventContent, output: DatasetUse) -> int:
    if content.kind != "RUN" or content.type != "COMPLETE" or content.processing in ("STREAMING", "SERVICE"):
        return ADDED_COLUMNS
    if may_list_partial_columns(content.producer) or output.is_part:
        return ADDED_COLUMNS
    if _is_input_echo(content):
        return READER_LIST
    if output.lifecycle == "ALTER" or any(map(_TABLE_COLUMN_NODES.fullmatch, content.job.name.lower().split(".")[1:])):
        return COMPLETE_LIST
    is_only_output = len(content.outputs) == 1
    write = CompletedWrite(
        content.job.name, output.name, output.lifecycle, content.write_signs, output.is_part, is_only_output
    )
    kind = write_kind(write)
    return (
        ADDED_COLUMNS if kind == ADDS_ROWS else COMPLETE_LIST if kind == WHOLE_REWRITE else COMPLETE_UNLESS_PARTITIONED
    )


def _is_input_echo(content: EventContent) -> bool:
    """Tell whether an event has the same inputs and outputs and no column lineage, as events of Spark's RDD jobs do."""
    if content.declared_facets or any(use.lineage or use.declared_facet for use in content.outputs):
        return False
    return {use.name for use in content.inputs} == {use.name for use in content.outputs}


_TABLE_COLUMN_NODES = re.compile(
    r"(?:append_data|replace_data|replace_iceberg_data|write_delta|write_iceberg_delta|merge_rows"
    r"|(?:execute_)?(?:merge_into|update)(?:_command|_table)?(?:_edge)?)(?:_exec(?:_v\d)?)?"
)
"""The nodes of Spark plans for which the listener reports the columns of the table, not of the written rows."""


_BEFORE_CHANGE = 1 << 30


class SchemaMention(NamedTuple):
    """One mention of a list of columns by an event. The greatest mention is the newest (rule 1.3).

    credible, time_us, rank, event_id: the sort key of the event (`Order`).
    place: the index of the dataset in the event's list of inputs followed by outputs. If the output is dropped or
    renamed, 1 << 30 is added, because the list then describes the dataset just before the change (rule 10.8).
    schema: the content hash of the list.
    authority: the result of `list_authority`, from `READER_LIST` to `COMPLETE_LIST`.
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str
    place: int
    schema: str
    authority: int = 0

    def described_dataset(self, name: Name, naming: NameResolver) -> Name:
        """Return the dataset that the list describes. name: the name of the dataset in the event, as sent."""
        return naming.generations.generation_at(
            naming.location_at(name, self.time_us), self.time_us - (self.place >= _BEFORE_CHANGE)
        )


class SchemaMentionStore(Protocol):
    """Storage of the mentions of all lists of columns, by the name of the dataset as sent."""

    def add_mentions(self, name: Name, mentions: Sequence[SchemaMention]) -> None:
        """Store mentions under a name. Mentions that are already stored have no effect."""

    def mentions_newest_first(self, span: NameSpan) -> Iterable[SchemaMention]:
        """Return the mentions under a name in a time span, the newest first.

        If consecutive mentions have the same list and authority, implementations may return only the first and last.
        """

    def has_part_mention(self, name: Name) -> bool:
        """Tell whether some event mentions a part of the dataset, such as a partition, under this name as sent."""

    def keep_all_mentions(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on, also consecutive mentions of the same list.

        Callers use this for names that mean several datasets, and for several names that mean the same dataset.
        """


class DatasetColumnLists:
    """The lists that together give the columns of a dataset (rule 12.7).

    These are the base list and all lists that are newer than the base list, each in its newest mention.
    base_list: the newest complete list; None if no list is complete.
    first_list: the list that comes first if there is no base list; None if the newest list comes first.
    """

    def __init__(self, *, has_parts: bool) -> None:
        """has_parts: whether some event mentions a part of the dataset, such as a partition."""
        self.base_list: SchemaMention | None = None
        self.first_list: SchemaMention | None = None
        self._base_authority = COMPLETE_LIST if has_parts else COMPLETE_UNLESS_PARTITIONED
        self._newer_lists: dict[tuple[str, int], SchemaMention] = {}

    def add_mention(self, mention: SchemaMention) -> None:
        """Add a mention of a list. The result does not depend on the order of calls."""
        if self.base_list is not None and mention <= self.base_list:
            return
        if mention.authority >= self._base_authority:
            self.base_list = mention
            self._newer_lists = {key: each for key, each in self._newer_lists.items() if each > mention}
        else:
            key = mention.schema, mention.authority
            self._newer_lists[key] = max(mention, self._newer_lists.get(key, mention))

    @property
    def lists(self) -> list[SchemaMention]:
        """The base list, or else `first_list`, followed by the other lists from newest to oldest."""
        newer = sorted(self._newer_lists.values(), reverse=True)
        first = self.base_list or self.first_list
        return [first, *newer] if first else newer

    @property
    def newest_mention(self) -> SchemaMention | None:
        """The newest mention of any list; None if there is no list."""
        return max((*self._newer_lists.values(), *((self.base_list,) if self.base_list else ())), default=None)

    def with_first_list(self, first: SchemaMention | None) -> "DatasetColumnLists":
        """Return a copy in which the list `first` comes first if there is no base list; None for the newest list."""
        found = copy(self)
        found.first_list = first
        return found

    @property
    def schema_hashes(self) -> tuple[str, ...]:
        """The content hashes of the lists, in the order of `lists`, each once."""
        if not self._newer_lists and self.base_list is None:  # a fast path for names without lists, such as symlinks
            return ()
        return tuple(dict.fromkeys(seen.schema for seen in self.lists))

    @property
    def written_schema_hashes(self) -> set[str]:
        """The content hashes of the lists that do not come from readers."""
        return {seen.schema for seen in self.lists if seen.authority > READER_LIST}


def column_lists_at(
    mentions: Iterable[SchemaMention], time_us: int = MAX_TIME_US, *, has_parts: bool = False
) -> DatasetColumnLists:
    """Rule 12.7: return the lists that together give the columns of a dataset at a time.

    These are the newest base list up to that time and all newer lists. If there is no base list up to that time, these
    are all lists.
    mentions: the mentions of all lists of the dataset, the newest first.
    has_parts: whether some event mentions a part of the dataset.
    """
    found = DatasetColumnLists(has_parts=has_parts)
    mention = first = None
    for mention in mentions:
        found.add_mention(
            mention if mention.time_us <= time_us else mention._replace(authority=min(mention.authority, ADDED_COLUMNS))
        )
        first = first or (mention if mention.time_us <= time_us else None)
        if found.base_list is not None:
            break
    # For the present columns, `first_list` stays None, because later calls may add lists that are newer than `first`.
    return found if time_us == MAX_TIME_US else found.with_first_list(first or mention)


class SchemaJoiner:
    """Joins lists of columns and caches the results."""

    def __init__(self, contents: FacetContents):
        self._contents = contents
        self._cache: BoundedCache[tuple[str, ...], str] = BoundedCache()

    def joined_hash(self, column_lists: DatasetColumnLists) -> str | None:
        """Return the joined hash of the lists (`join_schema_hashes`); None if there is no list."""
        schemas = column_lists.schema_hashes
        if len(schemas) < 2:
            return schemas[0] if schemas else None
        found = self._cache.get(schemas)
        return found or self._cache.put(schemas, join_schema_hashes(schemas, self._contents.schema), len(schemas))


class SchemaHistory:
    """The columns of datasets, now and at earlier times."""

    def __init__(self, contents: FacetContents, stored_mentions: SchemaMentionStore, naming: NameResolver):
        """contents: stores the columns of each list. naming: resolves names to datasets."""
        self._contents = contents
        self._stored_mentions = stored_mentions
        self._naming = naming
        self._joined_hash = SchemaJoiner(contents).joined_hash
        self._lists: dict[Name, DatasetColumnLists] = {}
        self._names_of_parts: Set[Name] | None = None
        self._columns: dict[Name, Columns] = {}

    def add_mentions(self, name: Name, mentions_as_sent: Sequence[SchemaMention]) -> set[Name]:
        """Store mentions under a name, and return the datasets with changed columns."""
        mentions = self.mentions_by_dataset(name, mentions_as_sent)
        before = {dataset: self.newest_schema_hash(dataset) for dataset in mentions}
        for dataset in mentions:
            self.columns(dataset)  # cached before the change, so that `refresh_columns` can compare
        self._stored_mentions.add_mentions(name, mentions_as_sent)
        for dataset, own in mentions.items():
            for seen in own:
                self._column_lists(dataset).add_mention(seen)
        return {dataset for dataset, schema in before.items() if self.newest_schema_hash(dataset) != schema}

    def mentions_by_dataset(self, name: Name, mentions: Sequence[SchemaMention]) -> dict[Name, list[SchemaMention]]:
        """Return the mentions under one name, grouped by the dataset that each mention describes.

        Of mentions of the same list with the same authority, only the newest is returned.
        """
        newest: dict[tuple[Name, str, int], SchemaMention] = {}
        constant = mentions[0].described_dataset(name, self._naming) if self._naming.is_constant(name) else None
        for mention in mentions:
            key = (constant or mention.described_dataset(name, self._naming), mention.schema, mention.authority)
            newest[key] = max(newest.get(key, mention), mention)
        found: dict[Name, list[SchemaMention]] = {}
        for (dataset, *_), mention in newest.items():
            found.setdefault(dataset, []).append(mention)
        return found

    def clear_lists(self, new_generations: Iterable[Name]) -> None:
        """Clear the cached lists of all datasets, because names now mean other datasets.

        new_generations: the datasets that did not exist before. They count as datasets that had no columns.
        """
        self._lists.clear()
        self._names_of_parts = None
        for dataset in new_generations:
            self._columns.setdefault(dataset, NO_COLUMNS)

    def clear_lists_of_parts(self, names: Iterable[Name]) -> set[Name]:
        """Clear the cached lists of datasets of which events now mention parts; return these datasets.

        names: the names, as sent, under which events mention parts.
        """
        self._names_of_parts = None
        datasets = self.datasets_at_all_locations(names)
        locations = {each.without_generation for each in datasets}
        found = {dataset for dataset in self._lists if dataset.without_generation in locations}
        for dataset in found:
            self.columns(dataset)
            del self._lists[dataset]
        return datasets | found

    def names_of_parts(self) -> Set[Name]:
        """Return the names with several locations if events mention parts of a dataset at one of these locations."""
        if self._names_of_parts is None:
            self._names_of_parts = self._naming.names_of_parts(self._stored_mentions.has_part_mention)
        return self._names_of_parts

    def datasets_at_all_locations(self, names: Iterable[Name]) -> set[Name]:
        """Return the datasets that some names have meant, and those at the other locations of their names."""
        meant = {dataset for name in names for dataset in self._naming.datasets_in(NameSpan(name))}
        every = self._naming.names_at_all_locations(meant)
        return meant | {dataset for name in every for dataset in self._naming.datasets_in(NameSpan(name))}

    def newest_schema_hash(self, dataset: Name) -> str | None:
        """Return the hash of the present columns of a dataset; None if no event lists columns."""
        return self._joined_hash(self._column_lists(dataset))

    def schema_hash_at(self, dataset: Name, time_us: int) -> str | None:
        """Return the hash of the columns of a dataset at a time (rule 12.7); None if no event lists columns."""
        known = self._column_lists(dataset)
        last = known.base_list or known.newest_mention
        if last is None or last.time_us <= time_us:  # most runs are later than all lists
            return self._joined_hash(known)
        names = self._naming.names_of(dataset)
        if len(names) > 1:
            self._stored_mentions.keep_all_mentions(names)
        if known.base_list is None:
            return self._joined_hash(known.with_first_list(self._first_mention(dataset, time_us)))
        return self._joined_hash(self._read_lists(dataset, time_us))

    def changed_spans(self, name: Name, new_mentions: Sequence[SchemaMention]) -> Iterator[NameSpan]:
        """Yield the datasets and time spans for which new mentions change the result of `schema_hash_at`.

        name: the name of a dataset as sent. new_mentions: mentions under this name that are not stored yet.
        """
        for dataset, mentions in self.mentions_by_dataset(name, new_mentions).items():
            keys: dict[str | None, frozenset[str]] = {None: frozenset()}
            for seen in mentions:
                before = self.schema_hash_at(dataset, seen.time_us)
                own, known = (
                    keys.get(schema) or keys.setdefault(schema, self._column_keys(schema, dataset))
                    for schema in (seen.schema, before)
                )
                if not own <= known or not seen.credible:
                    yield NameSpan(dataset)  # a list with new columns also counts for earlier times
                elif before and split_schema_hash(before)[0] != seen.schema and self._may_be_first_list(dataset, seen):
                    first = self._first_mention(dataset, seen.time_us)
                    is_earliest = first is not None and first.time_us > seen.time_us
                    yield NameSpan(dataset) if is_earliest else NameSpan(dataset, seen.time_us)
                elif seen.authority > ADDED_COLUMNS and own != known:
                    yield NameSpan(dataset, seen.time_us)

    def _may_be_first_list(self, dataset: Name, mention: SchemaMention) -> bool:
        """Tell whether a mention may become the first list of a dataset.

        The order of the columns in the first list matters for SQL that inserts values by position.
        """
        base = self._column_lists(dataset).base_list
        return base is None or base.time_us > mention.time_us or mention.authority > ADDED_COLUMNS

    def columns(self, dataset: Name) -> Columns:
        """Return the columns that a dataset has now."""
        found = self._columns.get(dataset)
        return found if found is not None else self._read_columns(dataset)

    def column_key(self, dataset: Name, column: str) -> str:
        """Return the key of a column of a dataset (`Columns.key`)."""
        return self.columns(dataset).key(column)

    def refresh_columns(self, datasets: Iterable[Name]) -> set[Name]:
        """Read the columns of datasets again, and return the datasets in which the keys of columns may have changed."""
        changed = set()
        for dataset in datasets:
            before, now = self._columns.get(dataset), self._read_columns(dataset)
            if before is None or not now.has_same_spelling_rules(before):
                changed.add(dataset)
        return changed

    def base_list(self, dataset: Name) -> SchemaMention | None:
        """Return the present base list of a dataset; None if no list is complete."""
        return self._column_lists(dataset).base_list

    def written_column_keys(self, dataset: Name) -> frozenset[str]:
        """Return the keys of the present columns of a dataset, without columns that only lists from readers contain."""
        return frozenset().union(
            *(self._column_keys(schema, dataset) for schema in self._column_lists(dataset).written_schema_hashes)
        )

    def _read_columns(self, dataset: Name) -> Columns:
        schema = self.newest_schema_hash(dataset)
        columns = self._columns[dataset] = Columns(self._contents.schema(schema)) if schema else NO_COLUMNS
        return columns

    def _column_keys(self, schema: str | None, dataset: Name) -> frozenset[str]:
        if schema is None:
            return frozenset()
        columns = self.columns(dataset)
        return frozenset(columns.key(".".join(path)) for path in self._contents.schema(schema))

    def _column_lists(self, dataset: Name) -> DatasetColumnLists:
        if dataset not in self._lists:
            self._lists[dataset] = self._read_lists(dataset, MAX_TIME_US)
        return self._lists[dataset]

    def _first_mention(self, dataset: Name, time_us: int) -> SchemaMention | None:
        """Return the newest mention up to a time, else the earliest mention after it; None without a mention."""
        upto = (next(history, None) for history in self._mentions_by_name(dataset, time_us + 1))
        found = max((seen for seen in upto if seen), default=None)
        return found or min(chain.from_iterable(self._mentions_by_name(dataset)), default=None)

    def _read_lists(self, dataset: Name, time_us: int) -> DatasetColumnLists:
        histories = list(self._mentions_by_name(dataset))
        newest_first = histories[0] if len(histories) == 1 else merge(*histories, reverse=True)
        by_parts = any(map(self._has_parts, self._naming.names_of(dataset)))
        return column_lists_at(newest_first, time_us, has_parts=by_parts)

    def _has_parts(self, name: Name) -> bool:
        return self._stored_mentions.has_part_mention(name) or name in self.names_of_parts()

    def _mentions_by_name(self, dataset: Name, until_us: int = MAX_TIME_US) -> Iterator[Iterator[SchemaMention]]:
        """Yield, for each name that means a dataset, the mentions of the dataset under this name, the newest first.

        The end of each time span is included, because an event with a DROP or RENAME describes the dataset before it.
        """
        for span in self._naming.mention_spans(dataset):
            yield self._mentions_of_dataset(
                NameSpan(span.name, span.since_us, min(span.until_us + 1, until_us)), dataset
            )

    def _mentions_of_dataset(self, span: NameSpan, dataset: Name) -> Iterator[SchemaMention]:
        mentions = self._stored_mentions.mentions_newest_first(span)
        return (seen for seen in mentions if seen.described_dataset(span.name, self._naming) == dataset)


def schema_mentions(fact: RunFacts) -> Iterator[tuple[Name, SchemaMention]]:
    """Yield (dataset name as sent, mention) for each list of columns in an event.

    If the event drops or renames the output, the list describes the dataset just before the change (rule 10.8). After a
    RENAME, the name is the previous name.
    """
    order, content = fact.order, fact.content
    for place, use in enumerate((*content.inputs, *content.outputs)):
        if use.schema and use.schema != DELETED:
            is_output = place >= len(content.inputs)
            mention = SchemaMention(*order, place, use.schema, list_authority(content, use, is_output=is_output))
            changes = use.lifecycle == "DROP" or (use.lifecycle == "RENAME" and use.previous_name)
            if changes and is_output:
                name = use.previous_name if use.lifecycle == "RENAME" else None
                yield name or use.name, mention._replace(place=place + _BEFORE_CHANGE)
            else:
                yield use.name, mention
