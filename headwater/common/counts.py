"""Numbers with their nouns."""


def count_with_noun(count: int, noun: str) -> str:
    """Return a number with its noun: `1 event`, `2 events`."""
    return f"{count} {noun}{'' if count == 1 else 's'}"
