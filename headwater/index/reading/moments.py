"""Resolve named moments to times: a job's last successful run, a deployment, the start or end of a run."""

from collections.abc import Iterator

from headwater.common.errors import NotKnown, WrongQuestion
from headwater.events.decode import decode
from headwater.events.rule_facets import text_at
from headwater.index.reading.facets import facet_set_from
from headwater.index.reading.live_graph import LiveGraph
from headwater.index.reading.run_history import RunHistory
from headwater.index.stored.database import JOB
from headwater.lineage.names.dataset_name import Name

CODE = "sourceCodeLocation"
_SHOWN = 5


def last_success_us(live: LiveGraph, job: str) -> int:
    """Return the time (us, UTC) of a job's newest run with a completed attempt. job: a name, or `namespace/name`.

    Raises NotKnown if there is no such job or run, WrongQuestion if several jobs have the name.
    """
    keys = _job_name_number(live, job)
    query = "SELECT max(time_us) FROM runs WHERE job_key = ? AND kind = 'RUN' AND completed"
    found: int | None = live.sql.execute(query, (keys,)).fetchone()[0]
    if found is None:
        raise NotKnown("green run of job", job, [], "None of its runs has completed.")
    return found


def before_run_us(live: LiveGraph, run_id: str) -> int:
    """Return the time one microsecond before a run began (us). Raises the errors of `RunHistory.find_run_key`."""
    key = RunHistory(live).find_run_key(run_id)
    query = "SELECT r.started_us FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"
    return int(live.sql.execute(query, (key,)).fetchone()[0]) - 1


def after_run_us(live: LiveGraph, run_id: str) -> int:
    """Return the time of a run's newest event (us, UTC). Raises the errors of `RunHistory.find_run_key`."""
    key = RunHistory(live).find_run_key(run_id)
    query = "SELECT r.time_us FROM run_keys k JOIN runs r ON r.run = k.id WHERE k.key = ?"
    return int(live.sql.execute(query, (key,)).fetchone()[0])


def before_deploy_us(live: LiveGraph, version: str) -> int:
    """Return the time (us) one microsecond before a job first reported a version of its code.

    version: the start of a version or tag in `sourceCodeLocation` facets; empty for the newest version. Raises NotKnown
    if no job reported such a version.
    """
    first: dict[str, int] = {}
    for text, at_us in _first_reported_versions(live):
        first[text] = min(at_us, first.get(text, at_us))
    matching = [at_us for text, at_us in first.items() if text.startswith(version)]
    if not matching:
        newest = sorted(first, key=lambda text: -first[text])[:_SHOWN]
        raise NotKnown("deploy", version, newest, f"No job reports a version in a facet {CODE}. Write a time.")
    return (min(matching) if version else max(matching)) - 1


def _first_reported_versions(live: LiveGraph) -> Iterator[tuple[str, int]]:
    rows = live.sql.execute(
        "SELECT min(d.first_us), s.value FROM facet_set_uses d JOIN facet_sets s ON s.id = d.facet_set "
        "WHERE d.kind = ? GROUP BY s.id",
        (JOB,),
    )
    for at_us, value in rows.fetchall():
        number = dict(facet_set_from(value)).get(CODE)
        facet = decode(live.facet_text(number).encode()) if number is not None else None
        yield from ((text, at_us) for name in ("version", "tag") if (text := text_at(facet, name)))


def _job_name_number(live: LiveGraph, job: str) -> int:
    query = (
        "SELECT j.key, n.namespace, n.name FROM names n JOIN jobs j ON j.display_name = n.id "
        "WHERE n.name = ?1 OR n.namespace || '/' || n.name = ?1 ORDER BY 2, 3"
    )
    rows = live.sql.execute(query, (job,)).fetchall()
    if not rows:
        raise NotKnown(
            "job", job, [], "Write its name, or namespace/name; `headwater search NAME --kinds job` finds it."
        )
    if len(rows) > 1:
        named = ", ".join(str("/".join(Name(*row[1:]).parts)) for row in rows[:_SHOWN])
        raise WrongQuestion(f"{job[:200]!r} is the name of {len(rows)} jobs. Write one of {named}.")
    return int(rows[0][0])
