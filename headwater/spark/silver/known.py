"""What is known beyond a single run: what names mean, which columns differ in case only, older schemas of outputs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.edges.joined_lists import joined_hash
from headwater.lineage.edges.schema_columns import Path, column_key
from headwater.lineage.edges.schema_history import KnownLists, SeenSchema, lists_at, seen_schemas
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.names.names_in_time import Naming
from headwater.lineage.rules.tags import tagged, tags_facets
from headwater.lineage.rules.user_rules import NO_RULES, UserRules
from headwater.lineage.runs.run_facts import names_of_parts
from headwater.spark.delta.arrow_rows import Row
from headwater.spark.silver.content_texts import SCHEMA
from headwater.spark.silver.texts import read_facts, text_of
from headwater.tables import LATEST_FACETS, Table, without

SCHEMA_FACET, PARTS = "schema", "parts"
"""Rows of `LATEST` that tell of columns; others tell of tags."""

LATEST = Table("latest", without(LATEST_FACETS, "batch", "rules_hash"))


@dataclass(frozen=True)
class Known:
    """Goes to every worker: small beside the events.

    exact: by dataset, the keys that its columns tell apart; none for nearly every dataset.
    newest, histories: lists of datasets whose columns a run must borrow: of each those that count now; all mentions,
    oldest first. parted: those of which parts are mentioned; columns: those of the hashes of lists. rules: declare how
    jobs write.
    """

    naming: Naming
    exact: Mapping[Name, frozenset[str]] = field(default_factory=dict)
    newest: Mapping[Name, KnownLists] = field(default_factory=dict)
    histories: Mapping[Name, Sequence[SeenSchema]] = field(default_factory=dict)
    parted: frozenset[Name] = frozenset()
    columns: Mapping[str, Sequence[Path]] = field(default_factory=dict)
    rules: UserRules = NO_RULES

    def key(self, dataset: Name, column: str) -> str:
        """Return the key that equal columns of a dataset share."""
        return column_key(column, self.exact.get(dataset, ()))

    def schema_at(self, missing: set[Name]) -> Callable[[Name, int], str | None]:
        """Return the rule that borrows columns; datasets of which more must be known are added to `missing`.

        Nearly all runs come after the base list: of others the whole history is needed.
        """
        joined: dict[tuple[str, ...], str] = {}

        def at(dataset: Name, time_us: int) -> str | None:
            if dataset in self.histories:
                every = reversed(self.histories[dataset])
                schemas = lists_at(every, time_us, by_parts=dataset in self.parted).schemas
            else:
                known = self.newest.get(dataset)
                last = known and (known.base or known.newest)
                if known is None or (last and last.time_us > time_us):
                    missing.add(dataset)
                    return None
                schemas = known.schemas
            if schemas and schemas not in joined:
                joined[schemas] = joined_hash(schemas, self.columns.__getitem__)
            return joined[schemas] if schemas else None

        return at


@dataclass(frozen=True)
class Latest:
    """Of each name the newest mention of each list, and of each producer the newest tags, by what the name means now.

    A row `parts` tells that an event mentions a part of the dataset.
    """

    naming: Naming

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Read texts of parts; yield rows of `LATEST`, one for each name, dataset, facet and producer.

        What a schema says is not in them.
        """
        found: dict[tuple[Name, Name, str, str], tuple[SeenSchema, str | None]] = {}
        for (facts,) in rows:
            for fact in read_facts(facts):
                for name, seen in seen_schemas(fact):
                    key = (name, seen.dataset(name, self.naming), SCHEMA_FACET, list_key(seen))
                    if key not in found or found[key][0] < seen:
                        found[key] = seen, None
                for sent in tags_facets(fact):
                    seen = SeenSchema(*sent.order, sent.place, "")
                    for dataset in tagged(sent.name, fact.time_us, self.naming):
                        key = (sent.name, dataset, "tags", sent.producer)
                        if key not in found or found[key][0] < seen:
                            found[key] = seen, text_of(sent.tags)
                for name in names_of_parts([fact]):
                    seen = SeenSchema(*fact.order, 0, "")
                    for plain in tagged(name, fact.time_us, self.naming):
                        for dataset in {plain, *self.naming.generations.meanings(plain)}:
                            key = (name, dataset, PARTS, "")
                            found[key] = max(found.get(key, (seen, None)), (seen, None))
        for (name, dataset, facet, producer), (seen, text) in found.items():
            yield (*name.parts, *dataset, facet, producer, *seen[:6], False, text)


@dataclass(frozen=True)
class SchemaHistory:
    """Every mention of the schemas of some datasets."""

    naming: Naming
    datasets: frozenset[Name]

    def __call__(self, rows: Iterator[Row]) -> Iterator[Row]:
        """Read texts of parts; yield rows of `LATEST`, without what the schemas say."""
        for (facts,) in rows:
            for fact in read_facts(facts):
                for name, seen in seen_schemas(fact):
                    dataset = seen.dataset(name, self.naming)
                    if dataset in self.datasets:
                        yield (*name.parts, *dataset, SCHEMA_FACET, list_key(seen), *seen[:6], False, None)


def with_columns(latest: DataFrame, contents: DataFrame) -> DataFrame:
    """Return rows of `LATEST` with what the schemas say; contents: rows of `content_texts.CONTENT`."""
    said = contents.select("ref", F.col("value").alias("columns"), F.col("twins").alias("differ"))
    ref = F.when(F.col("facet") == "schema", F.concat(F.lit(SCHEMA), "content_hash"))
    found = latest.withColumn("ref", ref).join(said, "ref", "left")
    filled = {"value": F.coalesce("value", "columns"), "twins": F.coalesce("differ", "twins")}
    return found.withColumns(filled).select(*LATEST.columns)


def list_key(seen: SeenSchema) -> str:
    """Return what stands in the column `producer` of a list: what it is worth, and its hash."""
    return f"{seen.authority} {seen.schema}"


def seen_of(rows: Iterable[Row]) -> Iterator[tuple[Name, SeenSchema, str]]:
    """Yield (dataset, list as seen, columns) of rows of `LATEST`."""
    for row in rows:
        yield Name(*row[2:5]), SeenSchema(*(*row[7:13], int(row[6][0]))), row[14]
