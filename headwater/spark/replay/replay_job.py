"""Run a replay as a job of Fabric, Databricks or any cluster: `headwater-spark replay LAKE --to SINK|URL`.

In a notebook: `from headwater.spark.replay.replay_job import replay; replay(["Files/headwater", "--to", "…"])`.
"""

import argparse
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from headwater.common.errors import HeadwaterError, WrongSetting
from headwater.common.extras import require_extra
from headwater.questions import parameters as p
from headwater.questions.declaring import parse_as

with require_extra("replay"):
    from headwater.sinks.connecting.secrets import Secrets, entra_token_source
    from headwater.sinks.control.replay_span import ReplaySpan, address_options, detect_marquez_options
    from headwater.sinks.interface.options import Options
    from headwater.sinks.interface.sinks_file import LocalSinksFile, load_sinks
    from headwater.spark.replay.spark_replay import BATCH_EVENTS, SparkReplay


log = logging.getLogger(__name__)


def replay(arguments: Sequence[str]) -> dict[str, Any]:
    """Send stored events of a time range to a target again, with the current Spark session, and return the counts."""
    given = _argument_parser().parse_args(arguments)
    span = ReplaySpan.between(
        (parse_as(p.Since, "since", given.since), parse_as(p.Since, "until", given.until)),
        (
            parse_as(p.Since, "received_since", given.received_since),
            parse_as(p.Since, "received_until", given.received_until),
        ),
        namespaces=given.namespace, jobs=given.job, runs=given.run,
    )  # fmt: skip
    sink = span.replay_sink(_target_options(given), given.rate)
    found = SparkReplay(SparkSession.builder.getOrCreate(), given.lake.rstrip("/"), sink, span, given.streams)
    return found.preview() if given.dry_run else found.run(given.batch_events)


def _argument_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headwater-spark replay", description=replay.__doc__)
    parser.add_argument("lake", help="folder or URI that contains `bronze`")
    parser.add_argument("--to", required=True, help="name of a sink in --sinks, or address of an OpenLineage API")
    parser.add_argument("--sinks", type=Path, help="path of sinks.yml on a disk or mount of the driver")
    parser.add_argument("--since", metavar="TIME", help="only events with an event time at or after this time")
    parser.add_argument("--until", metavar="TIME", help="only events with an event time before this time")
    parser.add_argument("--received-since", metavar="TIME", help="only events received at or after this time")
    parser.add_argument("--received-until", metavar="TIME", help="only events received before this time")
    for name in ("namespace", "job", "run"):
        parser.add_argument(f"--{name}", action="append", default=[], help=f"only this {name}; a pattern, repeatable")
    parser.add_argument("--rate", type=float, help="maximum events per second, for all tasks together")
    parser.add_argument("--batch", type=int, default=1, help="events per request, if --to is an address")
    parser.add_argument("--key-env", metavar="VARIABLE", help="environment variable of the executors that has the key")
    parser.add_argument("--key-vault", metavar="ADDRESS", help="address of the Key Vault secret that contains the key")
    parser.add_argument("--streams", type=int, help="tasks that deliver in parallel; default: cores of the cluster")
    parser.add_argument(
        "--batch-events", type=int, default=BATCH_EVENTS, help="events after which the position is saved"
    )
    parser.add_argument("--dry-run", action="store_true", help="count the events to send without sending them")
    return parser


def _target_options(given: argparse.Namespace) -> Options:
    if "://" in given.to:
        named = {"env": given.key_env, "vault": given.key_vault}
        key = {place: name for place, name in named.items() if name}
        plain = address_options(given.to, given.batch, key or None)
        try:
            return detect_marquez_options(plain, Secrets(entra_token_source(None)).reveal)
        except HeadwaterError as error:  # the executors may have network access and keys that the driver lacks
            log.warning("%s The replay treats it as a plain OpenLineage API. For Marquez, use --streams 1.", error)
            return plain
    if given.sinks is None or not given.sinks.is_file():
        raise WrongSetting(
            f"{given.to!r} is not an address, and there is no sinks file {given.sinks}. Set its path with --sinks."
        )
    sinks, broken = load_sinks(LocalSinksFile(given.sinks))
    if given.to in broken:
        raise WrongSetting(broken[given.to])
    if given.to not in sinks:
        raise WrongSetting(f"{given.sinks} has no sink {given.to!r}. Its sinks: {', '.join(sinks) or 'none'}.")
    return sinks[given.to].options
