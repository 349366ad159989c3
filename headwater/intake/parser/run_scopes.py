"""Enforces key scopes: a scoped key may only send events of runs that began in one of its namespaces."""

from collections.abc import Callable, Collection, Mapping, Sequence

from headwater.common.errors import InvalidEvent
from headwater.events.event import Event
from headwater.events.key_scope import check_datasets, check_run, scope_of
from headwater.intake.event_log import LoggedRecord

MAX_RUNS = 100_000
LOOK_BACK_US = 31 * 24 * 3600 * 1_000_000
"""How far back to search for runs with ids that contain no time (us).

Searching 1 M events costs 0.2 s of CPU. Runs with ids that contain a time (UUID version 7) cost 5 ms.
"""

NamespaceLookup = Callable[[Collection[str], int], Mapping[str, str]]
"""A function that looks up the job namespaces in which runs began.

It receives lower-case run ids, and the time of receipt of the batch (us). It returns a mapping from run id to
namespace, without unknown runs.
"""

Outcome = Event | InvalidEvent


def no_run_namespaces(_runs: Collection[str], _now_us: int) -> Mapping[str, str]:
    """Return an empty mapping, for ingestion that checks only facets."""
    return {}


class RunNamespaces:
    """Looks up in bronze the job namespaces in which runs began, and caches them.

    It is called only for runs of scoped keys.
    """

    def __init__(self, look_up: Callable[[Collection[str], int | None], Mapping[str, str]]) -> None:
        """look_up: reads bronze, as `Bronze.run_namespaces` does."""
        self._look_up = look_up
        self._known: dict[str, str] = {}

    def __call__(self, runs: Collection[str], now_us: int) -> Mapping[str, str]:
        """Return the namespaces in which runs began, as `NamespaceLookup` describes."""
        unknown = [run for run in runs if run not in self._known]
        timed = [run for run in unknown if run[14] == "7"]
        others = [run for run in unknown if run[14] != "7"]
        found = dict(self._look_up(timed, None)) if timed else {}
        found |= self._look_up(others, now_us - LOOK_BACK_US) if others else {}
        self.cache_namespaces(found)
        return {run: self._known[run] for run in runs if run in self._known} | found

    def cache_namespaces(self, begun: Mapping[str, str]) -> None:
        """Cache the namespaces of runs. Cached values stay valid, because the first event of a run does not change."""
        if len(self._known) + len(begun) > MAX_RUNS:
            self._known.clear()
        self._known |= begun


def apply_key_scopes(
    records: Sequence[LoggedRecord], found: Sequence[Outcome], run_namespaces: NamespaceLookup
) -> tuple[Sequence[Outcome], Mapping[str, str]]:
    """Replace events that exceed the scope of their key by an InvalidEvent (`scope`).

    Returns (outcomes in the order of `records`, mapping of run id to the job namespace of the run's first event).
    records, found: the records, and the parsed event or error of each record. A run begins with the event that was
    received first. Event times do not matter, because producers can forge them.
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
    """Return the lower-case run id of an event if it is a UUID, otherwise an empty text.

    Events of several jobs can have the same UUID. Other run ids are unique only within a job, so they need no check.
    """
    is_shared = isinstance(event, Event) and event.run_id and "run_id_not_uuid" not in event.flags
    return (event.run_id or "").lower() if isinstance(event, Event) and is_shared else ""
