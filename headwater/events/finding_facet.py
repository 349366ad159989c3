"""How findings of `headwater reconcile` travel: a JobEvent of a job of ours, and runs of it for what commits prove."""

FACET = "headwater_reconciliation"
"""since, until, total, kinds, findings."""

COMMITS = "headwater_commits"
"""The facet of a run of that job: `commits`, each with `run`, `namespace`, `name`, `proves` and `version`."""

NAMESPACE, PREFIX = "headwater", "reconcile/"
"""Of the job; behind the prefix stands what the comparison is called."""
