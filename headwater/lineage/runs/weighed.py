"""What is remembered by its size in edges: facets of two columns and of ten thousand are not the same to memory.

The one way to remember what recurs and may be forgotten, where its keys are not texts of facets (`Memo`).
"""

from typing import TypeVar

K = TypeVar("K")
V = TypeVar("V")

MOST = 500_000
"""Edges that one memory holds, about 50 MB."""


class Weighed(dict[K, V]):
    """Remembers values until they weigh too much together, then begins anew."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        super().__init__()
        self._weight = 0

    def keep(self, key: K, value: V, edges: int) -> V:
        """Remember a value of so many edges; returns it."""
        if self._weight > MOST:
            self.clear()
        self._weight += edges + 10
        self[key] = value
        return value

    def clear(self) -> None:
        """Forget everything."""
        super().clear()
        self._weight = 0
