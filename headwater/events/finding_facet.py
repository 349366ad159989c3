"""Names in the events with the findings of `headwater reconcile`: a JobEvent of a Headwater job, and its runs."""

FACET = "headwater_reconciliation"
"""The job facet with the findings: `since`, `until`, `total`, `kinds`, `findings`."""

COMMITS = "headwater_commits"
"""The run facet with proven commits: `commits`, each with `run`, `namespace`, `name`, `proves` and `version`."""

NAMESPACE, PREFIX = "headwater", "reconcile/"
"""Namespace and name prefix of the job. The name of the comparison follows the prefix."""
