"""Replay as a job of Fabric, Databricks or any cluster: `headwater-spark replay LAKE --to SINK|URL`.

In a notebook: `from headwater.spark.replay.replay_job import replay; replay(["Files/headwater", "--to", "…"])`.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.common.extras import extra
from headwater.questions import parameters as p
from headwater.questions.declaring import read_as

with extra("replay"):
    from headwater.sinks.connecting.secrets import Secrets, entra_token
    from headwater.sinks.contract.options import Options
    from headwater.sinks.contract.sinks_file import LocalSinksFile, load_sinks
    from headwater.sinks.operating.replay_span import ReplaySpan, address_options, recognized_options
    from headwater.spark.replay.spark_replay import BATCH_EVENTS, SparkReplay


log = logging.getLogger(__name__)


def replay(arguments: Sequence[str]) -> dict[str, Any]:
    """Send what the lake has of a span of time once more, in the session that is there; returns what became of it."""
    given = _parser().parse_args(arguments)
    span = ReplaySpan.of_times(
        (read_as(p.Since, "since", given.since), read_as(p.Since, "until", given.until)),
        (
            read_as(p.Since, "received_since", given.received_since),
            read_as(p.Since, "received_until", given.received_until),
        ),
        namespaces=given.namespace, jobs=given.job, runs=given.run,
    )  # fmt: skip
    sink = span.of(_options(given), given.rate)
    found = SparkReplay(SparkSession.builder.getOrCreate(), given.lake.rstrip("/"), sink, span, given.streams)
    return found.look() if given.dry_run else found.run(given.batch_events)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headwater-spark replay", description=replay.__doc__)
    parser.add_argument("lake", help="folder or URI that holds `bronze`")
    parser.add_argument("--to", required=True, help="name of a sink in --sinks, or the address of an OpenLineage API")
    parser.add_argument("--sinks", type=Path, help="the file sinks.yml, as a mounted path")
    parser.add_argument("--since", metavar="TIME", help="events with a time from this moment on")
    parser.add_argument("--until", metavar="TIME", help="events with a time before this moment")
    parser.add_argument("--received-since", metavar="TIME", help="events received from this moment on")
    parser.add_argument("--received-until", metavar="TIME", help="events received before this moment")
    for name in ("namespace", "job", "run"):
        parser.add_argument(f"--{name}", action="append", default=[], help="only these; patterns, several times")
    parser.add_argument("--rate", type=float, help="most events a second, of all tasks together")
    parser.add_argument("--batch", type=int, default=1, help="of an address: events of a request")
    parser.add_argument("--key-env", metavar="VARIABLE", help="of an address: variable of the executors with its key")
    parser.add_argument("--key-vault", metavar="ADDRESS", help="of an address: address of a secret with its key")
    parser.add_argument("--streams", type=int, help="tasks that deliver at once; as many as the cluster has room for")
    parser.add_argument(
        "--batch-events", type=int, default=BATCH_EVENTS, help="events between two places that are kept"
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be sent; send nothing")
    return parser


def _options(given: argparse.Namespace) -> Options:
    if "://" in given.to:
        named = {"env": given.key_env, "vault": given.key_vault}
        key = {place: name for place, name in named.items() if name}
        plain = address_options(given.to, given.batch, key or None)
        try:
            return recognized_options(plain, Secrets(entra_token(None)).reveal)
        except HeadwaterError as error:  # the driver may reach less, and know less, than the tasks that deliver
            log.warning("%s It is taken for a plain OpenLineage API. For a Marquez say --streams 1.", error)
            return plain
    if given.sinks is None or not given.sinks.is_file():
        raise WrongSetting(
            f"{given.to!r} is not an address, and {given.sinks} is not a file. Name the file with --sinks."
        )
    sinks, broken = load_sinks(LocalSinksFile(given.sinks))
    if given.to in broken:
        raise WrongSetting(broken[given.to])
    if given.to not in sinks:
        raise WrongSetting(f"No sink {given.to!r} in {given.sinks}; there are {', '.join(sinks) or 'none'}.")
    return sinks[given.to].options
