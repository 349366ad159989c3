"""A cache bounded by the number of edges in its values, because facets differ in size by a factor of thousands.

All caches of recurring values use it, except those with texts of facets as keys (`Memo`).
"""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 500_000
"""The maximum number of edges in one cache, about 50 MB."""


class BoundedCache(dict[K, V]):
    """A cache that is cleared when its values have too many edges in total."""

    def __init__(self) -> None:
        super().__init__()
        self._weight = 0

    def keep(self, key: K, value: V, edges: int) -> V:
        """Store a value with this number of edges, and return it."""
        if self._weight > MOST:
            self.clear()
        self._weight += edges + 10
        self[key] = value
        return value

    def clear(self) -> None:
        """Remove all values."""
        super().clear()
        self._weight = 0
