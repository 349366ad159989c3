"""What a sink's target cannot hold of a run, or of the newest events of a span, as the lake has them."""

from itertools import accumulate
from typing import Any, NamedTuple

from headwater.events.times import iso
from headwater.lake.bronze_follower import heads_of, newest_heads
from headwater.lake.bronze_tables import Bronze
from headwater.lake.reported_events import whole_run_id
from headwater.sinks.contract.guarding import one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.target_registry import target_module
from headwater.sinks.losses.sink_losses import losses_of
from headwater.sinks.merging.earlier_events import events_at

_LOOKED_AT = 64 << 20
"""Bytes of bodies, unless the first is larger: nobody waits for more, and no more is in memory."""


class Looked(NamedTuple):
    """Which events are looked at: of a run, else those received in [since, until) (us, UTC); the newest ones."""

    run: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    limit: int = 1_000


def loss_report(bronze: Bronze, sink: Sink, looked: Looked) -> dict[str, Any]:
    """Return what is lost of the events that the sink's filter lets by."""
    more = looked.limit + 1
    if not bronze.exists():
        found = []
    elif looked.run is not None:
        found = heads_of(bronze, whole_run_id(bronze, looked.run), more)
    else:
        found = newest_heads(bronze, looked.since_us, looked.until_us, more)
    seen = found[: looked.limit]
    wanted = [(source, head) for source, head in seen if sink.options.only.wants(head)]
    sizes = accumulate(head.size for _, head in wanted)
    within = [each for each, size in zip(wanted, sizes, strict=True) if size <= _LOOKED_AT or each is wanted[0]]
    times = [head.received_us for _, head in within]
    holdings = target_module(sink.options.type).holdings(sink.options)
    return {
        "sink": sink.name,
        "type": sink.options.type,
        "events": len(within),
        "left_out": len(seen) - len(wanted),
        "first": iso(min(times, default=None)),
        "last": iso(max(times, default=None)),
        "truncated": len(found) > len(seen) or len(within) < len(wanted),
        "items": [
            each._replace(name=one_line(each.name))._asdict()  # facets are named by whoever sent the event
            for each in losses_of(events_at(bronze, within), holdings)
        ],
    }
