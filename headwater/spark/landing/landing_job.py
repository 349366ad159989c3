"""What landed, into bronze, as a job of Fabric, Databricks or any cluster: `headwater-spark ingest LAKE PLACE …`.

In a notebook: `from headwater.spark.landing.landing_job import ingest; ingest(["Files/headwater", "Files/lineage", …])`
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from headwater.common.durations import read_since, seconds
from headwater.spark.landing.landing_kinds import KINDS, Landing, take_in


def ingest(arguments: Sequence[str]) -> dict[str, Any]:
    """Take what landed in storage into bronze, each event once, in the session that is there; returns how much."""
    parser = argparse.ArgumentParser(prog="headwater-spark ingest", description=ingest.__doc__)
    parser.add_argument("lake", help="folder or URI that holds `bronze`")
    parser.add_argument("place", help="folder, file or Delta table, as Spark reads it")
    parser.add_argument("--name", required=True, help="name of the log that they make up in the lake")
    parser.add_argument("--format", choices=[*KINDS], help="found out; files of Capture need to be named")
    parser.add_argument("--column", help="of a table of JSON: the column with the events")
    parser.add_argument("--since", help="of files: only those written to since: 2026-03-01, or 2d")
    parser.add_argument(
        "--keep", type=seconds, help="of files: delete those taken and not written to for so long (30d)"
    )
    parser.add_argument("--claims", help="of Capture: folder or URI of large bodies")
    given = parser.parse_args(arguments)
    since_us = read_since(given.since)()
    landing = Landing(given.place, given.name, given.format, given.column, since_us, given.keep, given.claims)
    return take_in(SparkSession.builder.getOrCreate(), given.lake.rstrip("/"), landing, _say)


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
