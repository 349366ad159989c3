"""R6.7: which writes replace all rows, and which replace a part of them."""

from tests.reference.world_events import Json, at, facet, run_event, uuid
from tests.rule_cases.case import case, dropped, impact, unused, upstream
from tests.rule_cases.events import LAKE, begun, change, changes, done, drop, rename, table, writes
from tests.rule_cases.masking import clear_once, says
from tests.rule_cases.selecting import DAY, LATER, selected

CTAS, RTAS = "nb.atomic_create_table_as_select.b", "nb.atomic_replace_table_as_select.b"
DYNAMIC = {"spark_properties": facet(properties={"spark.sql.sources.partitionOverwriteMode": "DYNAMIC"})}


def sql(query: str) -> dict[str, Json]:
    return {"sql": facet(query=query, dialect="spark")}


SWAPPED = [  # dbt's table on Postgres: build, move the old table aside, swap, drop the old table
    done(1, 1, writes("m__dbt_tmp", {"x": "a.x"}, says="CREATE"), of=[table("a", "x")], job="build m"),
    rename(2, 2, "m", "m__dbt_backup"),
    rename(3, 3, "m__dbt_tmp", "m"),
    drop(4, 4, "m__dbt_backup"),
]
MERGED = [  # dbt's incremental model on Snowflake, and similarly on Spark with a view: build, merge, drop
    done(1, 1, writes("m__dbt_tmp", {"x": "a.x"}, says="CREATE"), of=[table("a", "x")], job="build m"),
    done(2, 2, writes("m", {"x": "m__dbt_tmp.x"}), of="m__dbt_tmp", job="merge m"),
    drop(3, 3, "m__dbt_tmp"),
]
OVERWRITTEN = [  # dbt's incremental model on Spark: a view of the new rows overwrites the table
    done(1, 1, writes("m__dbt_tmp", {"x": "a.x"}, says="CREATE"), of=[table("a", "x")], job="app.create_view"),
    done(2, 2, writes("m", {"x": "m__dbt_tmp.x"}, says="OVERWRITE"), of="m__dbt_tmp", job="app.insert_into.m"),
    drop(3, 3, "m__dbt_tmp"),
]
REPORT = done(9, 9, writes("report", {"x": "m.x"}), of="m")

TEMPORARY = [
    case(
        "R10 the swap of a table that dbt builds under a temporary name ends no generation",
        [*SWAPPED, REPORT],
        dropped(),
        upstream("report.x", {"m.x": "1", "a.x": "2"}),
        impact("a.x", {"m.x": "1", "report.x": "2"}),
    ),
    case(
        "R10 readers of the table before the swap are readers after it",
        [done(8, 0.5, writes("report", {"x": "m.x"}), of="m"), *SWAPPED],
        dropped(),
        impact("a.x", {"m.x": "1", "report.x": "2"}),
        unused("a", {"x": "used"}),
    ),
    *(
        case(
            f"R10 the DROP of a temporary table that was {used} leaves the table",
            [*events, REPORT],
            dropped(),
            upstream("report.x", {"m.x": "1", "a.x": "2"}),
            impact("a.x", {"m.x": "1", "report.x": "2"}),
        )
        for used, events in (("merged", MERGED), ("written to the table", OVERWRITTEN))
    ),
    case(
        "R10 the DROP of the table itself ends it",
        [*MERGED, drop(5, 5, "m")],
        dropped("m"),
    ),
    case(
        "R10 the DROP of a partition of BigQuery ends no generation",
        [
            done(1, 1, writes(("bigquery", "p.d.t"), {"x": "a.x"}), of=[table("a", "x")], job="load"),
            drop(2, 2, ("bigquery", "p.d.t$20260301")),
        ],
        dropped(),
    ),
    *(
        clear_once(
            f"a {what} of b__dbt_{kind} removes nothing of the table",
            [done(3, 15, changes(f"b__dbt_{kind}", what))],
            {"b.x": 10},
        )
        for what in ("DROP", "CREATE", "TRUNCATE", "OVERWRITE")
        for kind in ("tmp", "backup")
    ),
    clear_once(
        "TRUNCATE in the SQL of a temporary name removes nothing of the table",
        [done(3, 15, table("b__dbt_tmp"), job_facets=sql("TRUNCATE TABLE b__dbt_tmp"))],
        {"b.x": 10},
    ),
    *(
        case(
            f"R10 the DROP of {name} ends no generation of the files of all days",
            [done(1, 1, writes(form, {"x": "a.x"}), of=[table("a", "x")], job="load"), drop(2, 2, name)],
            dropped(),
        )
        for name, form in (("raw/2026-03-01/b.csv", "raw/b.csv"), ("raw/b_20260301.csv", "raw/b.csv"))
    ),
    clear_once("setting the table aside removes nothing", [rename(3, 15, "b", "b__dbt_backup")], {"b.x": 10}),
    clear_once(
        "renaming a temporary table to the name removes nothing: an older run may have filled it in the clear",
        [done(3, 15, changes("b__dbt_tmp", "CREATE")), rename(4, 17, "b__dbt_tmp", "b")],
        {"b.x": 10},
    ),
]


