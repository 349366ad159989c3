"""Run a shop's medallion pipeline (files, bronze, silver, gold, platinum) with the OpenLineage Spark listener.

python demo/pipeline.py --url http://127.0.0.1:5000 --api-key KEY --listener 1.53.0 --lake DIR
"""

import argparse
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - its usual name
from pyspark.sql import types as T  # noqa: N812 - its usual name

import headwater
from demo.session import LAKEHOUSE, fabric_session
from demo.sources import land_sources
from tools.locked_environment import Missing

Stage = Callable[[SparkSession], None]

LANDING = f"{LAKEHOUSE}/Files/landing"

CUSTOMER = "customer_id INT, name STRING, customer_email STRING, country STRING, birth_year INT"
ORDER = "order_id INT, customer_id INT, ordered_on DATE, lines ARRAY<STRUCT<product_id: INT, quantity: INT>>"
CLICK = "click_id INT, customer_id INT, page STRING"


# Notebook 1: from files to silver


def bronze_customers(spark: SparkSession) -> None:
    """Load CSV files unchanged."""
    overwrite(read_csv(spark, "customers"), "bronze/customers")


def bronze_orders(spark: SparkSession) -> None:
    """Load JSON with nested order lines."""
    overwrite(spark.read.schema(ORDER).json(f"{LANDING}/orders"), "bronze/orders")


def bronze_products(spark: SparkSession) -> None:
    """Load Parquet files."""
    overwrite(spark.read.parquet(f"{LANDING}/products"), "bronze/products")


def bronze_clicks(spark: SparkSession) -> None:
    """Load the existing files with a stream, one file per batch."""
    clicks = spark.readStream.schema(CLICK).option("maxFilesPerTrigger", 1).json(f"{LANDING}/clicks")
    writer = clicks.writeStream.format("delta").option("checkpointLocation", f"{LAKEHOUSE}/Files/checkpoints/clicks")
    writer.trigger(availableNow=True).start(path("bronze/clicks")).awaitTermination()


def silver_customers(spark: SparkSession) -> None:
    """Hash and clean the e-mail address, and add derived columns."""
    masked = table(spark, "bronze/customers").withColumn("email_sha", F.sha2("customer_email", 256))
    clean = masked.withColumn("customer_email", F.lower(F.trim("customer_email")))
    region = F.when(F.col("country").isin("DE", "AT", "CH"), "DACH").otherwise("rest")
    derived = (
        clean.withColumn("match_key", F.sha2("customer_email", 256))  # listener 1.53.0 does not report this masking
        .withColumn("email_domain", domain("customer_email"))
        .withColumn("region", region)
    )
    overwrite(derived, "silver/customers")


def silver_orders(spark: SparkSession) -> None:
    """Keep the newest version of each order, and write one row per order line with its price."""
    newest = Window.partitionBy("order_id").orderBy(F.desc("ordered_on"))
    orders = table(spark, "bronze/orders").withColumn("version", F.row_number().over(newest)).where("version = 1")
    overwrite(priced_lines(orders, table(spark, "bronze/products")), "silver/orders")


def merge_customer_changes(spark: SparkSession) -> None:
    """MERGE in SQL: update changed customers and insert new ones."""
    read_csv(spark, "customer_changes").createOrReplaceTempView("changes")
    spark.sql(
        f"""
        MERGE INTO delta.`{path("silver/customers")}` AS t
        USING changes AS s ON t.customer_id = s.customer_id
        WHEN MATCHED THEN UPDATE SET
          name = s.name, country = s.country, customer_email = s.customer_email,
          email_sha = sha2(s.customer_email, 256)
        WHEN NOT MATCHED THEN INSERT (customer_id, name, customer_email, country, birth_year, email_sha)
          VALUES (s.customer_id, s.name, s.customer_email, s.country, s.birth_year, sha2(s.customer_email, 256))
        """
    )


