"""Marquez: takes single OpenLineage events, one after the other; it fails where two change one dataset at once."""

from collections.abc import Sequence
from typing import Literal, cast

from headwater.errors import WrongSetting
from headwater.sinks.connecting.http_options import HttpOptions, open_poster
from headwater.sinks.connecting.http_post import Poster
from headwater.sinks.contract.sink_holdings import as_sent
from headwater.sinks.contract.sink_options import Options, Reveal
from headwater.sinks.contract.sink_shape import Outcome, Payload, SinkEvent, verbatim

_LINEAGE = "/api/v1/lineage"


class MarquezOptions(HttpOptions):
    """Options of the type `marquez`; `url` is its API, port 5000, not its page."""

    type: Literal["marquez"]


OPTIONS = MarquezOptions
holdings = as_sent


class MarquezTarget:
    """One Marquez."""

    largest = 1

    def __init__(self, poster: Poster) -> None:
        """Connect to nothing yet."""
        self._poster = poster

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Send events as they are, of one run START first: Marquez takes a run's state from what comes last.

        A START moves to the place of its run's first event in the batch; everything else stays where it is.
        """
        starts = {event.head.run_id: event for event in reversed(events) if event.head.state == "START"}
        ordered: dict[int, SinkEvent] = {}
        for event in events:
            first = starts.pop(event.head.run_id, event)
            ordered.setdefault(first.head.sequence, first)
            ordered.setdefault(event.head.sequence, event)
        return verbatim([*ordered.values()])

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Post one event."""
        return self._poster.hand_over(_LINEAGE, payloads[0].body, 1)

    def check(self) -> str:
        """Ask for its namespaces."""
        answer = self._poster.ask("GET", "/api/v1/namespaces?limit=1")
        if answer.status != 200 or b'"namespaces"' not in answer.body:
            raise WrongSetting(
                f"It answers {answer.status} to GET /api/v1/namespaces: this is no Marquez. Correct `url`."
            )
        return "it answers as Marquez does"

    def close(self) -> None:
        """Close the connection."""
        self._poster.close()


def open_target(options: Options, reveal: Reveal) -> MarquezTarget:
    """Open a Marquez."""
    return MarquezTarget(open_poster(cast("MarquezOptions", options), reveal))
