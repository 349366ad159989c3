"""Report what a sink's target cannot represent of a run, or of the newest events in a time range."""

from itertools import accumulate
from typing import Any, NamedTuple

from headwater.events.times import iso
from headwater.lake.bronze_follower import heads_of, newest_heads
from headwater.lake.bronze_tables import Bronze
from headwater.lake.reported_events import whole_run_id
from headwater.sinks.contract.error_isolation import one_line
from headwater.sinks.contract.sink_options import Sink
from headwater.sinks.contract.target_registry import target_module
from headwater.sinks.losses.sink_losses import losses_of
from headwater.sinks.merging.earlier_events import events_at

_MAX_BODY_BYTES = 64 << 20
"""Limits the total size of bodies (the first one may be larger), and so time and memory."""


class LossSelection(NamedTuple):
    """Which events to examine: those of a run, else the newest received in [since, until) (us, UTC)."""

    run: str | None = None
    since_us: int | None = None
    until_us: int | None = None
    limit: int = 1_000


def loss_report(bronze: Bronze, sink: Sink, selection: LossSelection) -> dict[str, Any]:
    """Return what is lost of the events that pass the sink's filter."""
    more = selection.limit + 1
    if not bronze.exists():
        found = []
    elif selection.run is not None:
        found = heads_of(bronze, whole_run_id(bronze, selection.run), more)
    else:
        found = newest_heads(bronze, selection.since_us, selection.until_us, more)
    seen = found[: selection.limit]
    wanted = [(source, head) for source, head in seen if sink.options.only.matches(head)]
    sizes = accumulate(head.size for _, head in wanted)
    within = [each for each, size in zip(wanted, sizes, strict=True) if size <= _MAX_BODY_BYTES or each is wanted[0]]
    times = [head.received_us for _, head in within]
    support_table = target_module(sink.options.type).support_table(sink.options)
    return {
        "sink": sink.name,
        "type": sink.options.type,
        "events": len(within),
        "left_out": len(seen) - len(wanted),
        "first": iso(min(times, default=None)),
        "last": iso(max(times, default=None)),
        "truncated": len(found) > len(seen) or len(within) < len(wanted),
        "items": [
            each._replace(name=one_line(each.name))._asdict()  # producers choose the names of facets
            for each in losses_of(events_at(bronze, within), support_table)
        ],
    }
