"""Any endpoint that takes OpenLineage over HTTP, another Headwater included: events as they are, or one a run."""

from collections.abc import Sequence
from typing import Literal, cast

import msgspec
from pydantic import Field

from headwater.errors import WrongSetting
from headwater.sinks.connecting.http_options import HttpOptions, open_poster
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.connecting.kept_connection import HttpAnswer
from headwater.sinks.contract.sink_holdings import Holdings, as_sent
from headwater.sinks.contract.sink_options import Options, Reveal
from headwater.sinks.contract.sink_shape import History, Outcome, Payload, SinkEvent, verbatim
from headwater.sinks.merging.run_event import held_of_runs, run_payloads


class OpenLineageOptions(HttpOptions):
    """Options of the type `openlineage`."""

    type: Literal["openlineage"]
    path: str = Field("/api/v1/lineage", pattern=r"^/[^?#\s]*$", description="Where one event is posted.")
    shape: Literal["events", "runs"] = Field(
        "events", alias="as", description="Events as they are, or one event a run, at its end, that says all of it."
    )
    batch: int = Field(1, ge=1, le=2000, description="Events of a request; more than 1 go to `path` + `/batch`.")


OPTIONS = OpenLineageOptions


def holdings(options: Options) -> Holdings:
    """Return what an endpoint is sent."""
    of_runs = cast("OpenLineageOptions", options).shape == "runs"
    return (*held_of_runs, *as_sent(options)) if of_runs else as_sent(options)


class _Failed(msgspec.Struct):
    """An event that a batch's answer names (OpenLineage's batch operation)."""

    index: int
    reason: str = "no reason given"
    retriable: bool = False


class _Answer(msgspec.Struct):
    failed_events: list[_Failed] = []


class OpenLineageTarget:
    """One endpoint."""

    def __init__(self, poster: Poster, path: str, batch: int) -> None:
        """Connect to nothing yet. batch: events of a request, 1 for an endpoint that takes single events only."""
        self.largest = batch
        self._poster = poster
        self._path = path

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Send events as they are."""
        return verbatim(events)

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one event, or several in one request."""
        if self.largest == 1:
            return self._poster.hand_over(self._path, payloads[0].body, 1)
        body = b"[" + b",".join(payload.body for payload in payloads) + b"]"
        answer = self._poster.post(f"{self._path}/batch", body, len(payloads))
        return answer if isinstance(answer, Outcome) else _settled(answer, len(payloads))

    def check(self) -> str:
        """Post what is no event: whoever takes OpenLineage refuses it, and keeps nothing."""
        answer = self._poster.ask("POST", self._path, b"{}")
        if answer.status in (400, 422):
            return "it answers, takes our credentials, and refuses what is no event"
        if 200 <= answer.status < 300:
            return f"it answers {answer.status} even to what is no event: it may not look at what it takes"
        raise WrongSetting(f"It answers {answer.status} to a POST on {self._path}. {_hint(answer.status)}")

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


class OpenLineageRuns(OpenLineageTarget):
    """One endpoint that gets whole runs."""

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of which nothing came before."""
        return self.convert_runs(events, {})

    def convert_runs(self, events: Sequence[SinkEvent], history: History) -> list[Payload]:
        """Send one event of each run that has ended."""
        return run_payloads(events, history)


def open_target(options: Options, reveal: Reveal) -> OpenLineageTarget:
    """Open an endpoint."""
    given = cast("OpenLineageOptions", options)
    kind = OpenLineageRuns if given.shape == "runs" else OpenLineageTarget
    return kind(open_poster(given, reveal), given.path, given.batch)


def _settled(answer: HttpAnswer, count: int) -> Outcome:
    """Read which events of a batch failed; an answer without such a list took all."""
    try:
        failed = msgspec.json.decode(answer.body, type=_Answer).failed_events if answer.body else []
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


def _hint(status: int) -> str:
    match status:
        case 401 | 403:
            return "Correct `key`, `headers`, `oauth` or `entra`, or give this identity the right to write."
        case 404 | 405:
            return "Correct `url` and `path`."
        case _:
            return "See what its log says."
