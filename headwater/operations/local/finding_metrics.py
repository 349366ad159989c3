"""Export the newest findings of `headwater reconcile --save` as metrics of `serve`."""

import time
from collections import Counter
from typing import get_args

from prometheus_client import Gauge

from headwater.common.paging import ListPage
from headwater.events.times import parse_time
from headwater.lake.bronze_tables import Bronze
from headwater.questions.answers.report_answers import FindingKind
from headwater.questions.saved_findings import saved_findings
from headwater.sinks.contract.error_isolation import one_line

FINDINGS = Gauge("headwater_findings", "Missing reports in the newest saved comparisons.", ["kind"])
COMPARED = Gauge("headwater_comparison_seconds", "Time since the end of a comparison's range.", ["comparison"])

_EVERY_S = 60.0
"""Between two reads of the lake: scrapes are frequent, comparisons are rare."""


class FindingMeter:
    """Measures findings in the lake; the caller prevents concurrent use of the lake object."""

    def __init__(self, bronze: Bronze) -> None:
        self._bronze = bronze
        self._looked = float("-inf")
        self._until_us: dict[str, int] = {}

    def measure(self) -> None:
        """Update the metrics; raises LakeUnavailable."""
        if time.monotonic() >= self._looked + _EVERY_S:
            self._look()
            self._looked = time.monotonic()
        for name, until_us in self._until_us.items():
            COMPARED.labels(name).set(max(0.0, time.time() - until_us / 1e6))

    def _look(self) -> None:
        """Count each kind of finding; kinds that no longer occur are set to 0."""
        found = saved_findings(self._bronze, ListPage(limit=0)).comparisons
        FINDINGS.clear()
        COMPARED.clear()
        self._until_us = {one_line(each.name): parse_time(each.until)[0] or 0 for each in found}
        kinds = sum((Counter(each.kinds) for each in found), Counter[str]())
        for kind in get_args(FindingKind) if found else ():
            FINDINGS.labels(kind).set(kinds[kind])
