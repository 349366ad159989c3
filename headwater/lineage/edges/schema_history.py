"""Rule 12: the columns of a dataset at a time. Rule 12.6 decides which lists of columns are complete."""

import re
from collections.abc import Iterable, Iterator, Sequence
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
from headwater.lineage.names.generations import MAX_TIME_US, Span
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.runs.bounded_cache import BoundedCache
from headwater.lineage.runs.run_facts import DELETED, DatasetUse, EventContent, RunFacts

READER_LIST, ADDED_COLUMNS, COMPLETE_UNLESS_PARTITIONED, COMPLETE_LIST = range(4)
"""The authority of a list of columns, in ascending order.

READ: a reader sent the list. ADDED: the list adds columns. UNLESS_PARTS: the list is complete unless some event shows
that the dataset is written in parts. COMPLETE: the list is complete.
"""


def list_authority(content: EventContent, use: DatasetUse, *, is_output: bool) -> int:
    """Return the authority (READ to COMPLETE) of the schema that an event gives for a dataset.

    Only this event decides, so the order of events and other events make no difference.
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
    """Tell whether an event has the same inputs and outputs and no column lineage, as Spark's RDD jobs do."""
    if content.declared_facets or any(use.lineage or use.declared_facet for use in content.outputs):
        return False
    return {use.name for use in content.inputs} == {use.name for use in content.outputs}


_TABLE_COLUMN_NODES = re.compile(
    r"(?:append_data|replace_data|replace_iceberg_data|write_delta|write_iceberg_delta|merge_rows"
    r"|(?:execute_)?(?:merge_into|update)(?:_command|_table)?(?:_edge)?)(?:_exec(?:_v\d)?)?"
)
"""Nodes of Spark's plan for which the listener reports the columns of the table, not those of the written rows."""


_BEFORE_CHANGE = 1 << 30


class SchemaMention(NamedTuple):
    """One mention of a list of columns by an event. The greatest mention is the newest (rule 1.3).

    place: the index of the dataset among the event's inputs and then outputs. 1 << 30 is added for a list that comes
    with a DROP or RENAME, because it describes the dataset just before (rule 10.8).
    schema: the hash of the list.
    authority: READ to COMPLETE (`complete_lists`).
    """

    credible: bool
    time_us: int
    rank: int
    event_id: str
    place: int
    schema: str
    authority: int = 0

    def described_dataset(self, name: Name, naming: NameResolver) -> Name:
        """Return the dataset that the list describes; name: the name in the event, as sent."""
        return naming.generations.meaning(
            naming.bound(name, self.time_us), self.time_us - (self.place >= _BEFORE_CHANGE)
        )


class SchemaMentionStore(Protocol):
    """Storage of all mentions of schemas, by dataset name as sent."""

    def add_mentions(self, name: Name, mentions: Sequence[SchemaMention]) -> None:
        """Store mentions; storing a mention again has no effect."""

    def mentions_newest_first(self, span: Span) -> Iterable[SchemaMention]:
        """Return the mentions under a name in a time span, the newest first.

        Of consecutive mentions of one schema, implementations may return only the first and the last of each authority.
        """

    def has_part_mention(self, name: Name) -> bool:
        """Tell whether some event mentions a part of the dataset, such as a partition, under this name as sent."""

    def keep_all_mentions(self, names: Iterable[Name]) -> None:
        """Store every mention under these names from now on.

        Each of them means several datasets, or several of them mean one dataset.
        """


