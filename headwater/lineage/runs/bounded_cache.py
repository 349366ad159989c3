"""A cache bounded by the number of edges in its values, because facets differ in size by a factor of thousands.

All caches of recurring values use it, except those with texts of facets as keys (`Memo`).
"""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MAX_EDGES = 500_000
"""The maximum number of edges in one cache, about 50 MB."""


class BoundedCache(dict[K, V]):
    """A cache that is cleared when its values have too many edges in total."""

    def __init__(self) -> None:
        super().__init__()
        self._weight = 0

    def put(self, key: K, value: V, edge_count: int) -> V:
        """Store a value with this number of edges, and return it."""
        if self._weight > MAX_EDGES:
            self.clear()
        self._weight += edge_count + 10
        self[key] = value
        return value

    def clear(self) -> None:
        """Remove all values."""
        super().clear()
        self._weight = 0
