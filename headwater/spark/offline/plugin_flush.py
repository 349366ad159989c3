"""Control the Spark plugin from Python: flush it, and get the URL at which it accepts events on an executor.

docs/how-to/data-engineer/offline-ingestion.md describes the plugin.
"""

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
"""Maximum duration of the plugin's commit, which follows the wait for the listener, in seconds."""


class Flushed(NamedTuple):
    """The number of bodies that a flush wrote, and the path or URI of the table with these bodies."""

    bodies: int
    table: str


class ListenerBehind(Retry):
    """The listener has not yet processed all earlier Spark events. The plugin has written the bodies that it received.

    flushed: the result of this flush. waiting: approximate number of Spark events that the listener has not processed,
    or None if the number is unknown.
    """

    def __init__(self, reason: str, flushed: Flushed, waiting: int | None) -> None:
        super().__init__(
            f"{reason} The flush wrote {flushed.bodies} bodies to {flushed.table}, without lineage of the last jobs. "
            "Flush again before the session ends, with a longer timeout_s."
        )
        self.flushed = flushed
        self.waiting = waiting


def flush(spark: "SparkSession", *, timeout_s: float = 600.0) -> Flushed:
    """Write the lineage of everything that Spark did before this call to the plugin's table, each body once.

    timeout_s: how long to wait for the listener to process earlier Spark events, in seconds. The commit follows this
    wait and may take five more minutes.

    Raises ListenerBehind, a Retry, if the listener has not processed all events after this time; the plugin has then
    written only the bodies that it had received. Raises WrongSetting if the session has no plugin. Raises Retry if the
    plugin does not answer or cannot write the table; it keeps the bodies for the next flush.
    """
    url = spark.conf.get(_URL, None)
    if not url:
        raise WrongSetting(
            f"{_URL} is not set: no Headwater plugin runs in this session. Set spark.plugins and its table before the "
            "session starts (docs/how-to/data-engineer/offline-ingestion.md). If they are set, the driver's log "
            "contains the reason."
        )
    try:  # not urllib, which would use the configured proxy even for this machine's address
        timeout = timeout_s + _COMMIT_S
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=timeout)) as connection:
            connection.request("POST", f"/flush?timeout_s={timeout_s}")
            answer = connection.getresponse()
            result = json.loads(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise Retry(f"The plugin at {url} does not answer: {error!r}. It keeps its events; flush again.") from error
    if "bodies" not in result:
        raise Retry(f"The plugin could not write its table: {result.get('error')} It keeps its events; flush again.")
    flushed = Flushed(result["bodies"], result["table"])
    if answer.status != 200:
        waiting = result["listener_waiting"]
        raise ListenerBehind(result["error"], flushed, waiting if waiting >= 0 else None)
    return flushed


def executor_url() -> str:
    """Return the URL at which this executor's plugin accepts POST requests on any path.

    Call this function on the executor, in a UDF or a function on a partition. Raises WrongSetting if no plugin runs on
    the executor.
    """
    from pyspark import SparkFiles  # noqa: PLC0415 - optional

    file = Path(SparkFiles.get(_FILE))
    if not file.exists():
        raise WrongSetting(
            f"{_FILE} is not among this executor's Spark files: no Headwater plugin runs here. Add its jar to the "
            "executors (--jars, or spark.executor.extraClassPath). If they have it, the executor's log contains the "
            "reason."
        )
    return file.read_text("ascii")
