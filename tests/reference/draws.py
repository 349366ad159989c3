"""The source of random choices for generated events. The smallest number is the simplest choice, which
helps shrinking.
"""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Protocol, TypeVar

T = TypeVar("T")


class Draw(Protocol):
    @abstractmethod
    def number(self, low: int, high: int) -> int: ...

    def choice(self, options: Sequence[T]) -> T:
        return options[self.number(0, len(options) - 1)]

    def chance(self, percent: int) -> bool:
        return self.number(0, 99) >= 100 - percent
