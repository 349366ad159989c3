"""The kinds of sources in storage, and how each is read into bronze. Commands and the notebook use this table."""

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from headwater.common.errors import LakeUnavailable, WrongSetting
from headwater.spark.bronze.bronze_writer import SparkBronze
from headwater.spark.landing.landed_files import LandedFiles
from headwater.spark.landing.landed_streams import PLUGIN, LandedStream, Stream, capture, json_table, plugin_table
from headwater.spark.landing.plugin_leftovers import FOLDER, commit_leftovers, leftover_batches
from headwater.spark.one_pass import alone

BODY_COLUMNS = ("value", "body", "event")
"""Looked for, in this order, in a table that has several columns of text or bytes."""


@dataclass(frozen=True)
class Landing:
    """What to take in: a folder, a file or a table that Spark reads, and the name of the log that it makes up.

    kind: one of KINDS, found out where it is None; column: of a table of JSON; since_us: only files written to since;
    keep_s: files that were not written to for so long are deleted once they are taken; claims: as of a stream.
    """

    place: str
    name: str
    kind: str | None = None
    column: str | None = None
    since_us: int = 0
    keep_s: float | None = None
    claims: str | None = None


Seen = Callable[[str], None]


def take_in(spark: SparkSession, lake: str, landing: Landing, seen: Seen = lambda _: None) -> dict[str, Any]:
    """Take what was not taken before, in the session that is there; an event that the lake holds becomes a duplicate.

    seen: told after each batch how far it is. Returns `log`, what was taken, and `records_in_lake` of this log. Raises
    WrongSetting; else Retry: run it again.
    """
    if not re.fullmatch(r"[A-Za-z0-9._-]+", landing.name):
        raise WrongSetting(
            f"{landing.name!r} is not a valid name of a log. Use letters, digits, dots, dashes and underscores."
        )
    bronze = SparkBronze(spark, f"{lake}/bronze")
    if not bronze.exists():
        raise WrongSetting(
            f"No bronze in {lake}. Start `headwater up` or `headwater spark stream` once, or check --data."
        )
    try:
        with alone(spark, lake, "ingest/_lock"):
            take = KINDS[_checked(spark, landing)]
            outcome = take(spark, lake, landing, seen)
            return {"log": landing.name, **outcome, "records_in_lake": bronze.keep_books(landing.name, _now_us())}
    except (PySparkException, Py4JJavaError) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise LakeUnavailable(f"The ingest has ended: {reason}. Run it again.") from error


def _checked(spark: SparkSession, landing: Landing) -> str:
    """Return the kind of a landing; raises WrongSetting for one that does not fit the rest."""
    kind = landing.kind or _found_kind(spark, landing.place)
    if kind not in KINDS:
        raise WrongSetting(f"No format {kind!r}. Formats: {', '.join(KINDS)}.")
    is_table = DeltaTable.isDeltaTable(spark, landing.place)
    if kind in ("plugin", "table") and not is_table and not (kind == "plugin" and _has_leftovers(spark, landing.place)):
        raise WrongSetting(f"No Delta table in {landing.place}. Name its folder, or leave --format out for files.")
    if kind != "table" and landing.column:
        raise WrongSetting(f"--column is for a table of JSON; {landing.place} is read as {kind}. Leave it out.")
    if kind != "ndjson" and (landing.since_us, landing.keep_s) != (0, None):
        raise WrongSetting(
            f"--since and --keep are for files of events; {landing.place} is read as {kind}. Leave them out: a table "
            "is cleared by DELETE and VACUUM, a container of Capture by its lifecycle rule."
        )
    return kind


def _found_kind(spark: SparkSession, place: str) -> str:
    if not DeltaTable.isDeltaTable(spark, place):
        return "plugin" if _has_leftovers(spark, place) else "ndjson"
    return "plugin" if set(PLUGIN) <= set(spark.read.format("delta").load(place).columns) else "table"


def _files(spark: SparkSession, lake: str, landing: Landing, seen: Seen) -> dict[str, Any]:
    files = LandedFiles(spark, lake, landing.name, landing.place)

    def told(count: int, size: int, files: int, all_bytes: int) -> None:
        seen(f"{count:,} of {files:,} files, {size >> 20:,} of {all_bytes >> 20:,} MiB")

    outcome = files.take(landing.since_us, told)
    return outcome if landing.keep_s is None else outcome | {"deleted": files.delete(landing.keep_s)}


def _stream(
    read: Callable[[Landing, SparkSession], Any], spark: SparkSession, lake: str, landing: Landing, seen: Seen
) -> dict[str, Any]:
    stream = Stream(landing.name, partial(read, landing), landing.kind != "capture", landing.claims)
    return LandedStream(spark, lake, stream).take(lambda count: seen(f"{count:,} records"))


def _has_leftovers(spark: SparkSession, place: str) -> bool:
    """Tell whether sessions of the plugin left something here, even before the first flush made the table."""
    return bool(leftover_batches(spark, place))


def _plugin(spark: SparkSession, lake: str, landing: Landing, seen: Seen) -> dict[str, Any]:
    """Take the plugin's table and what sessions left beside it; `left`: files that may not be moved into the table."""
    try:
        commit_leftovers(spark, landing.place)
    except (PySparkException, Py4JJavaError) as error:
        if not DeltaTable.isDeltaTable(spark, landing.place):
            raise
        reason = next((line for line in str(error).splitlines() if line.strip()), type(error).__name__)
        seen(f"What sessions left in {landing.place}/{FOLDER} is NOT taken: the table cannot be written: {reason}")
    outcome = _stream(lambda landing, spark: plugin_table(landing.place, spark), spark, lake, landing, seen)
    return outcome | {"left": len(leftover_batches(spark, landing.place))}


def _json_table(landing: Landing, spark: SparkSession) -> Any:
    types = dict(spark.read.format("delta").load(landing.place).dtypes)
    fitting = [name for name, kind in types.items() if kind in ("string", "binary")]
    wanted = [landing.column] if landing.column else [*fitting] if len(fitting) == 1 else [*BODY_COLUMNS]
    column = next((name for name in wanted if name in fitting), None)
    if column is None:
        has = ", ".join(fitting) or "none of text or bytes"
        raise WrongSetting(f"Which column of {landing.place} has the events? It has {has}. Name one with --column.")
    return json_table(landing.place, column, spark)


def _now_us() -> int:
    return time.time_ns() // 1000


KINDS: Mapping[str, Callable[[SparkSession, str, Landing, Seen], dict[str, Any]]] = {
    "ndjson": _files,
    "capture": partial(_stream, lambda landing, spark: capture(landing.place, spark)),
    "plugin": _plugin,
    "table": partial(_stream, _json_table),
}
"""ndjson: files of events in any form; capture: Event Hubs Capture; plugin: the Spark plugin's table; table: JSON."""
