"""Formats times and texts as SQL literals."""

from datetime import UTC, date, datetime


def quoted(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"


def day_of(time_us: int) -> date:
    """Return the day (UTC) of a time, as in bronze's partitions."""
    return datetime.fromtimestamp(time_us / 1e6, UTC).date()
