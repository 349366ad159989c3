"""What a target finds by looking for itself: new things are told once, what went is forgotten, a first look tells none.

What was found last is kept behind the notices' delivery, so a kill repeats one look's notices at most, with their ids.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from headwater.errors import HeadwaterError
from headwater.failpoints import reach
from headwater.sinks.contract.guarding import Hide, say_unforeseen
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import Payload, Target, Watches
from headwater.sinks.running.retry_pace import Pace
from headwater.sinks.running.sink_ledger import Ledger, Watched


class News(NamedTuple):
    """What a look at a moment (us) makes due, and what is to be kept once that is delivered."""

    payloads: list[Payload]
    at_us: int
    watched: Watched


class SinkWatch:
    """The looks of one sink's target."""

    def __init__(self, sink: Sink, ledger: Ledger, *, hide: Hide, clock: Callable[[], int]) -> None:
        """Look at nothing yet. clock: tells the time (us, UTC)."""
        self.trouble: str | None = None
        """Why the last look failed; it changed nothing."""
        self._sink = sink
        self._ledger = ledger
        self._hide = hide
        self._clock = clock
        self._pace = Pace()
        self._next_us = 0

    def news(self, opened: Callable[[], Target]) -> News | None:
        """Look, unless it is too early; None where nothing has changed. Until `keep` each look tells the same."""
        every_s, at_us = self._sink.options.looks_every, self._clock()
        if every_s is None or at_us < self._next_us:
            return None
        target, was = opened(), self._ledger.watched(self._sink.name)
        found = self._look(target, at_us, was.turn + 1) if isinstance(target, Watches) else {}
        if found is None:
            now_us = self._clock()
            self._wait(self._pace.after_fault((now_us - at_us) / 1e6), now_us)  # one that hangs leaves half of the time
            return None
        self._pace.after_success(0)
        seen = {asked: sorted(each.event.head.event_id for each in there) for asked, there in found.items()}
        if seen != was.seen:
            return News(_new(self._sink, found, was), at_us, Watched(was.turn + 1, seen))
        self._wait(every_s, at_us)
        return None

    def keep(self, news: News) -> None:
        """Keep what a look found: its news are delivered, or given up."""
        reach("sinks.looked")
        self._ledger.watch(self._sink.name, news.watched)
        self._wait(self._sink.options.looks_every or 0.0, news.at_us)

    def _wait(self, seconds: float, since_us: int) -> None:
        self._next_us = since_us + int(1e6 * seconds)

    def _look(self, target: Watches, at_us: int, turn: int) -> Mapping[str, Sequence[Payload]] | None:
        """Let the target look; None where it could not, and why not is kept."""
        self.trouble = None
        try:
            return target.look(at_us, turn)
        except HeadwaterError as error:
            self.trouble = str(error)
        except Exception as error:
            self.trouble = say_unforeseen(error, "Looking", self._hide)
        return None


def seen_again(sink: Sink, target: Target, thing: str, at_us: int) -> list[Payload]:
    """Return what is sent of one thing that was found at a moment (us), if it is still there."""
    if sink.options.looks_every is None or not isinstance(target, Watches):
        return []
    return [each for there in target.look(at_us, at_us).values() for each in there if each.event.head.event_id == thing]


def _new(sink: Sink, found: Mapping[str, Sequence[Payload]], was: Watched) -> list[Payload]:
    """Return what the sink wants of what was not there; nothing of what was not asked before."""
    known = {asked: {*seen} for asked, seen in was.seen.items()}
    return [
        each
        for asked, there in found.items()
        for each in there
        if asked in known and each.event.head.event_id not in known[asked] and sink.options.only.wants(each.event.head)
    ]
