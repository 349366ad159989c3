"""`column_edges` and `table_edges`: each edge with the time in which it counted."""

from functools import partial

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from headwater.lineage.generations import Generations
from headwater.lineage.name import Name
from headwater.lineage.user_rules import UserRules
from headwater.spark.arrow import map_groups
from headwater.spark.datasets import DATASET
from headwater.spark.delta import Folder, keep, spark_schema, together
from headwater.spark.judge import CLOSED, OPEN
from headwater.spark.naming import naming_of
from headwater.spark.spells import COLUMN, EDGE, GROUPED, TABLE, VOTE, Spells
from headwater.tables import BINDINGS, COLUMN_EDGES, EDGE_SETS, TABLE_EDGES, Table

KINDS = {COLUMN: COLUMN_EDGES, TABLE: TABLE_EDGES}
_ENDED = Table("ended", {**dict.fromkeys(DATASET, "string"), "at_us": "long"})
_TIMES = ("valid_from", "valid_to", "last_seen")


def write_edges(silver: Folder, gold: Folder, rules: UserRules, after: int, upto: int) -> None:
    """Go on behind batch `after`: with new votes where they follow in time, else with all votes of the group."""
    votes = silver.read(EDGE_SETS)
    changed = votes.where(F.col("batch") > after).groupBy("group_key").agg(F.max("late").alias("late"))
    half_done = _open_rows(gold).where(F.col("batch") > after).select("group_key", F.lit(True).alias("half_done"))
    groups = changed.join(half_done.distinct(), "group_key", "left").select(
        "group_key", F.expr("late OR coalesce(half_done, false)").alias("whole")
    )
    groups = keep(groups)
    anew = bool(groups.where("whole").limit(1).collect())
    rows = _votes(votes, groups, after, anew=anew)
    for kind, table in KINDS.items():
        rows = rows.unionByName(_rows(gold.read(table), kind, groups, anew=anew))
    edges = keep(map_groups(rows, "group_key", Spells(rules), EDGE))
    was_closed = bool(edges.agg(F.max(F.expr(f"was <=> '{CLOSED}'"))).collect()[0][0])
    stamp = {"batch": F.lit(upto), "rules_hash": F.lit(rules.rules_hash)}
    for kind, table in KINDS.items():
        of_kind = edges.where(F.col("kind") == kind).withColumns(stamp)
        gold.merge(table, of_kind, ["edge_key"], only="" if was_closed else "t.part = 'open'")
    gone = ended(naming_of(silver.read(BINDINGS)).generations)
    rows = keep(silver.rows(_ENDED, [(*name, time_us) for name, time_us in gone.items()]))
    rows = rows.select(*DATASET, F.timestamp_micros("at_us").alias("at"))
    together(*(partial(hide_ended, rows, gold, table) for table in KINDS.values()))


def _open_rows(gold: Folder) -> DataFrame:
    both = (gold.read(table).where("part = 'open'").select("group_key", "batch") for table in KINDS.values())
    return next(both).unionByName(next(both))


def _votes(votes: DataFrame, groups: DataFrame, after: int, *, anew: bool) -> DataFrame:
    """Return the votes that matter: those that counted before or count now and new ones; all of some groups."""
    standing = votes.where("NOT retracted")
    is_open, is_new = F.col("part") == OPEN, F.col("batch") > after
    new = standing.where(is_open).unionByName(
        standing.where(~is_open & is_new)
    )  # apart: Delta sees through no OR of both
    found = new.join(groups, "group_key")
    if anew:
        old = standing.where((F.col("batch") <= after) & (F.col("part") == CLOSED))
        found = found.unionByName(old.join(groups.where("whole"), "group_key"))
    empty = {name: F.lit(None).cast("string") for name in ("edge",)}
    return found.withColumns({**empty, "kind": F.lit(VOTE), "fresh": F.col("voted") > after}).select(*GROUPED.columns)


def _rows(edges: DataFrame, kind: str, groups: DataFrame, *, anew: bool) -> DataFrame:
    """Return the rows that gold has of these groups: open ones, and all where a history is made anew."""
    found = edges.join(groups, "group_key") if anew else edges.where("part = 'open'").join(groups, "group_key")
    found = found.where("part = 'open' OR whole")
    micros = [F.unix_micros(name).alias(f"{name}_us") for name in _TIMES]
    ended = F.when(F.col("part") == CLOSED, F.unix_micros("valid_to")).alias("valid_to_us")
    rest = [name for name in KINDS[kind].columns if name not in _TIMES]
    row = F.to_json(F.struct(*rest, micros[0], ended, micros[2])).alias("edge")
    named = {
        "kind": F.lit(kind),
        "layer": F.col("origin"),
        "dataset_namespace": F.col("target_namespace"),
        "dataset_name": F.col("target_dataset"),
        "generation": F.col("target_generation"),
    }
    found = found.withColumn("edge", row).withColumns(named)
    types = {field.name: field.dataType for field in spark_schema(GROUPED)}
    present = [name for name in GROUPED.columns if name in found.columns]
    empty = {name: F.lit(None).cast(kind) for name, kind in types.items() if name not in present}
    return found.select(*present).withColumns(empty).select(*GROUPED.columns)


def ended(generations: Generations) -> dict[Name, int]:
    """Return the generations that are gone now, and since when (us); one that never lived never was."""
    found: dict[Name, int] = {}
    for location in generations.touched():
        begun = dict(reversed(generations.ends(location)))
        before = location
        for time_us in sorted(begun):
            found[before] = time_us
            before = location._replace(generation=begun[time_us])
        found.pop(before, None)
        if not generations.stands(before):
            found[before] = max(begun)
    return found


def hide_ended(gone: DataFrame, gold: Folder, table: Table) -> None:
    """End the edges of generations that are gone now (`gone`), and let those of others go on."""
    edges = gold.read(table).where("part = 'open'")
    for side in ("source", "target"):
        names = {"dataset_namespace": f"{side}_namespace", "dataset_name": f"{side}_dataset"}
        ends = gone.withColumnsRenamed({**names, "generation": f"{side}_generation", "at": f"{side}_at"})
        edges = edges.join(F.broadcast(ends), [*names.values(), f"{side}_generation"], "left")
    at = F.least("source_at", "target_at")
    edges = edges.withColumn("ended", F.when(at.isNotNull(), F.greatest(at, "valid_from")))
    found = edges.where("NOT ended <=> valid_to")
    found = found.withColumns({"valid_to": F.col("ended"), "current": F.col("ended").isNull()})
    found = keep(found.select(*table.columns))
    if not found.isEmpty():
        gold.merge(table, found, ["edge_key"], only="t.part = 'open'")
