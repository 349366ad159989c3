"""What comparisons of `headwater reconcile --save` found last, as metrics of `serve`."""

import time
from collections import Counter
from typing import get_args

from prometheus_client import Gauge

from headwater.events.times import parse_time
from headwater.lake.bronze_tables import Bronze
from headwater.paging import ListPage
from headwater.questions.answers.report_answers import FindingKind
from headwater.questions.saved_findings import saved_findings
from headwater.sinks.contract.guarding import one_line

FINDINGS = Gauge("headwater_findings", "What did not report, as the newest saved comparisons say.", ["kind"])
COMPARED = Gauge("headwater_comparison_seconds", "Time since the end of what a comparison looked at.", ["comparison"])

_EVERY_S = 60.0
"""Between two looks at the lake: scrapes come more often, comparisons seldom."""


class FindingMeter:
    """Looks at the lake, which nobody else may do meanwhile."""

    def __init__(self, bronze: Bronze) -> None:
        """Open nothing."""
        self._bronze = bronze
        self._looked = float("-inf")
        self._until_us: dict[str, int] = {}

    def measure(self) -> None:
        """Take the metrics over; raises LakeUnavailable."""
        if time.monotonic() >= self._looked + _EVERY_S:
            self._look()
            self._looked = time.monotonic()
        for name, until_us in self._until_us.items():
            COMPARED.labels(name).set(max(0.0, time.time() - until_us / 1e6))

    def _look(self) -> None:
        """Where something was compared, each kind is counted: of one that is found no more 0 is told."""
        found = saved_findings(self._bronze, ListPage(limit=0)).comparisons
        FINDINGS.clear()
        COMPARED.clear()
        self._until_us = {one_line(each.name): parse_time(each.until)[0] or 0 for each in found}
        kinds = sum((Counter(each.kinds) for each in found), Counter[str]())
        for kind in get_args(FindingKind) if found else ():
            FINDINGS.labels(kind).set(kinds[kind])
