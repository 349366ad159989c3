"""Whose run it is: a scoped key's events count for runs that its own namespaces began, and for no other."""

from collections.abc import Callable, Collection, Mapping, Sequence

from headwater.errors import InvalidEvent
from headwater.eventlog import LoggedRecord
from headwater.events.event import Event
from headwater.events.key_scope import check_datasets, check_run, scope_of

MAX_RUNS = 100_000
LOOK_BACK_US = 31 * 24 * 3600 * 1_000_000
"""How far back runs are looked for whose ids tell no time: 1 M events cost 0.2 s of CPU, ids with a time 5 ms."""

BegunIn = Callable[[Collection[str], int], Mapping[str, str]]
"""Gives the namespaces in which runs (lower case) began before a batch; the second is when the batch was received."""

Outcome = Event | InvalidEvent


def nothing_begun(_runs: Collection[str], _now_us: int) -> Mapping[str, str]:
    """Know of no run: what an ingest answers that judges facets alone."""
    return {}


class RunsBegun:
    """Looks up in bronze where runs began; asks nothing as long as no scoped key sends."""

    def __init__(self, look_up: Callable[[Collection[str], int | None], Mapping[str, str]]) -> None:
        """Remember nothing yet. look_up: `Bronze.begun_in`."""
        self._look_up = look_up
        self._known: dict[str, str] = {}

    def __call__(self, runs: Collection[str], now_us: int) -> Mapping[str, str]:
        """See `BegunIn`."""
        unknown = [run for run in runs if run not in self._known]
        timed = [run for run in unknown if run[14] == "7"]
        others = [run for run in unknown if run[14] != "7"]
        found = dict(self._look_up(timed, None)) if timed else {}
        found |= self._look_up(others, now_us - LOOK_BACK_US) if others else {}
        self.remember(found)
        return {run: self._known[run] for run in runs if run in self._known} | found

    def remember(self, begun: Mapping[str, str]) -> None:
        """Take what is in the lake for good: what began a run does not change."""
        if len(self._known) + len(begun) > MAX_RUNS:
            self._known.clear()
        self._known |= begun


def judged(
    records: Sequence[LoggedRecord], found: Sequence[Outcome], begun_in: BegunIn
) -> tuple[Sequence[Outcome], Mapping[str, str]]:
    """Put an InvalidEvent (`scope`) in place of what oversteps its key; returns also where the runs began.

    The first event that was received begins a run, whatever its time: a time may be forged.
    """
    scopes = [scope_of(record.http) for record in records]
    if not any(scopes):
        return found, {}
    runs = {run for event, scope in zip(found, scopes, strict=True) if scope and (run := _run(event))}
    begun = dict(begun_in(runs, records[-1].received_us)) if runs else {}
    outcomes = list(found)
    for at, (event, scope) in enumerate(zip(found, scopes, strict=True)):
        if isinstance(event, InvalidEvent):
            continue
        run, namespace = _run(event), event.job_namespace or ""
        try:
            if scope:
                check_datasets(scope, event)
                check_run(scope, begun.get(run, namespace))
        except InvalidEvent as error:
            outcomes[at] = error
        else:
            if run in runs:
                begun.setdefault(run, namespace)
    return outcomes, begun


def _run(event: Outcome) -> str:
    """Return the id that other jobs could use as well; empty where the run's job is part of what it is known by."""
    is_shared = isinstance(event, Event) and event.run_id and "run_id_not_uuid" not in event.flags
    return (event.run_id or "").lower() if isinstance(event, Event) and is_shared else ""
