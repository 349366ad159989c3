"""Whose run it is: a scoped key's events count for runs that its own namespaces began, and for no other."""

from collections.abc import Callable, Collection, Mapping, Sequence

from headwater.errors import InvalidEvent
from headwater.eventlog import LoggedRecord
from headwater.events.event import Event
from headwater.events.key_scope import check_datasets, check_run, scope_of

BegunIn = Callable[[Collection[str], int], Mapping[str, str]]
"""Gives the namespaces in which runs (lower case) began before a batch; the second is when the batch was received."""

Outcome = Event | InvalidEvent


def nothing_begun(_runs: Collection[str], _now_us: int) -> Mapping[str, str]:
    """Know of no run: what an ingest answers that judges facets alone."""
    return {}


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
