"""Select the events and the target of a replay; used by the command and by Spark tasks."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Self, cast

import msgspec
from pydantic import ValidationError

from headwater.common.errors import Retry, WrongSetting
from headwater.sinks.connecting.http import Poster, open_poster
from headwater.sinks.interface.options import Options, SecretResolver, Sink
from headwater.sinks.targets.marquez import MarquezOptions, is_marquez
from headwater.sinks.targets.openlineage import OpenLineageOptions

_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 4.0


@dataclass(frozen=True)
class ReplaySpan:
    """Which events to replay: a half-open time range (us, UTC; None: unbounded) and filters by job, namespace and run.

    by: whether the bounds apply to event times or receipt times. Replays always send events in the order of event
    times.
    """

    since_us: int | None = None
    until_us: int | None = None
    namespaces: Sequence[str] = ()
    jobs: Sequence[str] = ()
    runs: Sequence[str] = ()
    by: Literal["event time", "receipt"] = "event time"

    @classmethod
    def between(
        cls,
        of_events: tuple[int | None, int | None],
        of_receipt: tuple[int | None, int | None],
        *,
        namespaces: Sequence[str] = (),
        jobs: Sequence[str] = (),
        runs: Sequence[str] = (),
    ) -> Self:
        """Return the span for bounds (since, until) in us, either of event times or of receipt times.

        Raises WrongSetting if bounds of both kinds are given.
        """
        is_received = of_receipt != (None, None)
        if is_received and of_events != (None, None):
            raise WrongSetting(
                "--since and --until select by event time, --received-since and --received-until by receipt time, "
                "and a replay can use only one of them. Remove one pair."
            )
        since_us, until_us = of_receipt if is_received else of_events
        return cls(since_us, until_us, namespaces, jobs, runs, "receipt" if is_received else "event time")

    def replay_sink(self, options: Options, rate: float | None) -> Sink:
        """Return the sink that replays to a target; filters of the span replace the same filters in `options`.

        The sink's name is a hash of target and span, so starting the same replay again continues an interrupted one.
        """
        named = {"namespaces": self.namespaces, "jobs": self.jobs, "runs": self.runs}
        only = options.only.model_copy(update={name: tuple(those) for name, those in named.items() if those})
        found = options.model_copy(update={"only": only, "begin": "start", "every": 0.0, "rate": rate or options.rate})
        known = [self.by, self.since_us, self.until_us, found.model_dump_json(exclude={"rate"})]
        return Sink(f"replay.{hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:16]}", found)


def address_options(url: str, batch: int, key: Mapping[str, str] | None) -> Options:
    """Return the options of a plain OpenLineage API at an address; raises WrongSetting if the address is invalid.

    batch: maximum number of events in each request. key: reference to the API key, as in `sinks.yml`.
    """
    try:
        return OpenLineageOptions.model_validate({"type": "openlineage", "url": url, "batch": batch, "key": key})
    except ValidationError:
        raise WrongSetting(
            "--to is neither a sink in sinks.yml nor an address without credentials such as http://127.0.0.1:5000."
        ) from None


def detect_marquez_options(plain: Options, reveal: SecretResolver, patience_s: float = 30.0) -> Options:
    """Return options of type `marquez` if a Marquez server answers at the address, otherwise the given options.

    patience_s: seconds to repeat the request while the response is inconclusive, such as 503 while the server starts.
    After that, raises Retry, because a wrong guess of the type would start a different replay instead of this one.
    """
    endpoint = cast("OpenLineageOptions", plain)
    with closing(open_poster(endpoint, reveal)) as poster:
        try:
            found = _is_marquez_with_retries(poster, time.monotonic() + patience_s)
        except Retry as error:
            raise Retry(
                f"Cannot determine whether {endpoint.url} is a Marquez server: {error} "
                "Start the replay again when the server responds."
            ) from error
    known = {"type": "marquez", "url": endpoint.url, "key": endpoint.key}
    return MarquezOptions.model_validate(known) if found else plain


def _is_marquez_with_retries(poster: Poster, ends_s: float) -> bool:
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            return is_marquez(poster)
        except Retry:
            if time.monotonic() + wait_s > ends_s:
                raise
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
