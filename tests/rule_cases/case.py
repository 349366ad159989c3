"""One story of events and the answers that docs/reference/lineage.md gives to it, each worked out by hand from the
text.

Columns are `dataset.column`. In a whole answer `?` in place of a value leaves open whether and as what it is there.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from headwater.lineage.traversal.impact import Mode
from tests.reference.world_events import Json


@dataclass(frozen=True)
class Ask:
    """A question and its whole answer."""

    kind: str
    about: str
    expected: Any
    mode: Mode = "value"
    strict: bool = False
    view: str = "current"

    @property
    def tag(self) -> str:
        """Return the tag that the question is about, nothing where it is about a column."""
        return self.about[1:] if self.about.startswith("#") else ""


@dataclass(frozen=True)
class Case:
    """`doubt`: the text is silent, open or unsafe here, and the expectation is what is safest for the user."""

    name: str
    events: tuple[Json, ...]
    asks: tuple[Ask, ...]
    doubt: str = ""
    as_of: float | None = None


def case(name: str, events: Iterable[Json], *asks: Ask, doubt: str = "", as_of: float | None = None) -> Case:
    return Case(name, tuple(events), asks, doubt, as_of)


def surface(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask for the exposure behind a column, by its name and by a tag on it; `#tag`: behind a tag of the story."""
    return Ask("surface", about, dict(expected))


def exposed(about: str, *columns: str) -> Ask:
    """Ask for a surface that is exposed all over."""
    return surface(about, dict.fromkeys(columns, "exposed"))


def tagged(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask for the exposure of the columns that have a tag (`#tag`) of the story themselves."""
    return Ask("tagged", about, dict(expected))


def tagged_until(about: str, expected: Mapping[str, float]) -> Ask:
    """Ask until which second masked columns that have a tag themselves were written in the clear."""
    return Ask("tagged_until", about, dict(expected))


def until(about: str, expected: Mapping[str, float]) -> Ask:
    """Ask until which second columns were written in the clear."""
    return Ask("until", about, dict(expected))


def unused(about: str, expected: Mapping[str, str], *, strict: bool = False) -> Ask:
    """Ask for verdicts on a dataset: `used`, `unused`, `unknown: REASON`.

    Reasons: nested, opaque, unaccounted, no transformations, never read, shown.
    """
    return Ask("unused", about, dict(expected), strict=strict)


def impact(about: str, expected: Mapping[str, str], mode: Mode = "value") -> Ask:
    """Ask what a column reaches: its distance, then ` masked`, ` before` (read before re-creation)."""
    return Ask("impact", about, dict(expected), mode)


def upstream(about: str, expected: Mapping[str, str], mode: Mode = "value") -> Ask:
    return Ask("upstream", about, dict(expected), mode)


def stops(about: str, *datasets: str) -> Ask:
    """Ask for the stops of impact."""
    return Ask("stops", about, set(datasets))


def links(about: str, *expected: str) -> Ask:
    """Ask what may be connected with a dataset: `> b by load` is written by, `< a by show` read by such a job."""
    return Ask("links", about, set(expected))


def spelt(about: str, expected: Mapping[str, str]) -> Ask:
    """Ask how answers spell columns of a dataset, by their keys."""
    return Ask("spelt", about, dict(expected))


def dropped(*datasets: str) -> Ask:
    return Ask("dropped", "", set(datasets))


def edges(*expected: str) -> Ask:
    """Ask for all edges that ever were: `a.x > b@3.x`, behind it ` masked`, ` indirect`; `b@3`: what run 3 began."""
    return Ask("edges", "", set(expected), view="all")
