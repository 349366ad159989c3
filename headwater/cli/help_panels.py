"""The groups of commands in `headwater --help`, and their order."""

from collections.abc import Mapping, Sequence

PANELS: Mapping[str, Sequence[str]] = {
    "Start here": ("demo", "up", "connect", "show", "doctor"),
    "Ask": (
        "impact", "upstream", "path", "surface", "unused", "search", "names", "datasets", "jobs", "runs", "run",
        "run-details", "hierarchy", "readers", "incidents", "volume", "health", "changes", "diff", "timeline", "edge",
        "job-graph", "facets", "watch", "mcp",
    ),
    "Operate": (
        "send", "ingest", "validate", "replay", "sinks", "events", "rejected", "refused", "audit", "freshness", "check",
        "log", "backup", "restore", "spark", "fabric", "completion",
    ),
    "Govern": (
        "plan", "contract", "contracts", "declare", "reconcile", "unreported", "coverage", "rules", "keys", "admin-log",
        "forget",
    ),
}  # fmt: skip
"""The commands of each panel. Commands that installed packages add are questions, and follow at the end of `Ask`."""

_OTHER = "Ask"
_PLACES = {name: (panel, place) for panel, names in PANELS.items() for place, name in enumerate(names)}


def panel_of(command: str) -> str:
    """Return the panel of a command."""
    return _PLACES.get(command, (_OTHER, 0))[0]


def help_order(command: str) -> tuple[int, int]:
    """Return the sort key of a command in `--help`."""
    panel, place = _PLACES.get(command, (_OTHER, len(_PLACES)))
    return [*PANELS].index(panel), place
