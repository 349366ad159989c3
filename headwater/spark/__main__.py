"""Refresh silver and gold in a job of Fabric, Databricks or any cluster: `python -m headwater.spark LAKE`.

`headwater-spark replay LAKE --to …` sends stored events again (`replay/replay_job.py`). `headwater-spark ingest LAKE
PLACE --name …` reads files with events from storage (`file_ingest/ingest_job.py`).
In a notebook: `from headwater.spark.__main__ import main; main(["abfss://lake@account.dfs.core.windows.net"])`.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.common.durations import parse_duration_s
from headwater.common.errors import WrongSetting
from headwater.lineage.names.canonical_names import NameRules
from headwater.lineage.names.metadata_table import read_metadata
from headwater.lineage.rules.user_rules import UserRules
from headwater.lineage.rules.user_rules_text import (
    read_constants,
    read_consumers,
    read_masking,
    read_rewrites,
    read_tags,
)
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.spark.file_ingest.ingest_job import ingest
from headwater.spark.refresh import BATCH_EVENTS, refresh
from headwater.spark.repeated_passes import run_passes


def main(arguments: Sequence[str] | None = None) -> None:
    """Refresh silver and gold of a lake, or run the command in the first argument, in the session of the cluster."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if arguments[:1] == ["replay"]:
        _replay(arguments[1:])
    elif arguments[:1] == ["ingest"]:
        _print_outcome(ingest(arguments[1:]))
    else:
        _refresh(arguments)


def _refresh(arguments: Sequence[str]) -> None:
    parser = argparse.ArgumentParser(prog="headwater-spark", description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("lake", help="folder or URI that contains `bronze`")
    parser.add_argument("--rebuild", action="store_true", help="build new tables from all of bronze, then switch")
    parser.add_argument(
        "--every", type=parse_duration_s, help="run until stopped; time between checks for events (30s)"
    )
    parser.add_argument("--rules", type=Path, help="folder with names.yaml, tags.yaml and so on, as a mounted path")
    parser.add_argument("--window-days", type=int, help="days in which an earlier execution counts as use (92)")
    parser.add_argument("--batch-events", type=int, default=BATCH_EVENTS, help="maximum number of events in a batch")
    options = parser.parse_args(arguments)
    if options.rebuild and options.every:
        parser.error("--rebuild and --every cannot be combined. Run --rebuild first.")
    rules = partial(read_rules, options.rules, options.window_days)
    rules()
    spark, batch_events = SparkSession.builder.getOrCreate(), options.batch_events
    if options.every:
        for _ in run_passes(spark, options.lake, rules, options.every, batch_events=batch_events):
            pass
    else:
        refresh(spark, options.lake, rules(), rebuild=options.rebuild, batch_events=batch_events)


def _replay(arguments: Sequence[str]) -> None:
    from headwater.spark.replay.replay_job import replay  # noqa: PLC0415 - imports an extra

    _print_outcome(outcome := replay(arguments))
    sys.exit(1 if outcome.get("refused") else 0)


def _print_outcome(outcome: Mapping[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(outcome, indent=2)}\n")


def read_rules(folder: Path | None, window_days: int | None = None) -> UserRules:
    """Read the user's rules from the files in a folder. A missing file, or no folder at all, means no rules.

    window_days: days in which an earlier execution counts as use; None: the default. Raises WrongSetting if the folder
    does not exist or a file is invalid: unlike a server, a job has no last valid rules to continue with.
    """
    window_us = None if window_days is None else window_days * DAY_US
    if folder is None:
        return UserRules(window_us=window_us)
    if not folder.is_dir():
        raise WrongSetting(f"The folder {folder} does not exist. Set --rules to a folder on this machine.")

    def text(file: str) -> str | None:
        path = folder / file
        return path.read_text("utf-8") if path.exists() else None

    names, jobs, table = text("names.yaml"), text("jobs.yaml"), text("metadata.csv")
    return UserRules(
        names=NameRules(
            [("names.yaml", names)] if names is not None else [],
            read_metadata(table, "metadata.csv") if table is not None else (),
            [("jobs.yaml", jobs)] if jobs is not None else [],
        ),
        tags=read_tags(text("tags.yaml") or "tags: []", "tags.yaml"),
        masking=read_masking(text("masking.yaml") or "masking: []", "masking.yaml"),
        constants=read_constants(text("constants.yaml") or "constants: []", "constants.yaml"),
        rewrites=read_rewrites(text("rewrites.yaml") or "rewrites: []", "rewrites.yaml"),
        consumers=read_consumers(text("consumers.yaml") or "consumers: []", "consumers.yaml"),
        window_us=window_us,
    )


if __name__ == "__main__":
    main()
