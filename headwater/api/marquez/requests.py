"""What a request asks for: its parameters as Marquez reads them, what it sees, and Marquez's forms of refusing."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from zoneinfo import ZoneInfo

from starlette.datastructures import QueryParams

from headwater.errors import GiveUp, WrongQuestion
from headwater.index.reading.catalog import Catalog
from headwater.index.reading.catalog_lists import JobRow
from headwater.index.stored.catalog_tables import DATASET
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.job_hierarchy import Granularity
from headwater.lineage.time.as_of import AsOf, View
from headwater.nearest_names import NEAREST
from headwater.questions.declaring import read_as
from headwater.questions.moments import moment_us
from headwater.questions.parameters import Granularity as GranularityWord
from headwater.questions.parameters import View as ViewWord
from headwater.questions.subjects import Subject, whole_names

MAX_LIMIT = 1_000
"""Items of one page; an answer that was cut here says `truncated`."""

MAX_DEPTH = 1_000

_DOTS = 32
"""Dots from the end of a job's name on at which it may be a name below a parent's."""

Answer = dict[str, Any]


class Refused(GiveUp):
    """An answer that is no success, with Marquez's status and body."""

    def __init__(self, status: int, body: Answer) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


class Unknown(Refused):
    """Nothing of this name is known."""

    def __init__(self, message: str) -> None:
        super().__init__(404, {"code": 404, "message": message})

    def __str__(self) -> str:
        return str(self.body["message"])


class LookAgain(Exception):
    """The question is about another moment than the one that was opened for it."""

    def __init__(self, as_of_us: int) -> None:
        super().__init__(as_of_us)
        self.as_of_us = as_of_us


def not_found(what: str, name: str) -> Unknown:
    """Refuse what is not there, as Marquez does."""
    return Unknown(f"{what} '{name}' not found.")


def no_such_page() -> Refused:
    """Refuse an address, or the id of a node, that is none."""
    return Refused(404, {"code": 404, "message": "HTTP 404 Not Found"})


def wrong_type(parameter: str, form: str) -> Refused:
    """Refuse a parameter that is not of its type."""
    return Refused(400, {"code": 400, "message": f"query param {parameter} is not {form}."})


def invalid(parameter: str, why: str) -> Refused:
    """Refuse a parameter that breaks a rule."""
    return Refused(400, {"errors": [f"query param {parameter} {why}"]})


class Page(NamedTuple):
    """Which part of a list is asked for."""

    limit: int
    offset: int

    def listed(self, name: str, items: Sequence[Any], total: int) -> Answer:
        """Return a page of a list."""
        return {name: items, "totalCount": total, "truncated": total > self.offset + len(items)}


