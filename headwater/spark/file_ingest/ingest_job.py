"""Ingest events from storage as a job of Fabric, Databricks or any cluster: `headwater-spark ingest LAKE PLACE …`.

In a notebook:

    from headwater.spark.file_ingest.ingest_job import ingest
    ingest(["Files/headwater", "Files/lineage", …])
"""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession

from headwater.common.durations import parse_duration_s, parse_since
from headwater.spark.file_ingest.source_kinds import KINDS, StorageSource, ingest_source


def ingest(arguments: Sequence[str]) -> dict[str, Any]:
    """Ingest events from storage into bronze, each once, with the current Spark session, and return the counts."""
    parser = argparse.ArgumentParser(prog="headwater-spark ingest", description=ingest.__doc__)
    parser.add_argument("lake", help="folder or URI that contains `bronze`")
    parser.add_argument("place", help="path or URI of a folder, file or Delta table that Spark can read")
    parser.add_argument("--name", required=True, help="name of the log that the events get in the lake")
    parser.add_argument("--format", choices=[*KINDS], help="detected by default, except capture")
    parser.add_argument("--column", help="for table: the column with the events")
    parser.add_argument("--since", help="for ndjson: only files written since a time or for a duration: 2026-03-01, 2d")
    parser.add_argument(
        "--keep",
        type=parse_duration_s,
        help="for ndjson: delete ingested files that were last written longer ago (30d)",
    )
    parser.add_argument("--claims", help="for capture: folder or URI of large bodies")
    given = parser.parse_args(arguments)
    since_us = parse_since(given.since)()
    landing = StorageSource(given.place, given.name, given.format, given.column, since_us, given.keep, given.claims)
    return ingest_source(SparkSession.builder.getOrCreate(), given.lake.rstrip("/"), landing, _print_line)


def _print_line(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
