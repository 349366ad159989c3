"""Moments that are asked for by a word, as times."""

from typing import overload

from headwater.index.reading.known_moments import after_run_us, before_deploy_us, before_run_us, last_green_us
from headwater.index.reading.live_graph import LiveGraph
from headwater.questions.moments import Moment

_LOOKS_UP = {"last_green": last_green_us, "run": before_run_us, "deploy": before_deploy_us}


@overload
def resolved(live: LiveGraph, moment: Moment) -> int: ...
@overload
def resolved(live: LiveGraph, moment: Moment | None) -> int | None: ...
def resolved(live: LiveGraph, moment: Moment | None) -> int | None:
    """Return a moment in us, None: now; raises NotKnown for a job, run or version that nothing is known of."""
    if moment is None:
        return None
    return _LOOKS_UP[moment.word](live, moment.of) if moment.time_us is None else moment.time_us


def resolved_after(live: LiveGraph, moment: Moment | None) -> int | None:
    """Return the same, but of a run the moment at which it had said all: what it left behind."""
    if moment is not None and moment.time_us is None and moment.word == "run":
        return after_run_us(live, moment.of)
    return resolved(live, moment)
