"""Questions about incidents."""

import time

from headwater.questions import parameters as p
from headwater.questions.answer_types import incidents as incident_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.incidents.answer import incident_by_id, incident_period, incidents_answer
from headwater.questions.moments import Microseconds

_DAYS_OF_ONE = 31
"""The number of days in which an incident with a given id is looked for."""


@question("incidents", reads_lake=True)
def incidents(
    sources: QuestionSources, *, since: p.OpenSince = None, as_of: p.AsOf = None, limit: p.Limit = 1_000
) -> incident_answers.Incidents:  # fmt: skip
    """List incidents: what failed, is late or broke, why, what it affects, and whom to contact, the worst first."""
    period = incident_period(since, as_of, time.time_ns() // 1000)
    return incidents_answer(sources.open_views, period, limit, sources.bronze)


@question("incidents/{incident}", called=None, reads_lake=True)
def incident(
    sources: QuestionSources, *, incident: p.IncidentId, since: p.OpenSince = None, as_of: p.AsOf = None
) -> incident_answers.Incident:  # fmt: skip
    """Show one incident. `since` defaults to 31 days before the moment."""
    now_us = time.time_ns() // 1000
    if since is None:
        since = Microseconds((now_us if as_of is None else as_of) - _DAYS_OF_ONE * 86_400_000_000)
    period = incident_period(since, as_of, now_us)
    return incident_by_id(sources.open_views, incident, period, p.MAX_LIMIT, sources.bronze)
