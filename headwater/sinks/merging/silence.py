"""What is told because nothing comes: runs that are lost, applications that fell silent; asked of the lake each time.

Time is followed as a partition is, by moments; a kill asks again about what was not kept.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol, runtime_checkable

from headwater.events.stored_cells import StoredHead
from headwater.lake.bronze_follower import (
    MemberHead,
    ends_above,
    heads_of_families,
    oldest_ahead_us,
    parents_between,
    quiet_runs,
)
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.runs import lost_runs
from headwater.lineage.runs.lost_runs import LOST_AFTER_US, is_lost
from headwater.sinks.contract.guarding import Hide, say_unforeseen
from headwater.sinks.contract.sink_options import Silence
from headwater.sinks.contract.sink_shape import CLOCK, Payload, SinkEvent, Target, run_of
from headwater.sinks.merging.earlier_applications import (
    LOOKS_BACK_US,
    Family,
    TakesApplications,
    application_members,
    has_ended,
    read_application,
    read_members,
    told_application,
)
from headwater.sinks.merging.earlier_events import MOST
from headwater.sinks.merging.merged_event import MergedEvent, merged

MOST_AT_ONCE = 200
"""Of what became silent, but for what did so at one moment."""
_DAY_US = 24 * 3600 * 1_000_000
_EVER_US = 1 << 53


class Asking(NamedTuple):
    """Who asks: a sink's target, the lake, the sink's filter, and what takes its secrets out of a text."""

    target: Target
    bronze: Bronze
    wants: Callable[[StoredHead], bool]
    hide: Hide


@runtime_checkable
class TakesLostRuns(Protocol):
    """A target that tells of runs that are lost."""

    def convert_lost(self, event: SinkEvent, said: MergedEvent) -> Payload:
        """Return what is sent of a lost run. event: its newest one, without its body; said: all of them together."""


class FallenSilent(NamedTuple):
    """What became silent up to a moment (us)."""

    payloads: list[Payload]
    until_us: int


def fallen_silent(by: Asking, silence: Silence, since_us: int, until_us: int) -> FallenSilent:
    """Return what is sent of what became silent behind a moment: within a day at most, and not too much at once.

    since_us: 0 for all that the lake has.
    """
    if not by.bronze.exists():
        return FallenSilent([], until_us)
    if not since_us:
        since_us = min(oldest_ahead_us(by.bronze, {}) or until_us, until_us) - 1
    until_us = min(until_us, since_us + _DAY_US)
    found = sorted(_watched(silence).found(by.bronze, since_us, until_us), key=lambda each: each[1])
    if len(found) > MOST_AT_ONCE:
        until_us = found[MOST_AT_ONCE - 1][1]
    return FallenSilent(silent_again(by, silence, {run: us for run, us in found if us <= until_us}), until_us)


def silent_again(by: Asking, silence: Silence, found: Mapping[str, int]) -> list[Payload]:
    """Return what is sent of those runs, or applications, that are silent at a moment (us) each."""
    return [payload for payload in _watched(silence).told(by, found) if payload] if found else []


def _watched(silence: Silence) -> "_SilentApplications | _LostRuns":
    return _SilentApplications(int(silence.after_s * 1e6)) if silence.by_receipt else _LostRuns()


class _SilentApplications(NamedTuple):
    """Applications without an end of which nothing was received for so long (us)."""

    idle_us: int

    def found(self, bronze: Bronze, since_us: int, until_us: int) -> list[tuple[str, int]]:
        """Return the ids of those that became so in (since, until], and when (us)."""
        parents = parents_between(bronze, since_us - self.idle_us, until_us - self.idle_us)
        families = application_members(bronze, parents, since_us - self.idle_us - LOOKS_BACK_US, until_us)
        silent = {
            run_id: max(each.head.received_us for each in members) + self.idle_us
            for run_id, members in families.items()
            if not has_ended(members, run_id)
        }
        return [(run_id, us) for run_id, us in silent.items() if since_us < us <= until_us]

    def told(self, by: Asking, found: Mapping[str, int]) -> Iterator[Payload | None]:
        """Yield what is sent of those that are wanted, None of what is no application."""
        since_us = min(found.values()) - self.idle_us - LOOKS_BACK_US
        for run_id, heard in application_members(by.bronze, {*found}, since_us, max(found.values())).items():
            members = [each for each in heard if each.head.received_us <= found[run_id]]
            if isinstance(by.target, TakesApplications) and any(by.wants(each.head) for each in members):
                at = SinkEvent(CLOCK, members[-1].head._replace(sequence=found[run_id], run_id=run_id), b"")
                yield told_application(by.target, Family(run_id, read_application(by.bronze, members), at), by.hide)


class _LostRuns:
    """Runs that are lost by rule 1."""

    def found(self, bronze: Bronze, since_us: int, until_us: int) -> list[tuple[str, int]]:
        """Return the ids of those that may be so since a moment (us) in (since, until]."""
        return quiet_runs(bronze, since_us, until_us, LOST_AFTER_US)

    def told(self, by: Asking, found: Mapping[str, int]) -> Iterator[Payload]:
        """Yield what is sent of those that are lost and wanted."""
        since_us = min(found.values()) - LOST_AFTER_US - LOOKS_BACK_US
        ends = ends_above(by.bronze, found, since_us)
        by_run: dict[str | None, list[MemberHead]] = defaultdict(list)
        for each in heads_of_families(by.bronze, found, since_us, _EVER_US, alone=True):
            by_run[run_of(each.head)].append(each)
        for members in by_run.values():
            at_us = found[str(members[-1].head.run_id)]
            kept = members if len(members) <= MOST else [*members[: MOST // 2], *members[-MOST // 2 :]]
            said = merged(read_members(by.bronze, kept))
            ended, streams = said.state is not None, said.is_streaming
            lost = is_lost(has_ended=ended, is_streaming=streams, last_us=said.newest_us, now_us=at_us)
            above = ends.get(str(members[-1].head.run_id), ())
            ended_above = lost_runs.has_ended(
                is_open=not ended, is_streaming=streams, last_us=said.newest_us, ends_us=above
            )
            wanted = lost and not ended_above and any(by.wants(each.head) for each in members)
            if wanted and isinstance(by.target, TakesLostRuns):
                yield _told(by.target, SinkEvent(CLOCK, members[-1].head._replace(sequence=at_us), b""), said, by.hide)


def _told(target: TakesLostRuns, event: SinkEvent, said: MergedEvent, hide: Hide) -> Payload:
    try:
        return target.convert_lost(event, said)
    except Exception as error:
        return Payload(event, b"", say_unforeseen(error, "Converting", hide))
