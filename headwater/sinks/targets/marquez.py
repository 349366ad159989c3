"""Send events to Marquez one at a time, because Marquez fails if two requests change one dataset concurrently."""

from collections.abc import Sequence
from typing import Literal, cast

import msgspec

from headwater.common.errors import Retry, WrongSetting
from headwater.events.position import Source
from headwater.lineage.runs.run_facts import TERMINAL_TYPES
from headwater.sinks.connecting.http import HttpOptions, Poster, open_poster
from headwater.sinks.interface.error_isolation import event_position
from headwater.sinks.interface.options import EventFilter, Options, SecretResolver
from headwater.sinks.interface.shape import Outcome, Payload, SinkEvent, run_key_of
from headwater.sinks.interface.support import full_support

_LINEAGE = "/api/v1/lineage"
_NAMESPACES = "/api/v1/namespaces?limit=1"
_OF_HEADWATER = ("/health/live", "/openapi.json")
"""Paths that Headwater serves and to which Marquez responds with 404. The Function App serves only the second path."""


class _Namespace(msgspec.Struct):
    name: str


class _Namespaces(msgspec.Struct):
    namespaces: list[_Namespace]


class MarquezOptions(HttpOptions):
    """Options of the type `marquez`; `url` is the address of its API (port 5000), not of its web page."""

    type: Literal["marquez"]


OPTIONS = MarquezOptions
support_table = full_support


class MarquezTarget:
    """A target that sends to one Marquez server."""

    largest = 1

    def __init__(self, poster: Poster, event_filter: EventFilter) -> None:
        """event_filter: the sink's filter, which also applies to terminal events that are sent again."""
        self._poster = poster
        self._only = event_filter

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of runs that have no earlier events."""
        return self.convert_with_ends(events, ())

    def convert_with_ends(self, events: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Return events with each run's START first, and each run's terminal event again after later events of the run.

        Marquez takes a run's state from the event that arrives last (`OpenLineageDao.updateBaseMarquezModel`), so a
        late START would leave an ended run RUNNING for ever. A START moves before the first event of its run in the
        batch.
        ends: terminal events from earlier batches.
        """
        starts = {event.head.run_id: event for event in reversed(events) if event.head.state == "START"}
        ordered: dict[tuple[Source, int], SinkEvent] = {}
        for event in events:
            first = starts.pop(event.head.run_id, event)
            ordered.setdefault(event_position(first), first)
            ordered.setdefault(event_position(event), event)
        return self._with_repeated_ends([*ordered.values()], ends)

    def _with_repeated_ends(self, ordered: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Send a run's terminal event again after the run's last event, with the position of the last event."""
        last = {run: at for at, event in enumerate(ordered) if (run := run_key_of(event.head))}
        end_of = {run_key_of(end.head): end for end in (*ends, *ordered) if end.head.state in TERMINAL_TYPES}
        found: list[Payload] = []
        for at, event in enumerate(ordered):
            found.append(Payload(event, event.body))
            run = run_key_of(event.head)
            if run is None or last[run] != at or event.head.state in TERMINAL_TYPES:
                continue
            end = end_of.get(run)
            if end and self._only.matches(end.head):
                found.append(Payload(event, end.body))
        return found

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one event."""
        return self._poster.post_all(_LINEAGE, payloads[0].body, 1)

    def check(self) -> str:
        """Request the namespaces of the Marquez server; raises WrongSetting if the response is not like Marquez."""
        answer = self._poster.request("GET", _NAMESPACES)
        if answer.status != 200 or b'"namespaces"' not in answer.body:
            raise WrongSetting(
                f"GET /api/v1/namespaces returned status {answer.status}: this is not a Marquez server. Correct `url`."
            )
        return "the server responds like Marquez"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def is_marquez(poster: Poster) -> bool:
    """Return whether a Marquez server answers: it lists namespaces and does not serve Headwater's own paths.

    Redirects are not followed. Raises Retry if the response is inconclusive.
    """
    answer = poster.request("GET", _NAMESPACES)
    if answer.status >= 500 or answer.status == 429:
        raise Retry(f"GET {_NAMESPACES} returned status {answer.status}.")
    try:
        found = msgspec.json.decode(answer.body, type=_Namespaces).namespaces if answer.status == 200 else None
    except msgspec.DecodeError:
        found = None
    return found is not None and all(poster.request("GET", path).status == 404 for path in _OF_HEADWATER)


def open_target(options: Options, reveal: SecretResolver) -> MarquezTarget:
    """Return the target."""
    return MarquezTarget(open_poster(cast("MarquezOptions", options), reveal), options.only)
