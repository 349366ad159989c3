"""The Spark plugin from Python (docs/doors.md): have it write what waits, and where code on an executor posts."""

import json
from contextlib import closing
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from headwater.errors import Retry, WrongSetting

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_URL = "spark.headwater.plugin.url"
_FILE = "headwater-plugin.url"


class Flushed(NamedTuple):
    """What a flush wrote: how many bodies, and the table they went to."""

    bodies: int
    table: str


def flush(spark: "SparkSession", *, timeout_s: float = 600.0) -> Flushed:
    """Have the plugin write all that waits to its table; a second call writes nothing again.

    Raises WrongSetting where the session has no plugin, Retry where the table cannot be written: what waits waits on.
    """
    url = spark.conf.get(_URL, None)
    if not url:
        raise WrongSetting(
            f"{_URL} is not set: no Headwater plugin runs in this session. Set spark.plugins and its table before the "
            "session starts (docs/doors.md); if they are set, the driver's log says what was refused."
        )
    try:  # not urllib, which would ask a proxy for this machine's own address
        with closing(HTTPConnection(url.removeprefix("http://"), timeout=timeout_s)) as connection:
            connection.request("POST", "/flush")
            answer = connection.getresponse()
            said = json.loads(answer.read())
    except (OSError, HTTPException, ValueError) as error:
        raise Retry(f"The plugin at {url} does not answer: {error!r}. What waits is kept; flush again.") from error
    if answer.status != 200:
        raise Retry(f"The plugin could not write: {said.get('error')} What waits is kept; flush again.")
    return Flushed(**said)


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
