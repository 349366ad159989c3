"""Run ids of which only the beginning was copied, as pages and narrow tables show them."""

SHORTEST = 4
"""Fewer characters name no run: one that happens to be unique today is not tomorrow."""


def beginning(run_id: str) -> tuple[str, bool]:
    """Return the beginning that a text gives, empty if it is too short, and whether the text says that it was cut.

    A UUID may be shortened without a sign. Another id counts as cut only with `…` or `...` at its end, because `load-1`
    may be a whole id beside `load-10`.
    """
    text = run_id.strip().removesuffix("...").rstrip("…")
    is_cut = text != run_id.strip()
    return (text, is_cut) if len(text) >= SHORTEST else ("", is_cut)
