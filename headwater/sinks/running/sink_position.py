"""The position, desired state and counts of one sink, loaded from and committed to the ledger."""

import logging
from collections.abc import Callable, Mapping

from headwater.common.failpoints import reach
from headwater.events.position import Source
from headwater.lake.bronze_follower import Progress
from headwater.lake.lake_maintenance import compact
from headwater.lake.open_table import REOPEN_AFTER
from headwater.sinks.contract.error_isolation import MaskSecrets, one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK
from headwater.sinks.running.delivery import Delivery
from headwater.sinks.running.sink_ledger import DesiredState, SinkCounts, SinkLedger

log = logging.getLogger(__name__)

GIVEN_UP = "Sink %s: %d events given up, see `headwater sinks failures`. The first: %s"
"""The alert in infra/bicep/modules/alerts.bicep matches this line."""


class SinkPosition:
    """The position of one sink. `desired` is None before `begin`, and after a fault that leaves a commit uncertain."""

    def __init__(
        self,
        sink: Sink,
        sources: Callable[[], Mapping[Source, int]],
        ledger: SinkLedger,
        *,
        mask_secrets: MaskSecrets,
        clock: Callable[[], int],
    ) -> None:
        """Set up without reading the ledger.

        sources: returns the partitions and their newest sequence numbers; clock: returns the time (us, UTC).
        """
        self.desired: DesiredState | None = None
        self.progress: Progress | None = None
        """Position in each partition, None before the first look."""
        self.counts = SinkCounts(0, 0, 0)
        self.committed_until_us = 0
        """Moment up to which the clock's position is committed (us, UTC)."""
        self.next_check_us = 0
        """Moment of the next check for silent runs (us, UTC)."""
        self._sink = sink
        self._sources = sources
        self._ledger = ledger
        self._mask_secrets = mask_secrets
        self._clock = clock
        self._resets: int | None = None

    @property
    def reported_until_us(self) -> int:
        """Return the moment up to which silence is reported (us, UTC), 0 if never."""
        return (self.progress or {}).get((CLOCK.epoch, CLOCK.partition), 0)

    def desired_state_changed(self) -> bool:
        """Return whether the desired state has changed since it was last read."""
        return self.desired is not None and self._ledger.desired_state(self._sink.name) != self.desired

    def load(self) -> DesiredState:
        """Load the desired state and the position; a new sink with `begin: now` first stores where it starts."""
        self._ledger.create()
        name = self._sink.name
        sources = dict(self._sources())
        if self._sink.options.silence:
            sources[CLOCK] = self._clock()
        desired = self._ledger.desired_state(name)
        if desired.resets == 0 and self._sink.options.begin == "now":
            heads = {f"{each.epoch}/{each.partition}": head for each, head in sources.items()}
            desired = DesiredState(desired.paused, 1, heads)
            self._ledger.set_desired_state(name, desired)
        asked_us = self.reported_until_us if desired.resets == self._resets else 0
        if not asked_us:
            self.next_check_us = 0
        self._resets, self.progress = desired.resets, self._ledger.progress(name, desired, sources)
        self.committed_until_us = self.reported_until_us
        if asked_us > self.committed_until_us:
            self.progress = self.progress_with({CLOCK: asked_us})
        self.counts = self._ledger.counts(name)
        self.desired = desired
        return desired

    def progress_with(self, reached: Mapping[Source, int]) -> Progress:
        """Return the progress after the partitions have reached these sequence numbers."""
        return {**(self.progress or {}), **{(each.epoch, each.partition): until for each, until in reached.items()}}

    def commit(self, desired: DesiredState, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        """Commit the result of a batch so far, with one commit for each partition."""
        for source, until in reached.items():
            letters = delivery.pop_refused(source, until)
            letters = [each._replace(reason=one_line(self._mask_secrets(each.reason))) for each in letters]
            was = self.counts
            counts = SinkCounts(
                was.delivered + delivery.pop_delivered(), was.failed + len(letters), was.left_out + left_out
            )
            self._ledger.commit(self._sink.name, desired, source, until, refused=letters, counts=counts)
            self.counts, left_out = counts, 0
            if letters:
                log.warning(GIVEN_UP, self._sink.name, len(letters), letters[0].reason)
        self.committed_until_us = reached.get(CLOCK, self.committed_until_us)
        reach("sinks.committed")
        self.progress = self.progress_with(reached)
        if self._ledger.commits >= REOPEN_AFTER:
            compact(self._ledger)
