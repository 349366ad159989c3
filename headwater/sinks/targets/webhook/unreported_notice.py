"""What is told of a comparison that found somebody who did not report."""

from collections import Counter
from typing import Any

from headwater.events.decode import decode
from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.sinks.contract.sink_shape import SinkEvent

_SHOWN = 20
_TOLD = ("kind", "name", "time", "id", "run", "version", "reason", "advice")


def is_comparison(event: SinkEvent) -> bool:
    """Tell whether an event is of `headwater reconcile --save`."""
    head = event.head
    return head.kind == "JOB" and head.job_namespace == NAMESPACE and (head.job_name or "").startswith(PREFIX)


def unreported_data(event: SinkEvent) -> dict[str, Any] | None:
    """Return what a notice says of such an event, None where it found nothing: counts by kind, the newest findings."""
    try:
        facet = decode(event.body)["job"]["facets"][FACET]
        found = [{name: each.get(name) for name in _TOLD} for each in facet["findings"]]
        if not found:
            return None
        kinds = Counter(each["kind"] for each in found)
        said = {name: facet[name] for name in ("since", "until", "total")}
    except (KeyError, TypeError, AttributeError):
        return None  # somebody else's job of that name
    return {
        "comparison": str(event.head.job_name).removeprefix(PREFIX),
        **said,
        "kinds": kinds,
        "findings": found[-_SHOWN:],
    }


def unreported_about(data: dict[str, Any]) -> str:
    """Return what tells findings apart: the same ones once more are no news."""
    found = sorted(str([each[name] for name in ("kind", "name", "id", "run", "version")]) for each in data["findings"])
    return f"{data['comparison']} {data['total']} {found}"
