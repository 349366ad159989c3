"""A shop's day as a DAG: a task copies a file, one runs a statement in a database, and one reports its own lineage.

Runs in the environment of Airflow (`tools.producer_envs`), in which Headwater is not installed.
"""

from typing import Any

from airflow.providers.common.compat.openlineage.facet import Dataset, SQLJobFacet  # type: ignore[import-not-found]
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator  # type: ignore[import-not-found]
from airflow.providers.openlineage.extractors import OperatorLineage  # type: ignore[import-not-found]
from airflow.providers.standard.operators.bash import BashOperator  # type: ignore[import-not-found]
from airflow.sdk import DAG, Asset, BaseOperator  # type: ignore[import-not-found]

SHOP = "postgres://shop.example:5432"
SUM_UP = "INSERT INTO revenue (customer, total) SELECT customer, SUM(amount) FROM orders GROUP BY customer"


class SaysItsLineage(BaseOperator):  # type: ignore[misc]
    """A custom operator without a hook. It reports what it reads and writes."""

    def execute(self, context: Any) -> None:
        """Do nothing. Only the events matter."""

    def get_openlineage_facets_on_complete(self, _: Any) -> Any:
        """Return the tables, and the statement that connects them."""
        return OperatorLineage(
            inputs=[Dataset(namespace=SHOP, name="shop.public.orders")],
            outputs=[Dataset(namespace=SHOP, name="shop.public.revenue")],
            job_facets={"sql": SQLJobFacet(query=SUM_UP, dialect="postgres")},
        )


with DAG("shop", schedule=None, catchup=False):
    take = BashOperator(
        task_id="take",
        bash_command="echo taken",
        inlets=[Asset("file://landing.example/orders.csv")],
        outlets=[Asset("file://bronze.example/orders.csv")],
    )
    count = SQLExecuteQueryOperator(task_id="count", conn_id="shop", sql="SELECT 1 AS one")
    sum_up = SaysItsLineage(task_id="sum_up")
    take >> count >> sum_up