def committed(second: float, *told: str, job: str = "nightly", namespace: str = "headwater") -> Json:
    """Return an event of `reconcile` that reports what commits prove, such as `3 nothing b`: run, proof, dataset."""
    facets = [dict(zip(("run", "proves", "name"), each.split(), strict=True)) for each in told]
    commits = [{**each, "run": uuid(int(each["run"])), "namespace": LAKE} for each in facets]
    about = ("COMPLETE", at(second), uuid(70), (namespace, f"reconcile/{job}"))
    return run_event(*about, run_facets={"headwater_commits": facet(commits=commits)})


def linked_overwrite() -> Json:
    told = facet(identifiers=[{"namespace": LAKE, "name": "other", "type": "TABLE"}])
    return table("b", "", symlinks=told, **change("OVERWRITE"))


OVER = says(3, 15, "OVERWRITE")
COMMITTED = [
    *(
        clear_once(
            f"a commit that proves {what} withdraws a rewrite", [OVER, committed(15, f"3 {what} b")], {"b.x": 10}
        )
        for what in ("nothing", "append", "part")
    ),
    clear_once("a commit confirms a rewrite", [OVER, committed(15, "3 whole b")], {}),
    clear_once("a commit proves that an append was a rewrite", [says(3, 15, "CREATE"), committed(15, "3 whole b")], {}),
    clear_once(
        "a rewrite that one comparison withdraws is none for another",
        [OVER, committed(15, "3 whole b"), committed(16, "3 part b")],
        {"b.x": 10},
    ),
    clear_once("what commits prove of another run", [OVER, committed(15, "4 nothing b")], {}),
    clear_once("what commits prove of another dataset of the run", [OVER, committed(15, "3 nothing c")], {}),
    clear_once(
        "only reconcile proves a rewrite",
        [says(3, 15, "CREATE"), committed(15, "3 whole b", namespace="jobs")],
        {"b.x": 10},
    ),
    clear_once("every job may withdraw a rewrite", [OVER, committed(15, "3 nothing b", namespace="jobs")], {"b.x": 10}),
    clear_once(
        "a commit of the table proves a rewrite although an attempt failed and a partition is named",
        [
            says(3, 14, "CREATE", kind="FAIL"),
            says(3, 15, "CREATE"),
            done(4, 16, of="b/day=1"),
            committed(15, "3 whole b"),
        ],
        {},
    ),
    clear_once(
        "the rewrite before a withdrawn one counts", [says(4, 13, "OVERWRITE"), OVER, committed(15, "3 nothing b")], {}
    ),
    clear_once(
        "a name that moved: commits of the table under another name",
        [done(3, 15, linked_overwrite()), committed(15, "3 nothing other")],
        {"b.x": 10},
    ),
]

