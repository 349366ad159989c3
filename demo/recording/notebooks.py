"""The Spark notebooks of the recorded shop: two that run each night, and two that run each hour.

python -m demo.recording.notebooks nightly --url http://127.0.0.1:5000 --lake DIR --stage after
"""

import argparse
import csv
import json
import random
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

from py4j.protocol import Py4JJavaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - its usual name

from demo.session import LAKEHOUSE, fabric_session
from tools.locked_environment import Missing

LANDING = f"{LAKEHOUSE}/Files/landing"
CUSTOMER = "customer_id INT, name STRING, email STRING, country STRING, birth_year INT"
LOYALTY = ", loyalty STRING"
ORDER = "order_id INT, customer_id INT, ordered_on DATE, product_id INT, quantity INT, price DOUBLE"
STOCK = "product_id INT, category STRING, quantity INT, unit_price STRING"
CLICK = "click_id INT, customer_id INT, page STRING"

STAGES = ("before", "after", "last")
"""Without the column `loyalty` in the landing zone, with it, and the night with bad input."""


def nightly(spark: SparkSession, stage: str) -> None:
    """Load customers and orders into bronze, clean them into silver, and score customers in Python."""
    customer = CUSTOMER if stage == "before" else CUSTOMER + LOYALTY
    save(spark.read.schema(customer).option("header", "true").csv(f"{LANDING}/customers"), "bronze/customers")
    save(spark.read.schema(ORDER).json(f"{LANDING}/orders"), "bronze/orders")
    region = F.when(F.col("country").isin("DE", "AT", "CH"), "DACH").otherwise("rest")
    customers = table(spark, "bronze/customers").withColumn("email_sha", F.sha2("email", 256))
    clean = customers.withColumn("email", F.lower(F.trim("email"))).withColumn("region", region)
    save(clean, "silver/customers")
    orders = table(spark, "bronze/orders").withColumn("amount", F.expr("round(quantity * price, 2)"))
    save(orders.dropDuplicates(["order_id"]), "silver/orders")
    scored = table(spark, "silver/customers").select("customer_id", "email").rdd.map(score)
    save(spark.createDataFrame(scored, "customer_id INT, score INT"), "silver/scores")


def stock(spark: SparkSession, _: str) -> None:
    """Load the stock of the warehouse."""
    save(spark.read.schema(STOCK).option("header", "true").csv(f"{LANDING}/stock"), "bronze/stock")
    save(table(spark, "bronze/stock").where("quantity > 0"), "silver/stock")


def clicks(spark: SparkSession, _: str) -> None:
    """Load the clicks of the web shop."""
    save(spark.read.schema(CLICK).json(f"{LANDING}/clicks"), "bronze/clicks")


def export(spark: SparkSession, _: str) -> None:
    """Value the stock for accounting, row by row; the notebook fails at a price that is not a number."""
    prices = table(spark, "silver/stock").select("quantity", "unit_price").rdd
    prices.map(lambda row: row.quantity * float(row.unit_price)).sum()


NOTEBOOKS: dict[str, Callable[[SparkSession, str], None]] = {
    "nightly": nightly, "stock": stock, "export": export, "clicks": clicks,
}  # fmt: skip


def table(spark: SparkSession, name: str) -> DataFrame:
    return spark.read.format("delta").load(f"{LAKEHOUSE}/Tables/{name}")


def save(rows: DataFrame, name: str) -> None:
    writer = rows.write.format("delta").mode("overwrite").option("overwriteSchema", "true")
    writer.save(f"{LAKEHOUSE}/Tables/{name}")


def score(row: object) -> tuple[int, int]:
    """Return the score of a customer; the listener reports no columns for an RDD."""
    return row.customer_id, len(row.email or "")  # type: ignore[attr-defined]


def land(landing: Path, stage: str) -> None:
    """Write the files that other systems deliver. In the stage `last`, an address is empty and a price is invalid."""
    chance = random.Random(7)
    customers = [_customer(number, chance) for number in range(1, 61)]
    items = [_item(number, chance) for number in range(1, 13)]
    if stage != "before":
        customers = [each | {"loyalty": ("gold", "basic")[index % 2]} for index, each in enumerate(customers)]
    if stage == "last":
        customers[-1]["email"] = None
        items[-1]["unit_price"] = "n/a"
    _csv(landing / "customers/customers.csv", customers)
    _csv(landing / "stock/stock.csv", items)
    _json(landing / "orders/orders.json", (_order(number, chance) for number in range(1, 301)))
    _json(landing / "clicks/clicks.json", (_click(number, chance) for number in range(1, 101)))


def _customer(number: int, chance: random.Random) -> dict[str, object]:
    email = f" Customer.{number}@Example{number % 3}.com"
    country = chance.choice(("DE", "AT", "CH", "FR", "PL"))
    return {
        "customer_id": number, "name": f"Customer {number}", "email": email, "country": country,
        "birth_year": chance.randint(1950, 2005),
    }  # fmt: skip


def _order(number: int, chance: random.Random) -> dict[str, object]:
    product = chance.randint(1, 12)
    return {
        "order_id": number, "customer_id": chance.randint(1, 60), "ordered_on": f"2026-01-{1 + number % 28:02d}",
        "product_id": product, "quantity": chance.randint(1, 5), "price": round(4.5 * product, 2),
    }  # fmt: skip


def _item(number: int, chance: random.Random) -> dict[str, object]:
    category = "book" if number % 2 else "game"
    quantity, price = chance.randint(1, 90), f"{number * 3.1:.2f}"
    return {"product_id": number, "category": category, "quantity": quantity, "unit_price": price}


def _click(number: int, chance: random.Random) -> dict[str, object]:
    return {"click_id": number, "customer_id": chance.randint(1, 60), "page": f"/p/{number % 12}"}


def _csv(path: Path, rows: list[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def _json(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def main() -> int:
    """Run one notebook as one Spark application."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("notebook", choices=sorted(NOTEBOOKS))
    parser.add_argument("--url", required=True, help="address that receives the events")
    parser.add_argument("--lake", required=True, type=Path, help="folder that emulates OneLake")
    parser.add_argument("--stage", choices=STAGES, default="after")
    options = parser.parse_args()
    lake = options.lake.resolve()
    land(lake / "Sales" / "Shop.Lakehouse" / "Files" / "landing", options.stage)
    try:
        name = f"nb_shop_{options.notebook}"
        with fabric_session(options.url, "recording", "1.53.0", lake, notebook=name) as spark:
            NOTEBOOKS[options.notebook](spark, options.stage)
    except Py4JJavaError as error:
        sys.stderr.write(f"recording: {options.notebook} failed: {str(error.java_exception.getMessage())[:200]}\n")
    except Missing as error:
        sys.stderr.write(f"recording: {error}\n")
        return 3
    return 0


if __name__ == "__main__":
    sys.exit(main())
