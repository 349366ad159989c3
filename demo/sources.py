"""Write the shop's source files, which other systems deliver to the lakehouse's Files folder. They are reproducible."""

import csv
import json
import random
from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

CUSTOMERS = 60
ORDERS = 300
PRODUCTS = 12
COUNTRIES = ("DE", "AT", "CH", "FR", "PL")


def land_sources(landing: Path) -> None:
    """Write customers (csv, with a later batch of changes), orders (json), products (parquet) and clicks (json)."""
    chance = random.Random(7)  # the same data every time
    _csv(landing / "customers/2026-03-01.csv", (_customer(n, chance) for n in range(1, CUSTOMERS + 1)))
    _csv(landing / "customer_changes/2026-03-02.csv", (_customer(n, chance) for n in range(51, CUSTOMERS + 11)))
    _json_lines(landing / "orders/2026-03.json", (_order(n, chance) for n in range(1, ORDERS + 1)))
    _json_lines(landing / "late_orders/2026-04.json", (_order(n, chance) for n in range(281, ORDERS + 21)))
    for part in (1, 2):
        _json_lines(landing / f"clicks/{part}.json", (_click(n, chance) for n in range(part * 100, part * 100 + 50)))
    _products(landing / "products/products.parquet")


def _customer(number: int, chance: random.Random) -> dict[str, object]:
    return {
        "customer_id": number,
        "name": f"Customer {number}",
        "customer_email": f" Customer.{number}@Example{number % 3}.com",
        "country": chance.choice(COUNTRIES),
        "birth_year": chance.randint(1950, 2005),
    }


def _order(number: int, chance: random.Random) -> dict[str, object]:
    lines = [
        {"product_id": chance.randint(1, PRODUCTS), "quantity": chance.randint(1, 5)}
        for _ in range(chance.randint(1, 3))
    ]
    day = f"2026-03-{1 + number % 28:02d}"
    return {"order_id": number, "customer_id": chance.randint(1, CUSTOMERS), "ordered_on": day, "lines": lines}


def _click(number: int, chance: random.Random) -> dict[str, object]:
    return {"click_id": number, "customer_id": chance.randint(1, CUSTOMERS), "page": f"/p/{number % PRODUCTS}"}


def _products(path: Path) -> None:
    numbers = range(1, PRODUCTS + 1)
    columns = {
        "product_id": list(numbers),
        "product": [f"Product {number}" for number in numbers],
        "category": ["book" if number % 2 else "game" for number in numbers],
        "price": [round(4.5 * number, 2) for number in numbers],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(columns), path)


def _csv(path: Path, rows: Iterable[dict[str, object]]) -> None:
    listed = list(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(listed[0]))
        writer.writeheader()
        writer.writerows(listed)


def _json_lines(path: Path, rows: Iterable[dict[str, object]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
