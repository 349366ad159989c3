"""Send unchanged events, or one merged event per run, to any endpoint that accepts OpenLineage over HTTP."""

from collections.abc import Sequence
from typing import Literal, cast

import msgspec
from pydantic import Field

from headwater.common.errors import WrongSetting
from headwater.common.http_connection import HttpAnswer
from headwater.sinks.connecting.http import HttpOptions, Poster, open_poster
from headwater.sinks.interface.options import Options, SecretResolver
from headwater.sinks.interface.shape import History, Outcome, Payload, SinkEvent, unchanged_payloads
from headwater.sinks.interface.support import SupportTable, full_support
from headwater.sinks.merging.runs import RUN_SUPPORT, run_payloads


class OpenLineageOptions(HttpOptions):
    """Options of the type `openlineage`."""

    type: Literal["openlineage"]
    path: str = Field("/api/v1/lineage", pattern=r"^/[^?#\s]*$", description="Path to which events are posted.")
    shape: Literal["events", "runs"] = Field(
        "events", alias="as", description="Events unchanged, or one merged event per run at its end."
    )
    batch: int = Field(1, ge=1, le=2000, description="Events per request; more than 1 are posted to `path` + `/batch`.")


OPTIONS = OpenLineageOptions


def support_table(options: Options) -> SupportTable:
    """Return what an endpoint can represent with these options."""
    of_runs = cast("OpenLineageOptions", options).shape == "runs"
    return (*RUN_SUPPORT, *full_support(options)) if of_runs else full_support(options)


class _FailedEvent(msgspec.Struct):
    """An event that the response to a batch lists as failed (OpenLineage's batch operation). index: in the batch."""

    index: int
    reason: str = "no reason given"
    retriable: bool = False


class _BatchAnswer(msgspec.Struct):
    failed_events: list[_FailedEvent] = []


class OpenLineageTarget:
    """A target that posts to one endpoint."""

    def __init__(self, poster: Poster, path: str, batch: int) -> None:
        """batch: maximum number of events per request; 1 for an endpoint that accepts only single events."""
        self.largest = batch
        self._poster = poster
        self._path = path

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return unchanged events."""
        return unchanged_payloads(events)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post all events in one request: to `path` if `batch` is 1, otherwise to `path` + `/batch`."""
        if self.largest == 1:
            return self._poster.post_all(self._path, payloads[0].body, 1)
        body = b"[" + b",".join(payload.body for payload in payloads) + b"]"
        answer = self._poster.post(f"{self._path}/batch", body, len(payloads))
        return answer if isinstance(answer, Outcome) else _batch_outcome(answer, len(payloads))

    def check(self) -> str:
        """Post `{}`, which an OpenLineage endpoint rejects without storing anything."""
        answer = self._poster.request("POST", self._path, b"{}")
        if answer.status in (400, 422):
            return "it responds, accepts the credentials, and rejects an invalid event"
        if 200 <= answer.status < 300:
            return f"it responds with status {answer.status} to an invalid event, so it may not validate events"
        raise WrongSetting(f"POST {self._path} returned status {answer.status}. {_hint_for_status(answer.status)}")

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


class OpenLineageRuns(OpenLineageTarget):
    """A target that posts whole runs to one endpoint."""

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of runs that have no earlier events."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Return one event for each run that has ended and for the current state of each stream."""
        return run_payloads(events, history)


def open_target(options: Options, reveal: SecretResolver) -> OpenLineageTarget:
    """Return the target."""
    given = cast("OpenLineageOptions", options)
    kind = OpenLineageRuns if given.shape == "runs" else OpenLineageTarget
    return kind(open_poster(given, reveal), given.path, given.batch)


def _batch_outcome(answer: HttpAnswer, count: int) -> Outcome:
    """Return which events of a batch failed; without a list of failed events, the endpoint accepted all events."""
    try:
        failed = msgspec.json.decode(answer.body, type=_BatchAnswer).failed_events if answer.body else []
    except msgspec.DecodeError:
        failed = []
    known = [each for each in failed if 0 <= each.index < count]
    again = sorted(each.index for each in known if each.retriable)
    return Outcome(
        refused={each.index: each.reason for each in known if not each.retriable},
        again=again,
        trouble=next((each.reason for each in known if each.retriable), ""),
        blames_event=len(again) < count,
    )


def _hint_for_status(status: int) -> str:
    match status:
        case 401 | 403:
            return "Correct `key`, `headers`, `oauth` or `entra`, or grant this identity write permission."
        case 404 | 405:
            return "Correct `url` and `path`."
        case _:
            return "Check the log of the server."