CASES = [
    *TEMPORARY,
    case(
        "R10 the DROP of a partition ends no generation",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="j"),
            done(2, 2, changes("b/day=1", "DROP"), job="drop"),
        ],
        dropped(),
        upstream("b.x", {"a.x": "1"}),
        impact("a.x", {"b.x": "1"}),
    ),
    case(
        "R10 the DROP of the table beside that of a partition ends it",
        [
            done(1, 1, writes("b", {"x": "a.x"}), of=[table("a", "x")], job="j"),
            done(2, 2, changes("b/day=1", "DROP"), changes("b", "DROP"), job="drop"),
        ],
        dropped("b"),
        impact("a.x", {}),
    ),
    clear_once("a CREATE by CREATE TABLE AS removes them", [says(3, 15, "CREATE", job=CTAS)], {}),
    clear_once(
        "a CREATE by CREATE TABLE IF NOT EXISTS AS removes nothing",
        [says(3, 15, "CREATE", job=CTAS, job_facets=sql("CREATE TABLE IF NOT EXISTS b AS SELECT x FROM a"))],
        {"b.x": 10},
    ),
    clear_once("a statement that replaces the table removes them", [done(3, 15, table("b"), job=RTAS)], {}),
    clear_once(
        "an OVERWRITE that began before the clear write ended removes nothing of it",
        [begun(3, 9), says(3, 15, "OVERWRITE")],
        {"b.x": 10},
    ),
    clear_once(
        "dynamic partitions replace a part",
        [says(3, 15, "OVERWRITE", job="nb.overwrite_partitions_dynamic.b")],
        {"b.x": 10},
    ),
    clear_once(
        "a session with dynamic partitions replaces a part",
        [says(3, 15, "OVERWRITE", run_facets=DYNAMIC)],
        {"b.x": 10},
    ),
    clear_once(
        "a row-level command replaces a part", [says(3, 15, "OVERWRITE", job="nb.replace_iceberg_data.b")], {"b.x": 10}
    ),
    clear_once(
        "an OVERWRITE with DELETE in its SQL replaces a part",
        [says(3, 15, "OVERWRITE", job_facets=sql("DELETE FROM b WHERE x = 1"))],
        {"b.x": 10},
    ),
    clear_once(
        "an OVERWRITE with PARTITION in its SQL replaces a part",
        [says(3, 15, "OVERWRITE", job_facets=sql("INSERT OVERWRITE TABLE b PARTITION (d = 1) SELECT x FROM a"))],
        {"b.x": 10},
    ),
    clear_once("TRUNCATE in the SQL removes them", [done(3, 15, table("b"), job_facets=sql("TRUNCATE TABLE b"))], {}),
    clear_once(
        "DELETE without a condition removes them", [done(3, 15, table("b"), job_facets=sql("DELETE FROM b"))], {}
    ),
    clear_once(
        "an output with a subset is written in part",
        [done(3, 15, changes("b", "OVERWRITE") | {"outputFacets": {"subset": facet(outputCondition={})}})],
        {"b.x": 10},
    ),
    clear_once(
        "a partition that any event names shows that OVERWRITE replaces a part",
        [says(3, 15, "OVERWRITE"), done(4, 16, of="b/day=1")],
        {"b.x": 10},
    ),
    clear_once(
        "a reader whose condition names partitions shows that OVERWRITE replaces a part",
        [says(3, 15, "OVERWRITE"), done(4, 16, of=[selected("b", DAY, "x")])],
        {"b.x": 10},
    ),
    clear_once(
        "a reader whose condition compares columns shows nothing about parts",
        [says(3, 15, "OVERWRITE"), done(4, 16, of=[selected("b", LATER, "x")])],
        {},
    ),
    clear_once("an OVERWRITE of one partition", [done(3, 15, changes("b/day=1", "OVERWRITE"))], {"b.x": 10}),
    clear_once(
        "an attempt that failed, too, removes nothing",
        [says(3, 14, "OVERWRITE", kind="FAIL"), says(3, 15, "OVERWRITE")],
        {"b.x": 10},
    ),
    *COMMITTED,
]