class ColumnListSet:
    """The lists that make up the columns of a dataset: its base list, and the newest mention of each newer list.

    first_list: the list that comes first if there is no base list; None for the newest one.
    """

    def __init__(self, *, has_parts: bool) -> None:
        """has_parts: some event mentions a part of the dataset."""
        self.base_list: SchemaMention | None = None
        self.first_list: SchemaMention | None = None
        self._base_authority = COMPLETE_LIST if has_parts else COMPLETE_UNLESS_PARTITIONED
        self._newer_lists: dict[tuple[str, int], SchemaMention] = {}

    def add_mention(self, mention: SchemaMention) -> None:
        """Add a mention. The order of calls makes no difference."""
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
        """The base list, then the other lists, the newest first."""
        newer = sorted(self._newer_lists.values(), reverse=True)
        first = self.base_list or self.first_list
        return [first, *newer] if first else newer

    @property
    def newest_mention(self) -> SchemaMention | None:
        """The newest mention; None without a list."""
        return max((*self._newer_lists.values(), *((self.base_list,) if self.base_list else ())), default=None)

    def with_first_list(self, first: SchemaMention | None) -> "ColumnListSet":
        """Return a copy in which `first` comes first if there is no base list."""
        found = copy(self)
        found.first_list = first
        return found

    @property
    def schema_hashes(self) -> tuple[str, ...]:
        """The hashes of the lists in their order, each once."""
        if not self._newer_lists and self.base_list is None:  # a fast path for names without lists, such as symlinks
            return ()
        return tuple(dict.fromkeys(seen.schema for seen in self.lists))

    @property
    def written_schema_hashes(self) -> set[str]:
        """The hashes of the lists that do not come from readers."""
        return {seen.schema for seen in self.lists if seen.authority > READER_LIST}


def column_lists_at(
    mentions: Iterable[SchemaMention], time_us: int = MAX_TIME_US, *, has_parts: bool = False
) -> ColumnListSet:
    """Rule 12.7: return the lists that make up the columns at a time.

    These are the newest base list up to that time and all lists that are newer than it, or all lists without a base
    list.
    """
    found = ColumnListSet(has_parts=has_parts)
    mention = first = None
    for mention in mentions:
        found.add_mention(
            mention if mention.time_us <= time_us else mention._replace(authority=min(mention.authority, ADDED_COLUMNS))
        )
        first = first or (mention if mention.time_us <= time_us else None)
        if found.base_list is not None:
            break
    # For the columns now, `first` stays None: lists that are added later may be newer than the first one here.
    return found if time_us == MAX_TIME_US else found.with_first_list(first or mention)


class SchemaJoiner:
    """Joins lists of columns and caches the results."""

    def __init__(self, contents: FacetContents):
        self._contents = contents
        self._cache: BoundedCache[tuple[str, ...], str] = BoundedCache()

    def joined_hash(self, column_lists: ColumnListSet) -> str | None:
        """Return the hash of the joined lists; None without a list."""
        schemas = column_lists.schema_hashes
        if len(schemas) < 2:
            return schemas[0] if schemas else None
        found = self._cache.get(schemas)
        return found or self._cache.put(schemas, join_schema_hashes(schemas, self._contents.schema), len(schemas))


