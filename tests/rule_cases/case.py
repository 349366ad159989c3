"""A list of events and its answers by docs/reference/lineage.md, each derived by hand from the text.

Columns are `dataset.column`. In a complete answer, the value `?` accepts any value or no entry at all.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.lineage.traversal.impact import Mode
from tests.reference.world_events import Json


@dataclass(frozen=True)
class Ask:
    """A question and its complete answer."""

    kind: str
    about: str
    expected: Any
    mode: Mode = "value"
    strict: bool = False
    view: str = "current"

    @property
    def tag(self) -> str:
        """The tag of the question, or an empty string for a question about a column."""
        return self.about[1:] if self.about.startswith("#") else ""


@dataclass(frozen=True)
class Case:
    """A list of events with its questions.

    doubt: the specification is silent, open or unsafe here, and the expected answer is the safest for the user.
    """

    name: str
    events: tuple[Json, ...]
    asks: tuple[Ask, ...]
    doubt: str = ""
    as_of: float | None = None


def case(name: str, events: Iterable[Json], *asks: Ask, doubt: str = "", as_of: float | None = None) -> Case:
    return Case(name, tuple(events), asks, doubt, as_of)


def surface(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask for the exposure downstream of a column, by its name and by a tag on it, or of a tag (`#tag`)."""
    return Ask("surface", about, dict(expected))


def exposed(about: str, *columns: str) -> Ask:
    """Ask for a surface on which every column is exposed."""
    return surface(about, dict.fromkeys(columns, "exposed"))


def tagged(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask for the exposure of the columns that have the tag themselves (`#tag`)."""
    return Ask("tagged", about, dict(expected))


def tagged_until(about: str, expected: Mapping[str, float]) -> Ask:
    """Ask for the last second at which masked columns with the tag themselves were written in the clear."""
    return Ask("tagged_until", about, dict(expected))


def until(about: str, expected: Mapping[str, float]) -> Ask:
    """Ask for the last second at which columns were written in the clear."""
    return Ask("until", about, dict(expected))


def unused(about: str, expected: Mapping[str, str], *, strict: bool = False) -> Ask:
    """Ask for the verdicts on a dataset: `used`, `unused`, `unknown: REASON`.

    Reasons: nested, opaque, unaccounted, no transformations, never read, shown.
    """
    return Ask("unused", about, dict(expected), strict=strict)


def impact(about: str, expected: Mapping[str, str], mode: Mode = "value") -> Ask:
    """Ask for the columns that a column reaches: the distance, then ` masked`, ` before` (read before re-creation)."""
    return Ask("impact", about, dict(expected), mode)


def upstream(about: str, expected: Mapping[str, str], mode: Mode = "value") -> Ask:
    return Ask("upstream", about, dict(expected), mode)


def stops(about: str, *datasets: str) -> Ask:
    """Ask for the stops of impact."""
    return Ask("stops", about, set(datasets))


def links(about: str, *expected: str) -> Ask:
    """Ask for possible connections of a dataset.

    `> b by load`: the job load may write b from it. `< a by show`: it may be made from a, which the job show reads.
    """
    return Ask("links", about, set(expected))


def spelt(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask for the displayed spelling of a dataset's columns, given by key."""
    return Ask("spelt", about, dict(expected))


def dropped(*datasets: str) -> Ask:
    return Ask("dropped", "", set(datasets))


def edges(*expected: str) -> Ask:
    """Ask for all edges ever reported: `a.x > b@3.x`, followed by ` masked` or ` indirect`.

    `b@3` is the generation that run 3 started.
    """
    return Ask("edges", "", set(expected), view="all")
