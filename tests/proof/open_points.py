"""The violations that are still open, as listed in `open.toml`."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class OpenKind:
    """An operator that makes answers to a question safer.

    rules: the rules of the specification that will fix this.
    """

    operator: str
    question: str
    rules: tuple[int, ...]

    @property
    def pair(self) -> tuple[str, str]:
        return self.operator, self.question


def open_cases() -> frozenset[str]:
    return frozenset(_told()["cases"])


def open_kinds() -> list[OpenKind]:
    return [
        OpenKind(each["operator"], question, tuple(each["rules"]))
        for each in _told()["kind"]
        for question in each["questions"]
    ]


def open_pairs() -> frozenset[tuple[str, str]]:
    return frozenset(kind.pair for kind in open_kinds())


@cache
def _told() -> dict[str, Any]:
    return tomllib.loads((Path(__file__).parent / "open.toml").read_text("utf-8"))
