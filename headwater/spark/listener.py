"""Check the OpenLineage listener of a Spark session: its properties, and whether events arrive."""

import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import uuid4

import httpx
import pandas as pd
from pyspark.sql import SparkSession

from headwater.common.errors import Retry, WrongSetting
from headwater.questions.producer_setup import AUTH_KEY, arrival_event

_POLL_S = 1.0
_ANSWER_S = 30.0


def compare_properties(spark: SparkSession, wanted: Mapping[str, str]) -> pd.DataFrame:
    """Compare the properties of a session with wanted values. Returns a frame with `property`, `value` and `session`.

    `session` states whether the session has the wanted value. It shows a different value, but never the key.
    """
    rows = []
    for name, value in wanted.items():
        found = spark.conf.get(name, None)
        has = found is not None and (value in found.split(",") if name == "spark.extraListeners" else value == found)
        rows.append((name, value, "as wanted" if has else "missing" if found is None else f"is {found}"))
    rows.append(
        (AUTH_KEY, "a key with the role write", "missing" if spark.conf.get(AUTH_KEY, None) is None else "is set")
    )
    return pd.DataFrame(rows, columns=["property", "value", "session"])


class ServerAddress(NamedTuple):
    """Address and key of a server. On Azure, different apps receive events and answer questions."""

    url: str
    key: str | None


def check_arrival(receiver: ServerAddress, reader: ServerAddress, *, timeout_s: float = 180.0) -> dict[str, Any]:
    """Send one event of the job `headwater/arrival-check` and wait until the API returns it.

    Returns `run`, `readable_after_s`, and `freshness_s`, the age of the oldest event that is not readable yet.
    Raises WrongSetting if a server rejects a request, and Retry if it does not answer or the event does not
    become readable within `timeout_s`.
    """
    run, began = str(uuid4()), time.monotonic()
    with _open_client(receiver) as client:
        _ask(client, "POST", "/api/v1/lineage", json=arrival_event(run, datetime.now(UTC)))
    with _open_client(reader) as client:
        while not _ask(client, "GET", "/api/headwater/v1/events", params={"run": run})["items"]:
            if time.monotonic() - began > timeout_s:
                raise Retry(
                    f"The receiver accepted the event of run {run}, but it cannot be read after {timeout_s:.0f} s. "
                    "Look at the parser's log, then run this again."
                )
            time.sleep(_POLL_S)
        waited = time.monotonic() - began
        freshness = _ask(client, "GET", "/api/headwater/v1/freshness")["log"]
    return {"run": run, "readable_after_s": round(waited, 1), "freshness_s": freshness}


def _open_client(place: ServerAddress) -> httpx.Client:
    headers = {"authorization": f"Bearer {place.key}"} if place.key else {}
    return httpx.Client(base_url=place.url, headers=headers, timeout=_ANSWER_S)


def _ask(client: httpx.Client, method: str, path: str, **request: Any) -> Any:
    try:
        answer = client.request(method, path, **request)
    except httpx.TransportError as error:
        raise Retry(f"No answer from {client.base_url}: {error}. Check the address and the network.") from error
    if answer.status_code == 503:
        raise Retry(f"{client.base_url}{path[1:]} is not ready (503). Run this again.")
    if not answer.is_success:
        raise WrongSetting(f"{client.base_url}{path[1:]} returned {answer.status_code}. {_refusal_text(answer)}")
    return answer.json()


def _refusal_text(answer: httpx.Response) -> str:
    try:
        body = answer.json()
        return f"{body['error']} {body['fix']}"
    except (ValueError, KeyError, TypeError):
        return "Check that this is the address of a Headwater server."
