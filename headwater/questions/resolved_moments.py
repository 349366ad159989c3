"""Resolves words for moments into times."""

from typing import overload

from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.moments import after_run_us, before_deploy_us, before_run_us, last_success_us
from headwater.questions.moments import Moment

_LOOKS_UP = {"last_green": last_success_us, "run": before_run_us, "deploy": before_deploy_us}


@overload
def resolve_moment(live: LiveGraph, moment: Moment) -> int: ...
@overload
def resolve_moment(live: LiveGraph, moment: Moment | None) -> int | None: ...
def resolve_moment(live: LiveGraph, moment: Moment | None) -> int | None:
    """Return the time of a moment (us, UTC). None, which means now, stays None.

    Raises NotKnown for an unknown job, run or version.
    """
    if moment is None:
        return None
    return _LOOKS_UP[moment.word](live, moment.argument) if moment.time_us is None else moment.time_us


def resolve_after(live: LiveGraph, moment: Moment | None) -> int | None:
    """Return the time of a moment as `resolve_moment` does, but for a run return the time after its last event."""
    if moment is not None and moment.time_us is None and moment.word == "run":
        return after_run_us(live, moment.argument)
    return resolve_moment(live, moment)
