"""Find datasets by the end of a name, in a number of steps that does not depend on how many datasets there are."""

from typing import NamedTuple

Parts = tuple[str, ...]
"""A name by its parts, casefolded: `Lake.gold.db/Revenue` is (lake, gold, revenue)."""


class NameEnds:
    """A tree of names, read from their last part.

    Two names match if one of them ends with all parts of the other. Each node holds at most two places, because two
    are enough to tell that a name is ambiguous.
    """

    def __init__(self) -> None:
        self._root = _Node({}, [], [])

    def add(self, parts: Parts, place: int) -> None:
        """Add a name of the dataset at a place; a name without parts matches nothing."""
        if not parts:
            return
        node = self._root
        for part in reversed(parts):
            node = node.longer.setdefault(part, _Node({}, [], []))
            _note(node.below, place)
        _note(node.here, place)

    def find(self, parts: Parts) -> tuple[int, ...]:
        """Return the places whose names share the longest end with this one: none, one, or two if it is ambiguous."""
        node, found = self._root, list[int]()
        for part in reversed(parts):
            longer = node.longer.get(part)
            if longer is None:
                return tuple(found)
            node = longer
            found = node.here or found
        return tuple(node.below)


class _Node(NamedTuple):
    """An end of names: longer ones, the places with exactly this name, the places of all names that end so."""

    longer: "dict[str, _Node]"
    here: list[int]
    below: list[int]


def _note(places: list[int], place: int) -> None:
    if len(places) < 2 and place not in places:
        places.append(place)
