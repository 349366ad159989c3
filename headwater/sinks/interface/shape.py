"""The shapes that all sinks share: an event to send, its payload, and the outcome of one attempt to deliver it.

A target is one module: its options, a pure conversion from events to payloads, and one attempt to deliver payloads.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.events.position import Source
from headwater.events.stored_cells import StoredHead
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import run_key

CLOCK = Source("clock", "clock", "0")
"""Partition of payloads about silent runs, which no event causes; its sequence numbers are moments (us, UTC)."""
REPLAYED = Source("replay", "replay", "0")
"""Partition of the list that a replay sends; its sequence numbers are rows, starting at 1."""
WATCH = Source("clock", "watch", "0")
"""Partition of payloads that a target finds by polling; its sequence numbers are the moments of polls (us, UTC)."""


class SinkEvent(NamedTuple):
    """An event from the lake: deduplicated and redacted."""

    source: Source
    head: StoredHead
    body: bytes


def run_key_of(head: StoredHead) -> str | None:
    """Return the key that the events of one run share, or None if the event has no run.

    The key includes the job, because different jobs may use the same run id.
    """
    return run_key(head.run_id, Name(head.job_namespace or "", head.job_name or "")) if head.run_id else None


History = Mapping[str, Sequence[SinkEvent]]
"""Maps a run id to the run's events that precede a batch, in order."""


def group_by_run(events: Sequence[SinkEvent], history: History) -> list[list[SinkEvent]]:
    """Group events by run, and put the run's earlier events first; groups are in the order of their last events."""
    groups: dict[str, list[SinkEvent]] = {}
    for event in events:
        key = run_key_of(event.head) or event.head.event_id
        before = [each for each in history.get(event.head.run_id or "", ()) if run_key_of(each.head) == key]
        groups[key] = group = groups.pop(key, before)  # moves the group to the end: it now has the last event
        group.append(event)
    return [*groups.values()]


class Payload(NamedTuple):
    """What the sink sends for one event.

    unfit: the reason why the target can never accept the event, so the sink sends nothing for it; None if it can.
    row: the event's row number in the list of a replay, or None if the sink is not a replay.
    """

    event: SinkEvent
    body: bytes
    unfit: str | None = None
    row: int | None = None

    @property
    def position(self) -> tuple[Source, int]:
        """Return the partition and the sequence number by which a sink counts its progress."""
        if self.row is not None:
            return REPLAYED, self.row
        return self.event.source, self.event.head.sequence


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one attempt; payloads in neither `refused` nor `again` were delivered.

    refused: maps the index of a payload in the attempt to the reason why the target will never accept the payload.
    again: indexes of payloads to retry because of `trouble`, after `after_s` seconds at the earliest.
    blames_event: whether the target responded with an error that may concern only these payloads, so others may
    succeed.
    """

    refused: Mapping[int, str] = field(default_factory=dict)
    again: Sequence[int] = ()
    trouble: str = ""
    after_s: float = 0.0
    blames_event: bool = False


class Target(Protocol):
    """The system that receives events. Only one thread uses a target, and each target has its own connection."""

    largest: int
    """Maximum number of payloads in one attempt."""

    def convert(self, events: Sequence[SinkEvent]) -> list[Payload]:
        """Return the payloads of events, in the order to send them; performs no I/O."""

    def deliver(self, payloads: Sequence[Payload]) -> Outcome:
        """Try once to deliver payloads; a failure of the target is returned as an outcome, not raised."""

    def check(self) -> str:
        """Connect and authenticate without sending events; returns a description, raises HeadwaterError on failure."""

    def close(self) -> None:
        """Close the connection."""


@runtime_checkable
class PollingTarget(Protocol):
    """A target that polls, every `poll_interval_s` seconds, for facts that no event reports."""

    def poll(self, at_us: int, turn: int) -> Mapping[str, Sequence[Payload]]:
        """Return the notices for all items that exist now, by the name of the query that found them.

        The partition of each payload is WATCH, its sequence number is `at_us` (us, UTC), and its event id identifies
        the item. turn: number that distinguishes the notices of an item that disappears and returns.
        Raises HeadwaterError if the result would be incomplete.
        """


class TargetStore(Protocol):
    """What a target stores about what it sent, next to the position of its sink."""

    def read(self) -> str | None:
        """Return the stored text, None if there is none; raises LakeUnavailable."""

    def replace(self, expected: str | None, text: str) -> bool:
        """Store a text if `expected` is the stored one; returns false if another process stored something else."""

    def not_before_us(self) -> int:
        """Return the moment (us, UTC) of the newest restore or `reset --to now`, 0 if there was none."""


@runtime_checkable
class StoringTarget(Protocol):
    """A polling target that decides itself what is new, and stores each message that it sent.

    `poll` returns all messages, as if nothing had been sent.
    """

    def use_store(self, store: TargetStore) -> None:
        """Use a store; a target without one sends each payload."""

    def new_payloads(self, at_us: int) -> Sequence[Payload]:
        """Return the messages that are due at a moment (us, UTC). Raises HeadwaterError if the query fails."""

    def settle(self, payloads: Sequence[Payload]) -> None:
        """Store that those of `payloads` that were not sent will never be sent."""

    def preview(self, item: str) -> Sequence[Payload]:
        """Return the exact messages for an item, or for all items with `now`, without sending them.

        `unfit` is the reason why a message is not sent.
        """

    def send_test(self) -> str:
        """Send a test message to each destination; returns a description. Raises Retry or WrongSetting."""


def retry_all(count: int, reason: str, *, after_s: float = 0.0, blames_event: bool = False) -> Outcome:
    """Return the outcome of an attempt that must be repeated, since no payload is known to have arrived."""
    return Outcome(again=range(count), trouble=reason, after_s=after_s, blames_event=blames_event)


def unchanged_payloads(events: Sequence[SinkEvent]) -> list[Payload]:
    """Return payloads with unchanged bodies, for targets that accept events as they are."""
    return [Payload(event, event.body) for event in events]
