"""Build DataHub's `operation` aspect from what runs do to datasets, like its OpenLineage converter."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

from headwater.events.rule_facets import text_at
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.sent_facets import Facets
from headwater.sinks.merging.merged_event import MergedEvent, facet
from headwater.sinks.targets.datahub.aspects import Aspect, upsert

_KNOWN = frozenset({"ALTER", "CREATE", "DROP"})
"""Life cycle changes that DataHub's `OperationType` has by the same name; all others are CUSTOM."""


def operations(merged: MergedEvent, known: Mapping[Name, str], outputs: Collection[str]) -> Iterator[Aspect]:
    """Yield a complete run's operation on each output that reports one. known: URNs; outputs: URNs that count."""
    if merged.completed_us is None:
        return
    for name, facets in merged.outputs.items():
        operation = _operation(facets, merged.output_facets.get(name, {}), merged.completed_us // 1000)
        if operation and known[name] in outputs:
            yield upsert(known[name], "operation", operation)


def _operation(facets: Facets, of_run: Facets, time_ms: int) -> Aspect | None:
    change = text_at(facet(facets, "lifecycleStateChange"), "lifecycleStateChange")
    counted = facet(of_run, "outputStatistics")
    if not change and not counted:
        return None
    kind = change.upper() if change else "WRITE"
    found: Aspect = {
        "timestampMillis": time_ms,
        "lastUpdatedTimestamp": time_ms,
        "actor": "urn:li:corpuser:datahub",
        "operationType": kind if kind in _KNOWN else "CUSTOM",
    }
    if kind not in _KNOWN:
        found["customOperationType"] = kind
    if (rows := _number(counted.get("rowCount"))) is not None:
        found["numAffectedRows"] = rows
    statistics = {"numAffectedBytes": _number(counted.get("size")), "fileCount": _number(counted.get("fileCount"))}
    properties = ({"lifecycleStateChange": kind} if change else {}) | {
        key: str(value) for key, value in statistics.items() if value is not None
    }
    return found | ({"customProperties": properties} if properties else {})


def _number(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
