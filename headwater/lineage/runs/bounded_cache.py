"""A cache bounded by the number of edges in its values, because facets differ in size by a factor of thousands.

All caches of recurring values use `BoundedCache`, except for caches with texts of facets as keys, which use `Memo`.
"""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_EDGES = 500_000
"""The number of edges from which on a cache is cleared. The edges then use about 50 MB."""


class BoundedCache(dict[K, V]):
    """A cache that clears itself when its values together have more than `MAX_EDGES` edges."""

    def __init__(self) -> None:
        super().__init__()
        self._weight = 0

    def put(self, key: K, value: V, edge_count: int) -> V:
        """Store a value, and return the value. edge_count: the number of edges in the value."""
        if self._weight > MAX_EDGES:
            self.clear()
        self._weight += edge_count + 10
        self[key] = value
        return value

    def clear(self) -> None:
        """Remove all values."""
        super().clear()
        self._weight = 0
