"""A measured figure with its goal and its floor, and the table of figures."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

ROUNDS = 5
QUICK_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value. `goal` and `floor` have the unit of `value`; `cpu_us` is CPU time per event in microseconds."""

    name: str
    value: float
    unit: str
    goal: float | None = None
    sense: Literal["<=", ">="] = "<="
    floor: float | None = None
    ratio: float | None = None
    cpu_us: float | None = None

    @property
    def verdict(self) -> str:
        """Return "met" or "MISSED", or an empty string if the figure has no goal."""
        if self.goal is None:
            return ""
        met = self.value <= self.goal if self.sense == "<=" else self.value >= self.goal
        return "met" if met else "MISSED"


def middle(values: Sequence[float]) -> float:
    """Return the median, which ignores single rounds that other work on the machine disturbs."""
    return float(median(values))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that `share` of the values are below."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def show(title: str, figures: Sequence[Figure]) -> None:
    """Print the figures as a table."""
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("figure", overflow="fold")
    for name in ("value", "unit", "goal", "", "floor", "ratio", "CPU us/event"):
        table.add_column(name, justify="right", no_wrap=True)
    for figure in figures:
        goal = "" if figure.goal is None else f"{figure.sense} {_number(figure.goal)}"
        table.add_row(
            figure.name, _number(figure.value), figure.unit, goal, figure.verdict,
            _number(figure.floor), _number(figure.ratio), _number(figure.cpu_us),
        )  # fmt: skip
    Console(width=120).print(table)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.2f}" if abs(value) < 10 else f"{value:.1f}"
