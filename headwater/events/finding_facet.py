"""How findings of `headwater reconcile` travel: a JobEvent of a job of ours, with a facet."""

FACET = "headwater_reconciliation"
"""since, until, total, kinds, findings."""

NAMESPACE, PREFIX = "headwater", "reconcile/"
"""Of the job; behind the prefix stands what the comparison is called."""
