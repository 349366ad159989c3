"""Headers of each answer that is not a page."""

ANSWER_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
"""No browser takes the answer for another type, no cache stores it."""
