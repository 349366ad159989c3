"""Match paths of Marquez's API whose names contain plain slashes, because a proxy decoded `%2F`."""

import re

Pieces = tuple[str, ...]
"""A route split at its parameters: literal, parameter name, literal, and so on."""


def split_route(route: str) -> Pieces:
    """Split a route such as `namespaces/{namespace}/jobs/{job}` at its parameters."""
    return tuple(re.split(r"\{(\w+)\}", route))


def match_path(path: str, pieces: Pieces) -> dict[str, str] | None:
    """Return the parameters of a path by name; None if the path does not match the route.

    If there are several matches, the first parameters are as long as possible. The function searches each literal once
    from the end: a regular expression with four `.+` takes minutes for 60 KB of `/datasets//fields/`.
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
