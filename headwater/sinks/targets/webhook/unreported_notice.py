"""Notices about jobs or runs that a comparison found to be unreported."""

from collections import Counter
from typing import Any

from headwater.events.decode import decode
from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.sinks.contract.sink_shape import SinkEvent

_SHOWN = 20
_TOLD = ("kind", "name", "time", "id", "run", "version", "reason", "advice")


def is_comparison(event: SinkEvent) -> bool:
    """Return whether an event comes from `headwater reconcile --save`."""
    head = event.head
    return head.kind == "JOB" and head.job_namespace == NAMESPACE and (head.job_name or "").startswith(PREFIX)


def unreported_data(event: SinkEvent) -> dict[str, Any] | None:
    """Return the content of a notice, None if the comparison found nothing: counts by kind and the newest findings."""
    try:
        facet = decode(event.body)["job"]["facets"][FACET]
        found = [{name: each.get(name) for name in _TOLD} for each in facet["findings"]]
        if not found:
            return None
        kinds = Counter(each["kind"] for each in found)
        summary = {name: facet[name] for name in ("since", "until", "total")}
    except (KeyError, TypeError, AttributeError):
        return None  # a job of another producer with the same name
    return {
        "comparison": str(event.head.job_name).removeprefix(PREFIX),
        **summary,
        "kinds": kinds,
        "findings": found[-_SHOWN:],
    }


def unreported_key(data: dict[str, Any]) -> str:
    """Return a key that is equal for equal findings, so that repeated findings repeat the notice's id."""
    found = sorted(str([each[name] for name in ("kind", "name", "id", "run", "version")]) for each in data["findings"])
    return f"{data['comparison']} {data['total']} {found}"