class Asked(NamedTuple):
    """A request and what it sees; path: the variable parts of its address; body: of a change."""

    path: Mapping[str, str]
    query: QueryParams
    view: View
    catalog: Catalog
    body: bytes = b""

    @property
    def is_now(self) -> bool:
        """Tell whether the question is about the present, as far as events' times go."""
        return self.catalog.is_now

    def page(self, limit: int = 100) -> Page:
        """Return which part of a list is asked for."""
        return Page(min(MAX_LIMIT, number(self.query, "limit", limit)), number(self.query, "offset", 0))

    def depth(self) -> int:
        """Return how far lineage is asked for."""
        return min(MAX_DEPTH, number(self.query, "depth", 20))

    def namespace(self) -> str:
        """Return the namespace of the address by any of its spellings; raises Refused if it is not known."""
        asked = self.path["namespace"]
        for name in (asked, self.view.rules.names.canonical(asked, "x").namespace):
            if self.catalog.lists.namespace(name):
                return name
        raise not_found("Namespace", asked)

    def find_dataset(self, namespace: str, name: str, *, whole: bool = False) -> Name | None:
        """Return the dataset that a name means, any alias will do; None if there is none.

        whole: accept no end of a name, because the request changes the dataset.
        """
        found = self.view.snapshot.resolve(self.view.rules.names.canonical(namespace, name))
        if self.view.snapshot.knows(found) or self.catalog.span(DATASET, self.names_of(found)):
            return found
        return self._by_display_name(namespace, name, whole=whole)

    def _by_display_name(self, namespace: str, name: str, *, whole: bool) -> Name | None:
        """Return the dataset of a namespace that has a display name, or that Spark SQL finds by a name of two parts.

        A name of one part is never the end of another: clients ask for it to see whether it is free.
        """
        rules = self.view.rules.names
        names = self.view.snapshot.display_names(rules)
        spaces = frozenset((namespace, rules.canonical(namespace, name).namespace))
        named = (self.view.snapshot.resolve(each) for each in whole_names(rules, Subject(None, name)))
        for called in (*named, names.called(name)):
            if called is not None and called.namespace in spaces and self.view.snapshot.knows(called):
                return called
        if whole or ("." not in name and "/" not in name):
            return None
        meant = names.ending(name, spaces)
        found = sorted(meant.own or meant.aliases or meant.in_any_case)
        if len(found) > 1:
            shown = ", ".join(map(names.shown, found[:NEAREST]))
            raise Refused(400, {"code": 400, "message": f"'{name}' may be {len(found)} datasets: {shown}."})
        return found[0] if found else None

    def find_job(self, namespace: str, name: str) -> JobRow | None:
        """Return a job by its name, or as Marquez names what has a parent: `PARENT.JOB`; None if there is none."""
        found, pieces = self.catalog.job(Name(namespace, name)), name.split(".")
        places = range(len(pieces) - 1, max(0, len(pieces) - _DOTS), -1) if found is None else ()
        below = (self.catalog.job(Name(namespace, ".".join(pieces[at:]))) for at in places)
        return found or next((row for row in below if row and self.catalog.with_parents(row) == name), None)

    def dataset(self, *, whole: bool = False) -> Name:
        """Return the dataset of the address; raises Refused if it is not known. whole: as for `find_dataset`."""
        found = self.find_dataset(self.path["namespace"], self.path["dataset"], whole=whole)
        if found is None:
            self.namespace()
            raise not_found("Dataset", self.path["dataset"])
        return found

    def names_of(self, dataset: Name) -> set[Name]:
        """Return every name that a dataset goes by."""
        return self.catalog.live.naming.names_of(dataset)


def number(query: Mapping[str, str], name: str, default: int) -> int:
    """Read a number that is not negative."""
    text = query.get(name)
    if not text:
        return default
    digits = text[1:] if text[0] in "+-" else text
    if not digits.isascii() or not digits.isdigit():
        raise wrong_type(name, "a number")
    if text[0] == "-" and digits.strip("0"):
        raise invalid(name, "must be greater than or equal to 0")
    return int(digits) if len(digits) < 10 else 1 << 31


def flag(query: Mapping[str, str], name: str) -> bool:
    """Read a truth value; whatever is not `true` is false, as in Marquez."""
    return query.get(name, "").lower() == "true"


def time_us(query: Mapping[str, str], name: str) -> int | None:
    """Read a time; UTC without a zone."""
    text = query.get(name)
    if not text:
        return None
    try:
        return moment_us(name, text)
    except WrongQuestion as error:
        raise Refused(400, {"code": 400, "message": str(error)}) from error


def zone(query: Mapping[str, str]) -> ZoneInfo:
    """Read a time zone by its name in the IANA database."""
    text = query.get("timezone", "")
    try:
        return ZoneInfo(text or "UTC")
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise _no_zone(text) from error
    except KeyError as error:
        raise _no_zone(text) from error


def _no_zone(text: str) -> Refused:
    return Refused(400, {"code": 400, "message": f"timezone={text[:40]!r} is no time zone. Write it like Europe/Oslo."})


def required(query: Mapping[str, str], name: str) -> str:
    """Read a parameter that must be there."""
    text = query.get(name)
    if not text:
        raise invalid(name, "must not be null")
    return text


def granularity_of(query: Mapping[str, str]) -> Granularity:
    """Read what jobs are folded into, which Marquez does not know; each stands for itself without it."""
    try:
        return cast("Granularity", read_as(GranularityWord, "granularity", query.get("granularity")) or "statement")
    except WrongQuestion as error:
        raise Refused(400, {"code": 400, "message": str(error)}) from error


def as_of(query: Mapping[str, str]) -> AsOf:
    """Read what is asked about time: `asOf`, `knownAt`, `seenSince`, `counted`."""
    try:
        every = read_as(ViewWord, "view", query.get("view")) == "all"
    except WrongQuestion as error:
        raise Refused(400, {"code": 400, "message": str(error)}) from error
    return AsOf(time_us(query, "asOf"), time_us(query, "knownAt"), time_us(query, "seenSince"), every)
