"""Enforces key scopes: a scoped key may only send events of runs that began in one of its namespaces."""

from collections.abc import Callable, Collection, Mapping, Sequence

from headwater.common.errors import InvalidEvent
from headwater.events.event import Event
from headwater.events.key_scope import check_datasets, check_run, scope_of
from headwater.intake.event_log import LoggedRecord

MAX_RUNS = 100_000
LOOK_BACK_US = 31 * 24 * 3600 * 1_000_000
"""How far back to search runs whose ids contain no time. 1 M events cost 0.2 s of CPU; ids with a time cost 5 ms."""

NamespaceLookup = Callable[[Collection[str], int], Mapping[str, str]]
"""Looks up where runs (lower-case ids) began. Second argument: when the batch was received (us)."""

Outcome = Event | InvalidEvent


def find_no_runs(_runs: Collection[str], _now_us: int) -> Mapping[str, str]:
    """Return no run, for an ingest that checks only facets."""
    return {}


class RunNamespaces:
    """Looks up in bronze in which namespaces runs began, with a cache. Reads nothing without scoped keys."""

    def __init__(self, look_up: Callable[[Collection[str], int | None], Mapping[str, str]]) -> None:
        """look_up: `Bronze.run_namespaces`."""
        self._look_up = look_up
        self._known: dict[str, str] = {}

    def __call__(self, runs: Collection[str], now_us: int) -> Mapping[str, str]:
        """See `NamespaceLookup`."""
        unknown = [run for run in runs if run not in self._known]
        timed = [run for run in unknown if run[14] == "7"]
        others = [run for run in unknown if run[14] != "7"]
        found = dict(self._look_up(timed, None)) if timed else {}
        found |= self._look_up(others, now_us - LOOK_BACK_US) if others else {}
        self.cache_namespaces(found)
        return {run: self._known[run] for run in runs if run in self._known} | found

    def cache_namespaces(self, begun: Mapping[str, str]) -> None:
        """Cache committed results: the first event of a run does not change."""
        if len(self._known) + len(begun) > MAX_RUNS:
            self._known.clear()
        self._known |= begun


def apply_key_scopes(
    records: Sequence[LoggedRecord], found: Sequence[Outcome], run_namespaces: NamespaceLookup
) -> tuple[Sequence[Outcome], Mapping[str, str]]:
    """Replace events that exceed the scope of their key by an InvalidEvent (`scope`).

    Also returns the job namespace of each run's first event, by run id.

    The first received event begins a run, whatever its event time, because producers can forge event times.
    """
    scopes = [scope_of(record.http) for record in records]
    if not any(scopes):
        return found, {}
    runs = {run for event, scope in zip(found, scopes, strict=True) if scope and (run := _scoped_run_id(event))}
    begun = dict(run_namespaces(runs, records[-1].received_us)) if runs else {}
    outcomes = list(found)
    for at, (event, scope) in enumerate(zip(found, scopes, strict=True)):
        if isinstance(event, InvalidEvent):
            continue
        run, namespace = _scoped_run_id(event), event.job_namespace or ""
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


def _scoped_run_id(event: Outcome) -> str:
    """Return the run id if other jobs could use it as well; empty if the job is part of the run's identity."""
    is_shared = isinstance(event, Event) and event.run_id and "run_id_not_uuid" not in event.flags
    return (event.run_id or "").lower() if isinstance(event, Event) and is_shared else ""
