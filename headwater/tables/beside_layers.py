"""Tables beside the layers: of sinks, of what people changed, and of which generation of a layer is read."""

from headwater.tables.shared_columns import POSITION
from headwater.tables.table_shape import ListOf, StructOf, Table

SINK_FAILURES = Table(
    "sink_failures",
    {
        "sink": "string",
        **POSITION,
        "event_id": "string",
        "run_id": "string",
        "reason": "string",
        "attempts": "int",
        "failed_at": "timestamp",
    },
)
"""Events that a sink's target refuses for good; its commits carry the position of each sink as transactions."""

ADMIN_LOG = Table(
    "admin_log",
    {
        "act_id": "string",
        "at": "timestamp",
        "who": "string",
        "action": "string",
        "subject": "string",
        "outcome": "string",
        "detail": "string",
        "address": "string",
        "agent": "string",
    },
)
"""Who changed what: keys, tags, deletions, redrives, retries. Never a secret."""

_NAMED = StructOf({"namespace": "string", "name": "string"})

SENT_RUNS = Table(
    "sent_runs",
    {
        "run_key": "string",
        "run_id": "string",
        "job_namespace": "string",
        "job_name": "string",
        "state": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "last_event_at": "timestamp",
        "producer": "string",
        "parent_run_id": "string",
        "inputs": ListOf(_NAMED),
        "outputs": ListOf(_NAMED),
        "event": "string",
        **POSITION,
        "received_date": "date",
    },
    ("received_date",),
)
"""Whole runs that a sink of type `delta` appends to a table of somebody else's lake."""

GENERATIONS = Table("generations", {"layer": "string", "generation": "string", "rules_hash": "string"})
"""One row beside the generations of silver or gold: the one that readers and the next run use. A commit switches it."""

BUILDING = Table("building", GENERATIONS.columns)
"""One row beside it: the generation that was begun last, for a run that goes on where one was cut off."""