def merge_late_orders(spark: SparkSession) -> None:
    """MERGE with the DeltaTable API: update the lines of late orders and insert new lines."""
    late = spark.read.schema(ORDER).json(f"{LANDING}/late_orders")
    lines = priced_lines(late, table(spark, "bronze/products")).dropDuplicates(["order_id", "line"])
    target = DeltaTable.forPath(spark, path("silver/orders"))
    merge = target.alias("t").merge(lines.alias("s"), "t.order_id = s.order_id AND t.line = s.line")
    merge.whenMatchedUpdate(set={"quantity": "s.quantity", "amount": "s.amount"}).whenNotMatchedInsertAll().execute()


# Notebook 2, in the same session: from silver to platinum


def gold_revenue(spark: SparkSession) -> None:
    """CREATE TABLE AS SELECT: revenue by day and country."""
    views(spark)
    spark.sql("CREATE DATABASE IF NOT EXISTS gold")
    spark.sql(
        """
        CREATE TABLE gold.revenue USING delta AS
        SELECT o.ordered_on, c.country, c.region, sum(o.amount) AS revenue, count(DISTINCT o.order_id) AS orders
        FROM orders o JOIN customers c ON o.customer_id = c.customer_id
        GROUP BY o.ordered_on, c.country, c.region
        """
    )


def gold_customer_360(spark: SparkSession) -> None:
    """CREATE OR REPLACE TABLE AS SELECT: a summary of each customer, identified by a hash only."""
    spark.sql(
        """
        CREATE OR REPLACE TABLE gold.customer_360 USING delta AS
        SELECT c.customer_id, sha2(c.customer_email, 256) AS customer_hash, c.email_domain, c.region,
               coalesce(sum(o.amount), 0) AS spent, max(o.ordered_on) AS last_order
        FROM customers c LEFT JOIN orders o ON o.customer_id = c.customer_id
        GROUP BY c.customer_id, c.customer_email, c.email_domain, c.region
        """
    )


def gold_insert(spark: SparkSession) -> None:
    """INSERT a first load, then replace it with INSERT OVERWRITE."""
    spark.sql("CREATE TABLE gold.sales_by_category (category STRING, revenue DOUBLE) USING delta")
    totals = "SELECT category, sum(amount) AS revenue FROM orders GROUP BY category"
    spark.sql(f"INSERT INTO gold.sales_by_category {totals}")
    spark.sql(f"INSERT OVERWRITE gold.sales_by_category {totals}")


def gold_corrections(spark: SparkSession) -> None:
    """Correct revenue with UPDATE and DELETE."""
    spark.sql("UPDATE gold.revenue SET revenue = round(revenue, 2)")
    spark.sql("DELETE FROM gold.revenue WHERE orders = 0")


def platinum_top_customers(spark: SparkSession) -> None:
    """Rank customers with a window function and keep the first ten."""
    by_spending = Window.orderBy(F.desc("spent"), "customer_id")
    best = spark.table("gold.customer_360").withColumn("place", F.rank().over(by_spending)).where("place <= 10")
    overwrite(best.select("place", "customer_id", "customer_hash", "spent"), "platinum/top_customers")


def platinum_mailing(spark: SparkSession) -> None:
    """Create a mailing list, which contains the readable e-mail address under a different name."""
    top = table(spark, "platinum/top_customers")
    mailing = top.join(table(spark, "silver/customers"), "customer_id")
    overwrite(mailing.select("place", F.col("customer_email").alias("contact"), greeting("name")), "platinum/mailing")


def platinum_revenue(spark: SparkSession) -> None:
    """Sum up revenue by region for a dashboard."""
    by_region = spark.table("gold.revenue").groupBy("region")
    overwrite(by_region.agg(F.round(F.sum("revenue"), 2).alias("revenue")), "platinum/revenue")


def platinum_scores(spark: SparkSession) -> None:
    """Score customers row by row in Python; the listener reports no columns for an RDD."""
    customers = table(spark, "silver/customers").select("customer_id", "customer_email")
    scores = customers.rdd.map(lambda row: (row.customer_id, len(row.customer_email or "")))
    overwrite(spark.createDataFrame(scores, "customer_id INT, score INT"), "platinum/scores")


def failing_export(spark: SparkSession) -> None:
    """Fail in a UDF while writing. The listener still reports COMPLETE."""
    must_fail(
        lambda: table(spark, "silver/orders").select(broken("amount")).write.parquet(path("export/broken", "Files"))
    )


