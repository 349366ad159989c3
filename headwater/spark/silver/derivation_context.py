"""Data from other runs that the derivation of a run uses: the meaning of names, and the columns of datasets."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.schema_columns import Path, column_key, join_schema_hashes
from headwater.lineage.edges.schema_history import DatasetColumnLists, SchemaMention, column_lists_at, schema_mentions
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.name_resolution import NameResolver
from headwater.lineage.rules.tags import datasets_of_tags_facet, tags_facets
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.run_facts import names_with_part_mentions
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.silver.content_texts import SCHEMA
from headwater.spark.silver.texts import json_text, read_facts
from headwater.tables import LATEST_FACETS, Table, columns_without

SCHEMA_FACET, PARTS = "schema", "parts"
"""Values of `facet` in rows of `LATEST` about columns and about parts of datasets. The other rows are about tags."""

LATEST = Table("latest", columns_without(LATEST_FACETS, "batch", "rules_hash"))


@dataclass(frozen=True)
class DerivationContext:
    """The data from other runs that the derivation of a run uses. Spark sends this data to every task, so it is small.

    naming: the meaning of names.
    ambiguous_columns: the casefolded names that several columns of a dataset share; most datasets have none.
    newest_lists: the lists of columns that currently count, for datasets with schemas that a run takes from other runs.
    mention_histories: all mentions of lists, oldest first, for datasets for which `newest_lists` is not enough.
    partitioned_names: datasets in `newest_lists` and `mention_histories` of which some event mentions a part.
    columns: the columns of each list, by hash of the list.
    rules: the user rules, which may declare how jobs write.
    """

    naming: NameResolver
    ambiguous_columns: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    newest_lists: Mapping[Name, DatasetColumnLists] = field(default_factory=dict)
    mention_histories: Mapping[Name, Sequence[SchemaMention]] = field(default_factory=dict)
    partitioned_names: frozenset[Name] = frozenset()
    columns: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    rules: UserRules = NO_RULES

    def key(self, dataset: Name, column: str) -> str:
        """Return the key that all spellings of a column share (rule 12)."""
        return column_key(column, self.ambiguous_columns.get(dataset, ()))

    def schema_at(self, missing: set[Name]) -> Callable[[Name, int], str | None]:
        """Return a function that takes a dataset and a time (us) and returns the hash of its columns (rule 12.7).

        The function returns None if the dataset has no list. If the known lists are not enough, it returns None and
        adds the dataset to `missing`. The newest lists are enough for runs after the base list, as most runs are.
        Earlier runs need the histories.
        """
        joined: dict[tuple[str, ...], str] = {}

        def at(dataset: Name, time_us: int) -> str | None:
            if dataset in self.mention_histories:
                every = reversed(self.mention_histories[dataset])
                schemas = column_lists_at(every, time_us, has_parts=dataset in self.partitioned_names).schema_hashes
            else:
                known = self.newest_lists.get(dataset)
                last = known and (known.base_list or known.newest_mention)
                if known is None or (last and last.time_us > time_us):
                    missing.add(dataset)
                    return None
                schemas = known.schema_hashes
            if schemas and schemas not in joined:
                joined[schemas] = join_schema_hashes(schemas, self.columns.__getitem__)
            return joined[schemas] if schemas else None

        return at


@dataclass(frozen=True)
class NewestMentionFinder:
    """Finds the newest mention of each list of columns, and the newest tags from each producer.

    Each result belongs to a name as sent and to the dataset that this name currently means. A row with the facet
    `parts` states that an event mentions a part of the dataset, or of the table at another location of a name.
    """

    naming: NameResolver

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows with facts as JSON to rows of `LATEST`, one for each name, dataset, facet and producer.

        `value` is null in rows about schemas until `with_schema_columns` adds it.
        """
        found: dict[tuple[Name, Name, str, str], tuple[SchemaMention, str | None]] = {}
        for (facts,) in rows:
            for fact in read_facts(facts):
                for name, mention in schema_mentions(fact):
                    key = (name, mention.described_dataset(name, self.naming), SCHEMA_FACET, list_key(mention))
                    if key not in found or found[key][0] < mention:
                        found[key] = mention, None
                for sent in tags_facets(fact):
                    mention = SchemaMention(*sent.order, sent.place, "")
                    for dataset in datasets_of_tags_facet(sent.name, fact.time_us, self.naming):
                        key = (sent.name, dataset, "tags", sent.producer)
                        if key not in found or found[key][0] < mention:
                            found[key] = mention, json_text(sent.tags)
                for name in names_with_part_mentions([fact]):
                    mention = SchemaMention(*fact.order, 0, "")
                    meant = datasets_of_tags_facet(name, fact.time_us, self.naming)
                    for plain in meant | self.naming.locations_of_same_names(meant):
                        for dataset in {plain, *self.naming.generations.all_generations(plain)}:
                            key = (name, dataset, PARTS, "")
                            found[key] = max(found.get(key, (mention, None)), (mention, None))
        for (name, dataset, facet, producer), (mention, text) in found.items():
            yield (*name.parts, *dataset, facet, producer, *mention[:6], False, text)


@dataclass(frozen=True)
class SchemaMentionFinder:
    """Finds every mention of the schemas of some datasets."""

    naming: NameResolver
    datasets: frozenset[Name]

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Convert rows with facts as JSON to rows of `LATEST` in which `value` is null."""
        for (facts,) in rows:
            for fact in read_facts(facts):
                for name, mention in schema_mentions(fact):
                    dataset = mention.described_dataset(name, self.naming)
                    if dataset in self.datasets:
                        yield (*name.parts, *dataset, SCHEMA_FACET, list_key(mention), *mention[:6], False, None)


def with_schema_columns(latest: DataFrame, contents: DataFrame) -> DataFrame:
    """Add the columns of schemas to rows of `LATEST`, as `value`. contents: rows of `content_texts.CONTENT`."""
    texts = contents.select("ref", F.col("value").alias("columns"), F.col("twins").alias("differ"))
    ref = F.when(F.col("facet") == "schema", F.concat(F.lit(SCHEMA), "content_hash"))
    found = latest.withColumn("ref", ref).join(texts, "ref", "left")
    filled = {"value": F.coalesce("value", "columns"), "twins": F.coalesce("differ", "twins")}
    return found.withColumns(filled).select(*LATEST.columns)


def list_key(mention: SchemaMention) -> str:
    """Return the value of `producer` in rows of `LATEST` about lists: the authority and the hash of the list."""
    return f"{mention.authority} {mention.schema}"


def mentions_with_columns(rows: Iterable[Row]) -> Iterator[tuple[Name, SchemaMention, str]]:
    """Yield (dataset, mention, columns as JSON) for rows of `LATEST` about lists."""
    for row in rows:
        yield Name(*row[2:5]), SchemaMention(*(*row[7:13], int(row[6][0]))), row[14]
