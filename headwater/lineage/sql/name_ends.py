"""Find datasets by the last parts of a name, in time that does not depend on the number of datasets."""

from typing import NamedTuple

Parts = tuple[str, ...]
"""The parts of a name, casefolded: `Lake.gold.db/Revenue` is (lake, gold, revenue)."""


class NameEnds:
    """A trie of names, which starts at their last part.

    Two names match if one of them ends with all parts of the other. Each node stores at most two indexes, because two
    matches are enough to recognise an ambiguous name.
    """

    def __init__(self) -> None:
        self._root = _Node({}, [], [])

    def add(self, parts: Parts, place: int) -> None:
        """Add a name of the dataset at an index. A name without parts matches no other name."""
        if not parts:
            return
        node = self._root
        for part in reversed(parts):
            node = node.longer.setdefault(part, _Node({}, [], []))
            _note(node.below, place)
        _note(node.here, place)

    def find(self, parts: Parts) -> tuple[int, ...]:
        """Return the indexes of the datasets with the longest common end: none, one, or two if it is ambiguous."""
        node, found = self._root, list[int]()
        for part in reversed(parts):
            longer = node.longer.get(part)
            if longer is None:
                return tuple(found)
            node = longer
            found = node.here or found
        return tuple(node.below)


class _Node(NamedTuple):
    """A common end of names.

    longer: nodes of longer ends; here: datasets with exactly this name; below: all datasets with this end.
    """

    longer: "dict[str, _Node]"
    here: list[int]
    below: list[int]


def _note(places: list[int], place: int) -> None:
    if len(places) < 2 and place not in places:
        places.append(place)
