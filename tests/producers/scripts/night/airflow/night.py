"""DAGs for recordings. Each first succeeds and then fails in a way that is typical for nightly jobs.

Runs in an environment of Airflow 2.x or 3.x, in which Headwater is not installed. The logical date of a run decides
what fails, so one scheduler sends the events of successful and of failed runs.
"""

from datetime import UTC, datetime, timedelta
from typing import Any

try:
    from airflow.providers.standard.operators.bash import BashOperator  # type: ignore[import-not-found]
    from airflow.providers.standard.operators.python import PythonOperator  # type: ignore[import-not-found]
except ImportError:
    from airflow.operators.bash import BashOperator  # type: ignore[import-not-found]
    from airflow.operators.python import PythonOperator  # type: ignore[import-not-found]
try:
    from airflow.sdk import DAG, Asset, TaskGroup  # type: ignore[import-not-found]
except ImportError:
    from airflow import DAG  # type: ignore[import-not-found]
    from airflow.datasets import Dataset as Asset  # type: ignore[import-not-found]
    from airflow.utils.task_group import TaskGroup  # type: ignore[import-not-found]

FIRST = datetime(2026, 11, 1, tzinfo=UTC)
RAW, SHOP = "s3://raw.example", "s3://shop.example"
RAW_FILES, FILES = "file://raw.example", "file://shop.example"
"""Assets that the installed providers turn into datasets. Those of `s3` are only text in the facet `airflow`."""


class OutOfStock(Exception):
    """An error from a team's own code."""


def count(rows: int, day: int) -> int:
    """Fail from the second day on, one level below the task's own function."""
    if day > 1:
        raise OutOfStock(f"{rows} orders name products that are not in stock")
    return rows


def copy(logical_date: Any, **_: Any) -> None:
    """Succeed on the first day."""
    count(17, logical_date.day)


def load(logical_date: Any, ti: Any, **_: Any) -> None:
    """Succeed on the first day, in the second attempt on the second day, and never on the third day."""
    if logical_date.day > 2 or (logical_date.day == 2 and ti.try_number == 1):
        raise ConnectionError("connection to orders.example timed out")


def nothing(**_: Any) -> None:
    """Do nothing. Only the events matter."""


def daily(name: str, days: int) -> Any:
    """Return a DAG with one run for each of some days."""
    return DAG(
        name,
        description=f"Nightly work of the shop: {name}.",
        schedule=timedelta(days=1),
        start_date=FIRST,
        end_date=FIRST + timedelta(days=days - 1),
        catchup=True,
        max_active_runs=1,
        tags=["night", "sales"],
        default_args={"owner": "team-sales", "retry_delay": timedelta(seconds=1)},
    )


with daily("shop_nightly", 2):
    with TaskGroup("load"):
        orders = PythonOperator(
            task_id="orders",
            python_callable=nothing,
            inlets=[Asset(f"{RAW}/orders")],
            outlets=[Asset(f"{SHOP}/orders")],
        )
        customers = PythonOperator(
            task_id="customers",
            python_callable=load,
            retries=2,
            owner="team-customers",
            inlets=[Asset(f"{RAW}/customers")],
            outlets=[Asset(f"{SHOP}/customers")],
        )
        orders >> customers
    regions = PythonOperator.partial(task_id="regions", python_callable=nothing).expand(
        op_kwargs=[{"region": "north"}, {"region": "south"}, {"region": "west"}]
    )
    wait = BashOperator(task_id="wait", bash_command="echo ready")
    revenue = PythonOperator(
        task_id="revenue",
        python_callable=copy,
        inlets=[Asset(f"{SHOP}/orders"), Asset(f"{SHOP}/customers")],
        outlets=[Asset(f"{SHOP}/revenue")],
    )
    publish = PythonOperator(
        task_id="publish",
        python_callable=nothing,
        inlets=[Asset(f"{SHOP}/revenue")],
        outlets=[Asset(f"{SHOP}/report")],
    )
    customers >> [regions, wait] >> revenue >> publish

with daily("copy_table", 2):
    PythonOperator(
        task_id="copy", python_callable=copy, inlets=[Asset(f"{RAW_FILES}/table")], outlets=[Asset(f"{FILES}/table")]
    )

with daily("load_table", 3):
    PythonOperator(
        task_id="load",
        python_callable=load,
        retries=1,
        inlets=[Asset(f"{RAW_FILES}/table")],
        outlets=[Asset(f"{FILES}/table")],
    )

with daily("two_tables", 2):
    PythonOperator(
        task_id="left", python_callable=copy, inlets=[Asset(f"{RAW_FILES}/left")], outlets=[Asset(f"{FILES}/left")]
    )
    PythonOperator(
        task_id="right", python_callable=copy, inlets=[Asset(f"{RAW_FILES}/right")], outlets=[Asset(f"{FILES}/right")]
    )

with daily("clean_up", 2):
    make = PythonOperator(
        task_id="make", python_callable=copy, inlets=[Asset(f"{RAW_FILES}/table")], outlets=[Asset(f"{FILES}/table")]
    )
    remove = PythonOperator(task_id="remove", python_callable=copy, trigger_rule="all_done")
    make >> remove
