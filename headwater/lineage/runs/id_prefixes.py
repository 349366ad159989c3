"""Shortened run ids, as pages and narrow tables show them."""

SHORTEST = 4
"""The minimum length of a shortened id: a shorter one that is unique today may not be unique tomorrow."""


def beginning(run_id: str) -> tuple[str, bool]:
    """Return the shortened run id in a text, empty if it is too short, and whether the text marks it as shortened.

    A UUID may be shortened without a mark. Any other id counts as shortened only with `…` or `...` at its end, because
    `load-1` may be a complete id next to `load-10`.
    """
    text = run_id.strip().removesuffix("...").rstrip("…")
    is_cut = text != run_id.strip()
    return (text, is_cut) if len(text) >= SHORTEST else ("", is_cut)
