"""Tables outside the layers: sinks, administrative changes, and the generations of each layer."""

from headwater.tables.shape import POSITION, ListOf, StructOf, Table

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
"""Events that a sink could not deliver. Commits to this table record the position of each sink as a transaction."""

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
"""Administrative changes (keys, tags, deletions, redrives, retries), each with its actor. Contains no secrets."""

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
"""Whole runs that a sink of type `delta` appends to a table outside this lake, one row per run."""

GENERATIONS = Table("generations", {"layer": "string", "generation": "string", "rules_hash": "string"})
"""One row per layer: the generation that readers and the next pass use. One commit switches to a new generation."""

BUILDING = Table("building", GENERATIONS.columns)
"""One row per layer: the generation that a pass started to build last. The next pass continues an interrupted build."""
