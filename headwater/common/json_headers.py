"""HTTP headers of JSON responses."""

ANSWER_HEADERS = {"x-content-type-options": "nosniff", "cache-control": "no-store"}
"""Headers that prevent caching and content sniffing."""
