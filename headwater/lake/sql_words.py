"""What a query of the lake says of times and texts, as SQL writes it."""

from datetime import UTC, date, datetime


def quoted(text: str) -> str:
    """Return a text with its quotes."""
    return "'" + text.replace("'", "''") + "'"


def day_of(time_us: int) -> date:
    """Return the day (UTC) of a moment, as bronze's partitions go by it."""
    return datetime.fromtimestamp(time_us / 1e6, UTC).date()
