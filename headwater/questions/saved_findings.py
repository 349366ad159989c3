"""Who did not report, as `headwater reconcile --save` said last: of each name the newest event."""

from collections import Counter
from typing import Any

import msgspec

from headwater.events.decode import decode
from headwater.events.finding_facet import FACET, NAMESPACE, PREFIX
from headwater.lake.bronze_tables import Bronze
from headwater.lake.reported_events import newest_job_bodies
from headwater.paging import ListPage, RowOrder
from headwater.questions.answers.report_answers import Comparison, Finding, FindingKind, SavedFinding, Unreported


class _Said(msgspec.Struct):
    """What the facet says; kinds: of all findings, where an earlier release wrote it of those that it lists."""

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
    """Answer what stands, newest first; only: list findings of this kind."""
    comparisons: list[Comparison] = []
    items: list[SavedFinding] = []
    for name, body in newest_job_bodies(bronze, NAMESPACE, PREFIX) if bronze.exists() else ():
        said = _said(decode(body.encode()))
        if said:
            comparison = name.removeprefix(PREFIX)
            kinds = Counter[str](each.kind for each in said.findings) if said.kinds is None else said.kinds
            comparisons.append(Comparison(comparison, said.since, said.until, said.total, kinds))
            items += [SavedFinding(comparison=comparison, **msgspec.structs.asdict(each)) for each in said.findings]
    cut = _ORDER.cut((each for each in items if only in (None, each.kind)), page)
    return Unreported(comparisons, cut.rows, **cut.told)


def _said(event: Any) -> _Said | None:
    try:
        return msgspec.convert(event["job"]["facets"][FACET], _Said)
    except (KeyError, TypeError, msgspec.ValidationError):
        return None  # somebody else's job of that name
