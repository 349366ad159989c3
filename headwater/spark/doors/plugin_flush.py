"""The Spark plugin from Python (docs/doors.md): have it write what waits, and where code on an executor posts."""

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.common.errors import Retry, WrongSetting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_URL = "spark.headwater.plugin.url"
_FILE = "headwater-plugin.url"


_COMMIT_S = 300.0
"""How long the commit may take, after the wait for the listener."""


class Flushed(NamedTuple):
    """What a flush wrote: how many bodies, and the table they went to."""

    bodies: int
    table: str


class ListenerBehind(Retry):
    """The flush wrote what there was, but the listener still has events to send from before the flush.

    flushed: what this flush wrote; waiting: about how many Spark events wait for the listener, None if unknown.
    """

    def __init__(self, reason: str, flushed: Flushed, waiting: int | None) -> None:
        super().__init__(
            f"{reason} {flushed.bodies} bodies were written to {flushed.table}; lineage of the last jobs is missing "
            "there. Flush again before the session ends, with a longer timeout_s."
        )
        self.flushed = flushed
        self.waiting = waiting


def flush(spark: "SparkSession", *, timeout_s: float = 600.0) -> Flushed:
    """Write to the plugin's table everything that happened before this call; a second call writes nothing again.

    timeout_s: how long to wait, in seconds, until the listener has processed what Spark did before this call; the
    commit comes after it and may take five more minutes. Raises ListenerBehind, a Retry, if the listener is not through
    by then: what had arrived is written. Raises WrongSetting where the session has no plugin, Retry where the table
    cannot be written: nothing is lost, and the next flush writes it.
    """
    url = spark.conf.get(_URL, None)
    if not url:
        raise WrongSetting(
            f"{_URL} is not set: no Headwater plugin runs in this session. Set spark.plugins and its table before the "
            "session starts (docs/doors.md); if they are set, the driver's log says what was refused."
        )
    try:  # not urllib, which would ask a proxy for this machine's own address
        timeout = timeout_s + _COMMIT_S
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=timeout)) as connection:
            connection.request("POST", f"/flush?timeout_s={timeout_s}")
            answer = connection.getresponse()
            result = json.loads(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise Retry(f"The plugin at {url} does not answer: {error!r}. What waits is kept; flush again.") from error
    if "bodies" not in result:
        raise Retry(f"The plugin could not write: {result.get('error')} What waits is kept; flush again.")
    flushed = Flushed(result["bodies"], result["table"])
    if answer.status != 200:
        waiting = result["listener_waiting"]
        raise ListenerBehind(result["error"], flushed, waiting if waiting >= 0 else None)
    return flushed


def executor_url() -> str:
    """Return where this executor's plugin takes posts, on any path; for code in a UDF or a partition.

    Raises WrongSetting where no plugin runs on this executor.
    """
    from pyspark import SparkFiles  # noqa: PLC0415 - optional

    file = Path(SparkFiles.get(_FILE))
    if not file.exists():
        raise WrongSetting(
            f"{_FILE} is not among this executor's Spark files: no Headwater plugin runs here. Give executors its jar "
            "(--jars, or spark.executor.extraClassPath); if they have it, the executor's log says what was refused."
        )
    return file.read_text("ascii")
