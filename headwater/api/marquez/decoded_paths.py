"""Addresses of Marquez's API whose names a proxy has decoded, so that slashes stand in them as they are."""

import re

Pieces = tuple[str, ...]
"""A route cut at its names: what stands before the first, its name, what stands between, and so on."""


def pieces_of(route: str) -> Pieces:
    """Cut a route such as `namespaces/{namespace}/jobs/{job}`."""
    return tuple(re.split(r"\{(\w+)\}", route))


def names_in(path: str, pieces: Pieces) -> dict[str, str] | None:
    """Return the names in a path, None where it is none of this route; of several ways the first names are longest.

    From the end on, one search for each name: a pattern of four `.+` takes minutes for 60 KB of `/datasets//fields/`.
    """
    first, *middle = pieces
    if not middle:
        return {} if path == first else None
    end = middle.pop()
    if not path.startswith(first) or not path.endswith(end) or len(path) <= len(first) + len(end):
        return None
    rest, found = path[len(first) : len(path) - len(end)], {}
    while len(middle) > 1:
        name, before = middle.pop(), middle.pop()
        at = rest.rfind(before, 1, len(rest) - 1)
        if at < 0:
            return None
        rest, found[name] = rest[:at], rest[at + len(before) :]
    return {middle[0]: rest, **found}
