"""What does not hold yet, as `open.toml` lists it."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpenKind:
    """An operator that makes answers of a question safer.

    world: the number of a world in which it does; rules: those of the specification that will close it; judges: who
    answers so there.
    """

    operator: str
    question: str
    world: int
    rules: tuple[int, ...]
    judges: tuple[str, ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.operator, self.question


def open_cases() -> frozenset[str]:
    return frozenset(_told()["cases"])


def open_kinds() -> list[OpenKind]:
    return [
        OpenKind(
            each["operator"],
            each["question"],
            each["world"],
            tuple(each["rules"]),
            tuple(each.get("judges", ("reference", "memory"))),
        )
        for each in _told()["kind"]
    ]


def open_pairs() -> frozenset[tuple[str, str]]:
    return frozenset(kind.pair for kind in open_kinds())


@cache
def _told() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "open.toml").read_text("utf-8"))
