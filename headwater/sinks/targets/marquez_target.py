"""Marquez: takes single OpenLineage events, one after the other; it fails where two change one dataset at once."""

from collections.abc import Sequence
from typing import Literal, cast

import msgspec

from headwater.errors import Retry, WrongSetting
from headwater.events.position import Source
from headwater.lineage.runs.run_facts import TERMINAL
from headwater.sinks.connecting.http_options import HttpOptions, open_poster
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.contract.guarding import place
from headwater.sinks.contract.sink_holdings import as_sent
from headwater.sinks.contract.sink_options import Only, Options, Reveal
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, run_of

_LINEAGE = "/api/v1/lineage"
_NAMESPACES = "/api/v1/namespaces?limit=1"
_OF_HEADWATER = ("/health/live", "/openapi.json")
"""Paths of a Headwater, of which the Function App has the second; a Marquez answers 404 to both."""


class _Namespace(msgspec.Struct):
    name: str


class _Namespaces(msgspec.Struct):
    namespaces: list[_Namespace]


class MarquezOptions(HttpOptions):
    """Options of the type `marquez`; `url` is its API, port 5000, not its page."""

    type: Literal["marquez"]


OPTIONS = MarquezOptions
holdings = as_sent


class MarquezTarget:
    """One Marquez."""

    largest = 1

    def __init__(self, poster: Poster, only: Only) -> None:
        """only: the sink's filter, which also decides whether a run's end is sent again."""
        self._poster = poster
        self._only = only

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Convert events of whose runs nothing came before."""
        return self.convert_behind(events, ())

    def convert_behind(self, events: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Send events as they are, each run's START first, and a run's end again behind events that came after it.

        Marquez takes a run's state from the event that arrives last (`OpenLineageDao.updateBaseMarquezModel`), so a
        late START would leave an ended run RUNNING for ever. A START moves to the place of its run's first event in
        the batch. ends: terminal events that came in earlier batches.
        """
        starts = {event.head.run_id: event for event in reversed(events) if event.head.state == "START"}
        ordered: dict[tuple[Source, int], SinkEvent] = {}
        for event in events:
            first = starts.pop(event.head.run_id, event)
            ordered.setdefault(place(first), first)
            ordered.setdefault(place(event), event)
        return self._closed([*ordered.values()], ends)

    def _closed(self, ordered: Sequence[SinkEvent], ends: Sequence[SinkEvent]) -> list[Payload]:
        """Put the end of a run, at the place of the event before it, behind the last event that reopens the run."""
        last = {run: at for at, event in enumerate(ordered) if (run := run_of(event.head))}
        end_of = {run_of(end.head): end for end in (*ends, *ordered) if end.head.state in TERMINAL}
        found: list[Payload] = []
        for at, event in enumerate(ordered):
            found.append(Payload(event, event.body))
            run = run_of(event.head)
            if run is None or last[run] != at or event.head.state in TERMINAL:
                continue
            end = end_of.get(run)
            if end and self._only.wants(end.head):
                found.append(Payload(event, end.body))
        return found

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one event."""
        return self._poster.hand_over(_LINEAGE, payloads[0].body, 1)

    def check(self) -> str:
        """Ask for its namespaces."""
        answer = self._poster.ask("GET", _NAMESPACES)
        if answer.status != 200 or b'"namespaces"' not in answer.body:
            raise WrongSetting(
                f"It answers {answer.status} to GET /api/v1/namespaces: this is not a Marquez server. Correct `url`."
            )
        return "it answers as Marquez does"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def is_marquez(poster: Poster) -> bool:
    """Tell whether a Marquez answers: by the shape of its namespaces, which a Headwater has, too.

    Redirections are not followed. Raises Retry where no answer tells.
    """
    answer = poster.ask("GET", _NAMESPACES)
    if answer.status >= 500 or answer.status == 429:
        raise Retry(f"It answers {answer.status} to GET {_NAMESPACES}.")
    try:
        found = msgspec.json.decode(answer.body, type=_Namespaces).namespaces if answer.status == 200 else None
    except msgspec.DecodeError:
        found = None
    return found is not None and all(poster.ask("GET", path).status == 404 for path in _OF_HEADWATER)


def open_target(options: Options, reveal: Reveal) -> MarquezTarget:
    """Open a Marquez."""
    return MarquezTarget(open_poster(cast("MarquezOptions", options), reveal), options.only)