class SchemaHistory:
    """The columns of datasets, now and at earlier times."""

    def __init__(self, contents: FacetContents, stored_mentions: SchemaMentionStore, naming: NameResolver):
        """contents: the columns of each list; naming: the datasets that names mean."""
        self._contents = contents
        self._stored_mentions = stored_mentions
        self._naming = naming
        self._joined_hash = SchemaJoiner(contents).joined_hash
        self._lists: dict[Name, ColumnListSet] = {}
        self._columns: dict[Name, Columns] = {}

    def add_mentions(self, name: Name, mentions_as_sent: Sequence[SchemaMention]) -> set[Name]:
        """Store mentions under a name; return the datasets whose columns may have changed."""
        mentions = self.mentions_by_dataset(name, mentions_as_sent)
        before = {dataset: self.newest_schema_hash(dataset) for dataset in mentions}
        for dataset in mentions:
            self.columns(dataset)  # cached before the change, so that `settle` can compare
        self._stored_mentions.add_mentions(name, mentions_as_sent)
        for dataset, own in mentions.items():
            for seen in own:
                self._column_lists(dataset).add_mention(seen)
        return {dataset for dataset, schema in before.items() if self.newest_schema_hash(dataset) != schema}

    def mentions_by_dataset(self, name: Name, mentions: Sequence[SchemaMention]) -> dict[Name, list[SchemaMention]]:
        """Group mentions under one name by the dataset that they mean, with the newest mention of each list."""
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
        """Clear the cached lists because names mean other datasets now.

        new_generations: these had no columns before.
        """
        self._lists.clear()
        for dataset in new_generations:
            self._columns.setdefault(dataset, NO_COLUMNS)

    def clear_lists_of_parts(self, names: Iterable[Name]) -> set[Name]:
        """Clear the cached lists of the datasets that names mean, because events now mention parts of them.

        Returns these datasets.
        """
        datasets = {dataset for name in names for dataset in self._naming.datasets_in(Span(name))}
        found = {dataset for dataset in self._lists if dataset.plain in {each.plain for each in datasets}}
        for dataset in found:
            self.columns(dataset)
            del self._lists[dataset]
        return datasets | found

    def newest_schema_hash(self, dataset: Name) -> str | None:
        """Return the hash of the columns of a dataset now; None without a list."""
        return self._joined_hash(self._column_lists(dataset))

    def schema_hash_at(self, dataset: Name, time_us: int) -> str | None:
        """Return the hash of the columns of a dataset at a time (`column_lists_at`); None without a list."""
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

    def changed_spans(self, name: Name, new_mentions: Sequence[SchemaMention]) -> Iterator[Span]:
        """Yield the datasets whose columns change by mentions that are not stored yet, and the times that change.

        For all other times, the results of `at` stay the same.
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
                    yield Span(dataset)  # newer lists also count for earlier times
                elif before and split_schema_hash(before)[0] != seen.schema and self._may_be_first_list(dataset, seen):
                    first = self._first_mention(dataset, seen.time_us)
                    is_earliest = first is not None and first.time_us > seen.time_us
                    yield Span(dataset) if is_earliest else Span(dataset, seen.time_us)
                elif seen.authority > ADDED_COLUMNS and own != known:
                    yield Span(dataset, seen.time_us)

    def _may_be_first_list(self, dataset: Name, mention: SchemaMention) -> bool:
        """Tell whether a mention may be the first list, whose order of columns SQL that inserts by position uses."""
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
        """Read the columns of datasets again; return those whose columns may have other keys now."""
        changed = set()
        for dataset in datasets:
            before, now = self._columns.get(dataset), self._read_columns(dataset)
            if before is None or not now.has_same_exact_names(before):
                changed.add(dataset)
        return changed

    def base_list(self, dataset: Name) -> SchemaMention | None:
        """Return the base list of a dataset now; None without one."""
        return self._column_lists(dataset).base_list

    def written_column_keys(self, dataset: Name) -> frozenset[str]:
        """Return the keys of the columns in lists that do not come from readers."""
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

    def _column_lists(self, dataset: Name) -> ColumnListSet:
        if dataset not in self._lists:
            self._lists[dataset] = self._read_lists(dataset, MAX_TIME_US)
        return self._lists[dataset]

    def _first_mention(self, dataset: Name, time_us: int) -> SchemaMention | None:
        """Return the newest mention up to a time, else the earliest later one."""
        upto = (next(history, None) for history in self._mentions_by_name(dataset, time_us + 1))
        found = max((seen for seen in upto if seen), default=None)
        return found or min(chain.from_iterable(self._mentions_by_name(dataset)), default=None)

    def _read_lists(self, dataset: Name, time_us: int) -> ColumnListSet:
        histories = list(self._mentions_by_name(dataset))
        newest_first = histories[0] if len(histories) == 1 else merge(*histories, reverse=True)
        by_parts = any(map(self._stored_mentions.has_part_mention, self._naming.names_of(dataset)))
        return column_lists_at(newest_first, time_us, has_parts=by_parts)

    def _mentions_by_name(self, dataset: Name, until_us: int = MAX_TIME_US) -> Iterator[Iterator[SchemaMention]]:
        """Yield the mentions under each name that means a dataset, the newest first.

        The end of a span is included, because a DROP or RENAME describes the dataset that it ends.
        """
        for span in self._naming.uses(dataset):
            yield self._mentions_of_dataset(Span(span.name, span.since_us, min(span.until_us + 1, until_us)), dataset)

    def _mentions_of_dataset(self, span: Span, dataset: Name) -> Iterator[SchemaMention]:
        mentions = self._stored_mentions.mentions_newest_first(span)
        return (seen for seen in mentions if seen.described_dataset(span.name, self._naming) == dataset)


def schema_mentions(fact: RunFacts) -> Iterator[tuple[Name, SchemaMention]]:
    """Yield (dataset name as sent, mention) for each list of columns in an event.

    A list that comes with a DROP or RENAME describes the dataset just before (rule 10.8).
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
