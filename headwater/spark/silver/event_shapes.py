"""The shapes of the events in a batch, and the contents of their facets. Recurring events share a shape."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.facet_sets import TABLES
from headwater.lineage.names.canonical_names import NameRules
from headwater.spark.delta.spark_delta import TableFolder, checkpoint, checkpoint_with_aggregates
from headwater.spark.silver.content_texts import LINEAGE, SCHEMA, SQL, contents_of, rows_by_key
from headwater.tables import SHAPES

CONTENT_ADDRESSED = frozenset(TABLES)
"""Names of facets that silver does not copy, because bronze stores their rows by content hash.

Copies of these facets would take most of the space of silver.
"""

_OF_DATASETS = "transform(concat(inputs, outputs), x -> concat('{kind}', x.{facet}))"
_REFS = f"""array_distinct(filter(concat(
    {_OF_DATASETS.format(kind=SCHEMA, facet="schema")},
    {_OF_DATASETS.format(kind=LINEAGE, facet="lineage")},
    {_OF_DATASETS.format(kind=LINEAGE, facet="declared")},
    transform(filter(job_facets, f -> f.name = 'sql' AND NOT f.deleted), f -> concat('{SQL}', f.content_hash)),
    array(concat('{LINEAGE}', run_lineage), concat('{LINEAGE}', job_lineage))), x -> length(x) > 1))"""
"""SQL for the references of a shape to contents of facets, without deleted facets."""

_HAS_FACETS_IN_BODY = f"""exists(concat(inputs, outputs), x -> exists(x.facets,
    f -> f.content_hash IS NULL AND NOT f.deleted AND f.name NOT IN {tuple(sorted(CONTENT_ADDRESSED))}))"""


class EventShapes:
    """The shapes of events and their contents, from bronze.

    rows: (`shape`, `shape_row`), where `shape_row` is the row of table `shapes`.
    refs: (`shape`, `ref`), the references of each shape.
    contents: a row of `CONTENT` for each distinct reference.
    has_events_without_shape: some events have no shape because an older release wrote them.
    has_facets_in_body: some shapes have dataset facets whose values only the body of an event contains.
    """

    def __init__(self, bronze: TableFolder, events: DataFrame, names: NameRules):
        """Read the shapes of events. names: the rules for names in lineage facets."""
        more = {
            "shape_row": F.struct(*SHAPES.columns),
            "refs": F.expr(_REFS),
            "has_facets_in_body": F.expr(_HAS_FACETS_IN_BODY),
        }
        wanted = bronze.coalesce_if_small(events.select("shape").distinct())
        known = rows_by_key(bronze, SHAPES, wanted, "shape")
        known = known.withColumns(more).select("shape", *more).dropDuplicates(["shape"])
        found, aggregates = checkpoint_with_aggregates(
            wanted.join(known, "shape", "left"),
            has_events_without_shape=F.max(F.col("shape_row").isNull()),
            has_facets_in_body=F.max("has_facets_in_body"),
        )
        self.has_events_without_shape = bool(aggregates["has_events_without_shape"])
        self.has_facets_in_body = bool(aggregates["has_facets_in_body"])
        self.rows = found.where("shape_row IS NOT NULL").select("shape", "shape_row")
        self.refs = found.select("shape", F.explode("refs").alias("ref"))
        self.contents = checkpoint(contents_of(bronze, self.refs.select("ref").distinct(), names))
