"""The tables of silver: facts derived from events, run by run, and the state for the next pass."""

from collections.abc import Mapping

from headwater.tables.shape import CHANGED, JOB, Table, Type

_DATASET: dict[str, Type] = {"dataset_namespace": "string", "dataset_name": "string", "generation": "string"}
"""Columns that identify a dataset.

generation: the run that ended the previous generation. It is empty for the first generation, and if no generation is
specified.
"""

RUNS = Table(
    "runs",
    {
        "run_key": "string",
        "kind": "string",
        "state": "string",
        "processing": "string",
        "sent_job_namespace": "string",
        "sent_job_name": "string",
        **JOB,
        "execution": "string",
        "parent_run": "string",
        "producer": "string",
        "started_at": "timestamp",
        "ended_at": "timestamp",
        "last_event_at": "timestamp",
        "last_received_at": "timestamp",
        "late_s": "long",
        "events": "long",
        "landed": "boolean",
        "nominal_at": "timestamp",
        **CHANGED,
        "said": "string",
        "parts": "string",
        "contents": "string",
    },
)

JOBS = Table(
    "jobs",
    {**JOB, "processing": "string", "producer": "string", "first_seen_at": "timestamp", "last_seen_at": "timestamp"}
    | {"last_run": "string", "last_state": "string", **CHANGED},
)

DATASETS = Table(
    "datasets",
    {
        **_DATASET,
        "schema_hash": "string",
        "columns": "string",
        "tags": "string",
        "spellings": "string",
        "ever_read": "boolean",
        "base_us": "long",
        **CHANGED,
    },
)

LATEST_FACETS = Table(
    "latest_facets",
    {
        "namespace": "string",
        "name": "string",
        **_DATASET,
        "facet": "string",
        "producer": "string",
        "credible": "boolean",
        "time_us": "long",
        "rank": "int",
        "event_id": "string",
        "place": "int",
        "content_hash": "string",
        "twins": "boolean",
        "value": "string",
        **CHANGED,
    },
)

BINDINGS = Table(
    "bindings",
    {
        "kind": "string",
        "namespace": "string",
        "name": "string",
        "to_namespace": "string",
        "to_name": "string",
        "time_us": "long",
        "run_key": "string",
        "ordinal": "int",
        **CHANGED,
    },
)

FIELDS = Table(
    "fields",
    {**_DATASET, "field": "string", "parent": "string", "ordinal": "int", "schema_hash": "string", **CHANGED},
)

RUN_DATASETS = Table(
    "run_datasets",
    {
        "run_key": "string",
        "role": "string",
        "namespace": "string",
        "name": "string",
        **_DATASET,
        "first_us": "long",
        "last_us": "long",
        **CHANGED,
    },
)

EDGE_SETS = Table(
    "edge_sets",
    {
        "group_key": "string",
        "output_key": "string",
        "run_key": "string",
        "execution": "string",
        "application": "string",
        "layer": "string",
        **JOB,
        **_DATASET,
        "time_us": "long",
        "tie": "string",
        "started_us": "long",
        "last_us": "long",
        "weight": "int",
        "origin": "string",
        "landed": "boolean",
        "rewrites": "boolean",
        "unless_parts": "boolean",
        "period_us": "long",
        "asks": "string",
        "kin": "string",
        "names": "string",
        **CHANGED,
        "content": "string",
    },
)

FACETS = Table(
    "facets",
    {
        "entity": "string",
        "namespace": "string",
        "name": "string",
        "facet": "string",
        "event_time": "timestamp",
        "event_order": "string",
        "value": "string",
        **CHANGED,
    },
    ("entity",),
)

POSITIONS = Table(
    "positions",
    {
        "log": "string",
        "incarnation": "string",
        "partition": "string",
        "sequence": "long",
        "state": "string",
        **CHANGED,
    },
)

EDGE_RUNS = Table(
    "edge_runs",
    {
        "group_key": "string",
        **JOB,
        "origin": "string",
        "target_namespace": "string",
        "target_dataset": "string",
        "target_generation": "string",
        "last_seen": "timestamp",
        "runs": "long",
        **CHANGED,
    },
)
"""Counts of runs that repeated the unchanged edges of a job into a dataset, since these edges were last written."""

FINDINGS = Table("findings", {"run_key": "string", "finding": "string"})
"""Findings about runs, from the newest comparisons that `headwater reconcile --save` stored."""

SCHEMA_SOURCES = Table("lenders", dict.fromkeys(("dataset_namespace", "dataset_name", "generation"), "string"))
"""Datasets whose schemas were applied to runs that report no schema for them."""

COMMIT_PROOFS = Table(
    "commit_proofs",
    {"run_id": "string", "dataset_namespace": "string", "dataset_name": "string", "is_whole": "boolean"},
)
"""Proofs from commits about how runs wrote datasets. Run ids are in lower case.

is_whole: whether the write replaced the whole dataset.
"""

STATE_PARTS: Mapping[str, Table] = {
    "vote": EDGE_SETS,
    "facet": LATEST_FACETS,
    "dataset": DATASETS,
    "job": JOBS,
    "newest_facet": FACETS,
    "binding": BINDINGS,
    "runs": EDGE_RUNS,
    "finding": FINDINGS,
    "lender": SCHEMA_SOURCES,
    "proof": COMMIT_PROOFS,
    "position": POSITIONS,
}
"""The tables whose rows a pass must know from earlier events, by their `part` in `state`.

The part `vote` contains the candidates that may still count.
"""

_DATASET_KEY = tuple(_DATASET)
STATE_KEYS: Mapping[str, tuple[str, ...]] = {
    "vote": ("group_key", "run_key"),
    "facet": ("namespace", "name", *_DATASET_KEY, "facet", "producer"),
    "dataset": _DATASET_KEY,
    "job": tuple(JOB),
    "newest_facet": ("entity", "namespace", "name", "facet"),
    "binding": tuple(name for name in BINDINGS.columns if name not in CHANGED),
    "runs": ("group_key",),
    "finding": ("run_key",),
    "lender": _DATASET_KEY,
    "proof": tuple(COMMIT_PROOFS.columns),
    "position": ("log", "incarnation", "partition"),
}
"""The key columns of each part of `state`."""

STATE = Table(
    "state",
    {
        "part": "string",
        **{name: kind for table in STATE_PARTS.values() for name, kind in table.columns.items()},
        "gone": "boolean",
    },
    ("part",),
)
"""The state for the next pass, append-only. For each key, the row with the highest `batch` applies.

gone: the row deletes its key.
"""

SILVER = (EDGE_SETS, RUNS, RUN_DATASETS, DATASETS, FIELDS, JOBS, FACETS, BINDINGS, STATE)
"""All tables of silver, in commit order. A batch commits `state` last, after gold, and is complete after that."""
