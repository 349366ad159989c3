"""Which part of history a replay sends, and to whom: the same for a process of its own and for tasks of Spark."""

import hashlib
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Literal, Self, cast

import msgspec
from pydantic import ValidationError

from headwater.errors import Retry, WrongSetting
from headwater.sinks.connecting.http_options import open_poster
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.contract.sink_options import Options, Reveal, Sink
from headwater.sinks.targets.marquez_target import MarquezOptions, is_marquez
from headwater.sinks.targets.openlineage_target import OpenLineageOptions

_FIRST_WAIT_S = 0.1
_LONGEST_WAIT_S = 4.0


@dataclass(frozen=True)
class ReplaySpan:
    """Which events: from a moment on and before another (us, UTC; None: no bound), and of whom.

    by: whether the bounds are times of events or of their receipt. They are sent in the order of their own times.
    """

    since_us: int | None = None
    until_us: int | None = None
    namespaces: Sequence[str] = ()
    jobs: Sequence[str] = ()
    runs: Sequence[str] = ()
    by: Literal["event time", "receipt"] = "event time"

    @classmethod
    def of_times(
        cls,
        of_events: tuple[int | None, int | None],
        of_receipt: tuple[int | None, int | None],
        *,
        namespaces: Sequence[str] = (),
        jobs: Sequence[str] = (),
        runs: Sequence[str] = (),
    ) -> Self:
        """Return the span between two bounds of one kind; raises WrongSetting where both kinds are given."""
        is_received = of_receipt != (None, None)
        if is_received and of_events != (None, None):
            raise WrongSetting(
                "--since and --until select by the time of events, --received-since and --received-until by the time "
                "of their receipt, and a replay selects by one of them. Leave out one pair."
            )
        since_us, until_us = of_receipt if is_received else of_events
        return cls(since_us, until_us, namespaces, jobs, runs, "receipt" if is_received else "event time")

    def of(self, options: Options, rate: float | None) -> Sink:
        """Return the sink that replays to a target, with the span's filter in place of the same one of its options.

        Its name stands for target and span: what else is asked with the same goes on where that one stood.
        """
        named = {"namespaces": self.namespaces, "jobs": self.jobs, "runs": self.runs}
        only = options.only.model_copy(update={name: tuple(those) for name, those in named.items() if those})
        found = options.model_copy(update={"only": only, "begin": "start", "every": 0.0, "rate": rate or options.rate})
        known = [self.by, self.since_us, self.until_us, found.model_dump_json(exclude={"rate"})]
        return Sink(f"replay.{hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:16]}", found)


def address_options(url: str, batch: int, key: Mapping[str, str] | None) -> Options:
    """Return the options of a plain OpenLineage API at an address; raises WrongSetting.

    batch: events of a request; key: where the key lies that it wants to be shown, as in the file of sinks.
    """
    try:
        return OpenLineageOptions.model_validate({"type": "openlineage", "url": url, "batch": batch, "key": key})
    except ValidationError:
        raise WrongSetting(
            "--to is neither a sink of sinks.yml nor an address such as http://127.0.0.1:5000, without credentials."
        ) from None


def recognized_options(plain: Options, reveal: Reveal, patience_s: float = 30.0) -> Options:
    """Return the options of the sink type `marquez` where a Marquez answers at the address, else those given.

    patience_s: for how long to ask again where the address gives no answer by which it can be recognised, such as 503
    while the server starts. Raises Retry after that: another type of target would be another replay, which goes on
    elsewhere.
    """
    endpoint = cast("OpenLineageOptions", plain)
    with closing(open_poster(endpoint, reveal)) as poster:
        try:
            found = _ask_until_answered(poster, time.monotonic() + patience_s)
        except Retry as error:
            raise Retry(
                f"Cannot tell whether {endpoint.url} is a Marquez server: {error} "
                "Start the replay again when it answers."
            ) from error
    known = {"type": "marquez", "url": endpoint.url, "key": endpoint.key}
    return MarquezOptions.model_validate(known) if found else plain


def _ask_until_answered(poster: Poster, ends_s: float) -> bool:
    wait_s = _FIRST_WAIT_S
    while True:
        try:
            return is_marquez(poster)
        except Retry:
            if time.monotonic() + wait_s > ends_s:
                raise
        time.sleep(wait_s)
        wait_s = min(2 * wait_s, _LONGEST_WAIT_S)
