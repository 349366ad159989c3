"""The names of jobs as producers sent them."""

from headwater.index.reading.live_graph import LiveGraph
from headwater.lineage.names.dataset_name import Name

_MOST = 20
_LOOKED_AT = 200
"""How many of a job's newest runs are read."""

_SENT = (
    "SELECT sent_job, max(time_us) AS last_us FROM (SELECT r.sent_job, r.time_us FROM jobs j JOIN runs r "
    "ON r.job_key = j.key WHERE j.shown = ?1 ORDER BY r.time_us DESC LIMIT ?2) "
    "WHERE sent_job IS NOT NULL GROUP BY sent_job ORDER BY last_us DESC, sent_job LIMIT ?3"
)


def original_names(live: LiveGraph, job: Name) -> list[str]:
    """Return the 20 newest original names that the rules turned into a job's display name, newest first."""
    rows = live.sql.execute(_SENT, (live.names.known(job) or 0, _LOOKED_AT, _MOST))
    return [live.names.name(number).name for number, _ in rows]
