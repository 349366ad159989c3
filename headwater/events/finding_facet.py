"""Names in the events that report findings of `headwater reconcile`.

These are a JobEvent of a job in the namespace `headwater`, and events of the runs of this job.
"""

FACET = "headwater_reconciliation"
"""The job facet with the findings: `since`, `until`, `total`, `kinds`, `findings`."""

COMMITS = "headwater_commits"
"""The run facet with proven commits: `commits`, each with `run`, `namespace`, `name`, `proves` and `version`."""

NAMESPACE, PREFIX = "headwater", "reconcile/"
"""Namespace and name prefix of the job. The name of the comparison follows the prefix."""
