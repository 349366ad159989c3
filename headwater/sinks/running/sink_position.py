"""How far one sink is, what was ordered of it and what became of its events: read from its ledger, and kept there."""

import logging
from collections.abc import Callable, Mapping

from headwater.events.position import Source
from headwater.failpoints import reach
from headwater.lake.bronze_follower import Progress
from headwater.lake.lake_maintenance import compact
from headwater.lake.open_table import REOPEN_AFTER
from headwater.sinks.contract.guarding import Hide, one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.sink_shape import CLOCK
from headwater.sinks.running.delivery import Delivery
from headwater.sinks.running.sink_ledger import Ledger, Orders, SinkCounts

log = logging.getLogger(__name__)

GIVEN_UP = "Sink %s: %d events given up, see `headwater sinks failures`. The first: %s"
"""An alert of infra/bicep/modules/alerts.bicep reads this line."""


class SinkPosition:
    """The place of one sink. Its orders are None until `begin`, and once a fault leaves it open what is kept."""

    def __init__(
        self,
        sink: Sink,
        sources: Callable[[], Mapping[Source, int]],
        ledger: Ledger,
        *,
        hide: Hide,
        clock: Callable[[], int],
    ) -> None:
        """Read nothing yet.

        sources: what is followed, and how far each reaches; hide: takes secrets out of a text; clock: tells the time
        (us, UTC).
        """
        self.orders: Orders | None = None
        self.progress: Progress | None = None
        """How far the sink is, None before it has looked."""
        self.counts = SinkCounts(0, 0, 0)
        self.kept_us = 0
        """Up to which moment it is kept that nothing was silent."""
        self.ask_at_us = 0
        """Until then (us) nobody need ask what fell silent."""
        self._sink = sink
        self._sources = sources
        self._ledger = ledger
        self._hide = hide
        self._clock = clock
        self._resets: int | None = None

    @property
    def told_us(self) -> int:
        """Up to which moment silence is told (us), 0 for never."""
        return (self.progress or {}).get((CLOCK.epoch, CLOCK.partition), 0)

    def is_ordered_anew(self) -> bool:
        """Tell whether something else is ordered by now than what was read last."""
        return self.orders is not None and self._ledger.orders(self._sink.name) != self.orders

    def begin(self) -> Orders:
        """Read orders and position anew; of a sink that begins now, order that first."""
        self._ledger.create()
        name = self._sink.name
        sources = dict(self._sources())
        if self._sink.options.silence:
            sources[CLOCK] = self._clock()
        orders = self._ledger.orders(name)
        if orders.resets == 0 and self._sink.options.begin == "now":
            heads = {f"{each.epoch}/{each.partition}": head for each, head in sources.items()}
            orders = Orders(orders.paused, 1, heads)
            self._ledger.order(name, orders)
        asked_us = self.told_us if orders.resets == self._resets else 0
        if not asked_us:
            self.ask_at_us = 0
        self._resets, self.progress = orders.resets, self._ledger.progress(name, orders, sources)
        self.kept_us = self.told_us
        if asked_us > self.kept_us:
            self.progress = self.behind({CLOCK: asked_us})
        self.counts = self._ledger.counts(name)
        self.orders = orders
        return orders

    def behind(self, reached: Mapping[Source, int]) -> Progress:
        """Return how far the sink is once all up to there is settled."""
        return {**(self.progress or {}), **{(each.epoch, each.partition): until for each, until in reached.items()}}

    def keep(self, orders: Orders, reached: Mapping[Source, int], left_out: int, delivery: Delivery) -> None:
        """Commit what became of a batch so far, for each partition by itself where it has events of several."""
        for source, until in reached.items():
            letters = delivery.take_refused(source, until)
            letters = [each._replace(reason=one_line(self._hide(each.reason))) for each in letters]
            was = self.counts
            counts = SinkCounts(
                was.delivered + delivery.take_delivered(), was.failed + len(letters), was.left_out + left_out
            )
            self._ledger.commit(self._sink.name, orders, source, until, refused=letters, counts=counts)
            self.counts, left_out = counts, 0
            if letters:
                log.warning(GIVEN_UP, self._sink.name, len(letters), letters[0].reason)
        self.kept_us = reached.get(CLOCK, self.kept_us)
        reach("sinks.committed")
        self.progress = self.behind(reached)
        if self._ledger.commits >= REOPEN_AFTER:
            compact(self._ledger)
