"""Findings as an event: they travel, and are stored once, like any other; the next one of that name replaces them."""

from collections import Counter
from collections.abc import Sequence

import msgspec

from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.events.times import iso
from headwater.questions.answers.report_answers import Finding
from headwater.reconcile.histories.history_entry import HistorySpan

PRODUCER = "urn:headwater:reconcile"
MOST = 1_000
"""Findings of an event, the newest; `total` says how many there are."""

_SPEC = "https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/"


def finding_event(name: str, found: Sequence[Finding], span: HistorySpan) -> bytes:
    """Return the JobEvent of a comparison, also of one that found nothing. found: oldest first."""
    facet = {
        "_producer": PRODUCER,
        "_schemaURL": f"{_SPEC}JobFacet",
        "since": iso(span.since_us),
        "until": iso(span.until_us),
        "total": len(found),
        "kinds": Counter(each.kind for each in found),
        "findings": found[-MOST:],
    }
    return msgspec.json.encode(
        {
            "eventTime": iso(span.until_us),
            "producer": PRODUCER,
            "schemaURL": f"{_SPEC}JobEvent",
            "job": {"namespace": NAMESPACE, "name": f"{PREFIX}{name}", "facets": {FACET: facet}},
        }
    )
