"""Decide to which destinations an incident goes, and whether it is quiet there."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from fnmatch import fnmatchcase

from headwater.sinks.interface.options import Patterns
from headwater.sinks.targets.alerts.options import DAYS, QuietHours, Route, time_zone
from headwater.sinks.targets.alerts.server import ReportedIncident

EVERYWHERE = Route.model_validate({"to": ("",)})
"""The route of a sink that has one unnamed destination and no routes."""


def destinations(routes: Sequence[Route], incident: ReportedIncident) -> list[str]:
    """Return the destinations of an incident, without repeats: those of each route that matches.

    Routes with `fallback` apply if no other route matches.
    """
    matching = [route for route in routes or (EVERYWHERE,) if _matches(route, incident)]
    chosen = [route for route in matching if not route.fallback] or matching
    return list(dict.fromkeys(to for route in chosen for to in (route.to or ("",))))


def _matches(route: Route, incident: ReportedIncident) -> bool:
    downstream_owners = {each.name for each in incident.downstreamOwners}
    owners = {each.name for each in incident.owners}
    tags = {*incident.tags}
    namespaces = {incident.subject.namespace} | {each.namespace for each in incident.affected if not each.distance}
    if route.downstream:
        tags |= {*incident.downstreamTags}
        namespaces |= {each.namespace for each in incident.affected}
    else:
        owners -= downstream_owners
    return (
        (not route.kinds or _any_matches((incident.kind,), route.kinds))
        and (not route.severities or incident.severity in route.severities)
        and (not route.namespaces or _any_matches(namespaces, route.namespaces))
        and (not route.owners or _any_matches(owners, route.owners))
        and (not route.tags or _any_matches(tags | {tag.partition("=")[0] for tag in tags}, route.tags))
    )


def _any_matches(names: Iterable[str], patterns: Patterns) -> bool:
    return any(fnmatchcase(name, pattern) for name in names for pattern in patterns)


def is_quiet(quiet_hours: Sequence[QuietHours], severity: str, at_us: int) -> bool:
    """Return whether messages of a severity are held back at a moment (us, UTC).

    Times are clock times of the zone: on the days on which clocks change, quiet hours are an hour shorter or longer.
    """
    return any(severity in each.severities and _contains(each, at_us) for each in quiet_hours)


def _contains(quiet: QuietHours, at_us: int) -> bool:
    local = datetime.fromtimestamp(at_us / 1e6, UTC).astimezone(time_zone(quiet.zone)).replace(tzinfo=None)
    for day in (local.date(), local.date() - timedelta(days=1)):
        begin, end = datetime.combine(day, quiet.begin), datetime.combine(day, quiet.end)
        if end <= begin:
            end += timedelta(days=1)
        if DAYS[day.weekday()] in quiet.days and begin <= local < end:
            return True
    return False
