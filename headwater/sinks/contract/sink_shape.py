"""What all sinks share: an event on its way out, what it becomes, and what became of one attempt to hand it over.

A target is one module: its options, how events become payloads (pure), and one attempt to deliver some.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_identity import run_key

CLOCK = Source("clock", "clock", "0")
"""What time alone makes due is followed as a partition of the lake is; its sequence numbers are moments (us, UTC)."""
REPLAYED = Source("replay", "replay", "0")
"""What a replay sends is a list, followed as a partition is; its sequence numbers are rows, the first one is 1."""
WATCH = Source("clock", "watch", "0")
"""What a target finds by looking has its place here; sequence numbers are the moments of looking (us, UTC)."""


class SinkEvent(NamedTuple):
    """An event as the lake has it: without duplicates, redacted."""

    source: Source
    head: StoredHead
    body: bytes


def run_of(head: StoredHead) -> str | None:
    """Return what the events of one run share, None for what is of no run; a run id alone need not be one's own."""
    return run_key(head.run_id, Name(head.job_namespace or "", head.job_name or "")) if head.run_id else None


History = Mapping[str, Sequence[SinkEvent]]
"""Run id → events of the run before those of a batch, in order."""


def by_run(events: Sequence[SinkEvent], history: History) -> list[list[SinkEvent]]:
    """Return events by what they are of, of a run behind what came before; each group at the place of its last one."""
    groups: dict[str, list[SinkEvent]] = {}
    for event in events:
        key = run_of(event.head) or event.head.event_id
        before = [each for each in history.get(event.head.run_id or "", ()) if run_of(each.head) == key]
        groups[key] = group = groups.pop(key, before)  # behind the others: its last event is behind theirs
        group.append(event)
    return [*groups.values()]


class Payload(NamedTuple):
    """What is sent of one event. unfit: why this target can never take it; then nothing of it is sent.

    row: its number in the list that a replay sends, None where events go in the order of the lake.
    """

    event: SinkEvent
    body: bytes
    unfit: str | None = None
    row: int | None = None

    @property
    def place(self) -> tuple[Source, int]:
        """Return the source and the number by which a sink counts how far it is."""
        if self.row is not None:
            return REPLAYED, self.row
        return self.event.source, self.event.head.sequence


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one attempt; payloads that are neither refused nor to be tried again were delivered.

    refused: why the target will never take a payload, by its place in the attempt.
    again: places to be tried again, because of `trouble`, at the earliest after `after_s` seconds.
    blames_event: the target answered, and failed; another payload may go through.
    """

    refused: Mapping[int, str] = field(default_factory=dict)
    again: Sequence[int] = ()
    trouble: str = ""
    after_s: float = 0.0
    blames_event: bool = False


class Target(Protocol):
    """Where events go. Used by one thread; its connection is its own."""

    largest: int
    """Payloads that one attempt takes."""

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return what is sent of events, in the order in which it is sent; touches nothing outside."""

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt; faults of the target are an outcome, no error."""

    def check(self) -> str:
        """Connect and authenticate, send no event; return what was found, raise HeadwaterError where it is amiss."""

    def close(self) -> None:
        """Close the connection."""


@runtime_checkable
class Watches(Protocol):
    """A target that looks itself, every `looks_every`, at something that no event tells."""

    def look(self, at_us: int, turn: int) -> Mapping[str, Sequence[Payload]]:
        """Return what would be told of each thing that is there now, by what was asked; of WATCH, at that moment.

        The id of its event is the thing's own; turn: what tells notices of one thing from each other, should it go and
        come back. Raises HeadwaterError unless all that is there is known.
        """


def whole_again(count: int, trouble: str, *, after_s: float = 0.0, blames_event: bool = False) -> Outcome:
    """Return the outcome of an attempt of which nothing is known to have arrived."""
    return Outcome(again=range(count), trouble=trouble, after_s=after_s, blames_event=blames_event)


def verbatim(events: Sequence[SinkEvent]) -> list[Payload]:
    """Convert for targets that take events as they are."""
    return [Payload(event, event.body) for event in events]
