"""A shop's orders in SQLite, as a DAG: two tables are made, filled, and summed up into a third."""

import pendulum
from airflow.providers.common.sql.operators.sql import SQLExecuteQueryOperator
from airflow.providers.standard.operators.bash import BashOperator
from airflow.sdk import DAG

with DAG("shop", schedule=None, start_date=pendulum.datetime(2026, 1, 1, tz="UTC"), catchup=False):
    make = SQLExecuteQueryOperator(
        task_id="make",
        conn_id="shop",
        sql=[
            "CREATE TABLE orders (id INTEGER, customer TEXT, amount INTEGER)",
            "CREATE TABLE revenue (customer TEXT, total INTEGER)",
            "INSERT INTO orders VALUES (1, 'Ada', 10), (2, 'Ada', 20), (3, 'Grace', 30)",
        ],
    )
    sum_up = SQLExecuteQueryOperator(
        task_id="sum_up",
        conn_id="shop",
        sql="INSERT INTO revenue (customer, total) SELECT customer, SUM(amount) FROM orders GROUP BY customer",
    )
    tell = BashOperator(task_id="tell", bash_command="echo done")
    make >> sum_up >> tell
