"""The question `unreported`: findings of the newest event of each `headwater reconcile --save` name."""

from collections import Counter
from typing import Any

import msgspec

from headwater.common.paging import ListPage, RowOrder
from headwater.events.decode import decode
from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.lake.bronze_tables import Bronze
from headwater.lake.reported_events import newest_job_bodies
from headwater.questions.answer_types.reports import Comparison, Finding, FindingKind, SavedFinding, Unreported


class _FindingFacet(msgspec.Struct):
    """The content of the facet with findings.

    kinds: counts of all findings by kind; facets of earlier releases do not have it.
    """

    since: str
    until: str
    total: int
    findings: list[Finding]
    kinds: dict[str, int] | None = None


_ORDER = RowOrder[SavedFinding](
    "unreported",
    {
        "time": lambda each: each.time, "kind": lambda each: each.kind, "name": lambda each: each.name,
        "comparison": lambda each: each.comparison, "reason": lambda each: each.reason,
    },
    "-time",
    lambda each: (each.name, each.comparison, msgspec.json.encode(each).decode()),
    ties=3,
)  # fmt: skip


def saved_findings(bronze: Bronze, page: ListPage, *, only: FindingKind | None = None) -> Unreported:
    """Return the current findings, newest first. only: list findings of this kind."""
    comparisons: list[Comparison] = []
    items: list[SavedFinding] = []
    for name, body in newest_job_bodies(bronze, NAMESPACE, PREFIX) if bronze.exists() else ():
        facet = _read_facet(decode(body.encode()))
        if facet:
            comparison = name.removeprefix(PREFIX)
            kinds = Counter[str](each.kind for each in facet.findings) if facet.kinds is None else facet.kinds
            comparisons.append(Comparison(comparison, facet.since, facet.until, facet.total, kinds))
            items += [SavedFinding(comparison=comparison, **msgspec.structs.asdict(each)) for each in facet.findings]
    result = _ORDER.page((each for each in items if only in (None, each.kind)), page)
    return Unreported(comparisons, result.rows, **result.info)


def _read_facet(event: Any) -> _FindingFacet | None:
    try:
        return msgspec.convert(event["job"]["facets"][FACET], _FindingFacet)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None  # another producer's job of that name