def failing_job(spark: SparkSession) -> None:
    """Fail in an RDD job, the only kind of failure that the listener reports as FAIL."""
    must_fail(lambda: spark.sparkContext.parallelize([1, 0], 2).map(lambda number: 1 // number).collect())


STAGES: tuple[Stage, ...] = (
    bronze_customers,
    bronze_orders,
    bronze_products,
    bronze_clicks,
    silver_customers,
    silver_orders,
    merge_customer_changes,
    merge_late_orders,
    gold_revenue,
    gold_customer_360,
    gold_insert,
    gold_corrections,
    platinum_top_customers,
    platinum_mailing,
    platinum_revenue,
    platinum_scores,
    failing_export,
    failing_job,
)


# Shared by the stages


def path(name: str, area: str = "Tables") -> str:
    return f"{LAKEHOUSE}/{area}/{name}"


def table(spark: SparkSession, name: str) -> DataFrame:
    return spark.read.format("delta").load(path(name))


def overwrite(rows: DataFrame, name: str) -> None:
    rows.write.format("delta").mode("overwrite").save(path(name))


def read_csv(spark: SparkSession, name: str) -> DataFrame:
    return spark.read.schema(CUSTOMER).option("header", "true").csv(f"{LANDING}/{name}")


def views(spark: SparkSession) -> None:
    for name in ("customers", "orders"):
        table(spark, f"silver/{name}").createOrReplaceTempView(name)


def priced_lines(orders: DataFrame, products: DataFrame) -> DataFrame:
    """Return one row per order line, with its product and amount."""
    exploded = orders.select("order_id", "customer_id", "ordered_on", F.posexplode("lines").alias("line", "item"))
    lines = exploded.select("order_id", "line", "customer_id", "ordered_on", "item.product_id", "item.quantity")
    return lines.join(products, "product_id").withColumn("amount", F.expr("round(quantity * price, 2)"))


@F.udf(T.StringType())
def domain(address: str) -> str:
    """Return the part after the @."""
    return address.rpartition("@")[2]


@F.udf(T.DoubleType())
def broken(_: float) -> float:
    """Fail during a write."""
    return 1 / 0


def greeting(name: str) -> Column:
    return F.concat(F.lit("Dear "), F.col(name)).alias("greeting")


def must_fail(action: Callable[[], object]) -> None:
    """Run an action that must fail, and continue, as a notebook with a try block would."""
    try:
        action()
    except (PySparkException, Py4JJavaError):
        return
    raise AssertionError("the stage did not fail")


def run(spark: SparkSession) -> None:
    """Run all stages and print one line for each."""
    for number, stage in enumerate(STAGES, 1):
        started = time.monotonic()
        stage(spark)
        print(f"  {number:2}/{len(STAGES)} {stage.__name__:<24} {time.monotonic() - started:4.1f} s", flush=True)


def main() -> int:
    """Parse the command line, write the source files and run the stages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", required=True, help="address of Headwater")
    parser.add_argument("--api-key", default=os.environ.get("HEADWATER_KEY"), help="API key; default: HEADWATER_KEY")
    parser.add_argument("--listener", default="1.53.0", help="version of the OpenLineage Spark listener")
    parser.add_argument("--lake", required=True, type=Path, help="folder that emulates OneLake")
    parser.add_argument("--doors", type=Path, help="folder for the same events through the offline transports")
    options = parser.parse_args()
    if not options.api_key:
        parser.error("an API key with the role write is missing: use --api-key or set HEADWATER_KEY")
    lake = options.lake.resolve()
    files = lake / "Sales" / "Shop.Lakehouse"
    try:
        doors = options.doors.resolve() if options.doors else None
        with fabric_session(options.url, options.api_key, options.listener, lake, doors) as spark:
            shutil.rmtree(files, ignore_errors=True)  # files of an earlier run
            land_sources(files / "Files" / "landing")
            run(spark)
            if doors:
                headwater.stamp(spark, pipeline="shop", pipeline_run="2026-03-28")
                headwater.harness(spark, str(doors / "harness"), pipeline="shop", pipeline_run="2026-03-28")
                headwater.flush(spark)
    except Missing as error:
        sys.stderr.write(f"pipeline: {error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
