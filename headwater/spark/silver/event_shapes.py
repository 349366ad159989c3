"""The shapes of a batch's events and what their facets say, each once however many events recur to it."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.events.facet_sets import TABLES
from headwater.lineage.names.canonical_names import NameRules
from headwater.spark.delta.spark_delta import TableFolder, keep, kept
from headwater.spark.silver.content_texts import LINEAGE, SCHEMA, SQL, contents_of, stored
from headwater.tables import SHAPES

ELSEWHERE = frozenset(TABLES)
"""Facets that are content-addressed in bronze; a copy for each run would be most of silver."""

_OF_DATASETS = "transform(concat(inputs, outputs), x -> concat('{kind}', x.{facet}))"
_REFS = f"""array_distinct(filter(concat(
    {_OF_DATASETS.format(kind=SCHEMA, facet="schema")},
    {_OF_DATASETS.format(kind=LINEAGE, facet="lineage")},
    {_OF_DATASETS.format(kind=LINEAGE, facet="declared")},
    transform(filter(job_facets, f -> f.name = 'sql' AND NOT f.deleted), f -> concat('{SQL}', f.content_hash)),
    array(concat('{LINEAGE}', run_lineage), concat('{LINEAGE}', job_lineage))), x -> length(x) > 1))"""
"""What a shape refers to; a facet that was deleted says nothing."""

_VARIES = f"""exists(concat(inputs, outputs), x -> exists(x.facets,
    f -> f.content_hash IS NULL AND NOT f.deleted AND f.name NOT IN {tuple(sorted(ELSEWHERE))}))"""


class Shapes:
    """Shapes that events name, looked up in bronze.

    rows: (`shape`, `told`), the row of table `shapes`; refs: (`shape`, `ref`); contents: rows of `CONTENT` for these.
    old: some events have no shape, as a version before wrote them; vary: some have facets that the body alone holds.
    """

    def __init__(self, bronze: TableFolder, events: DataFrame, names: NameRules):
        """Look up the shapes of events."""
        more = {"told": F.struct(*SHAPES.columns), "refs": F.expr(_REFS), "varies": F.expr(_VARIES)}
        known = stored(bronze, SHAPES).withColumns(more).select("shape", *more).dropDuplicates(["shape"])
        wanted = bronze.few(events.select("shape").distinct())
        found, seen = kept(wanted.join(known, "shape", "left"), old=F.max(F.col("told").isNull()), vary=F.max("varies"))
        self.old, self.vary = bool(seen["old"]), bool(seen["vary"])
        self.rows = found.where("told IS NOT NULL").select("shape", "told")
        self.refs = found.select("shape", F.explode("refs").alias("ref"))
        self.contents = keep(contents_of(bronze, self.refs.select("ref").distinct(), names))
