"""Parse the parameters of requests as Marquez does, and define its error responses."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from zoneinfo import ZoneInfo

from starlette.datastructures import QueryParams

from headwater.common.errors import GiveUp, WrongQuestion
from headwater.common.nearest_names import NEAREST
from headwater.index.reading.catalog import Catalog, JobRow
from headwater.index.stored.database import DATASET
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.runs.jobs import JobLevel
from headwater.lineage.snapshots.as_of import AsOf, View
from headwater.questions.declaring import parse_as
from headwater.questions.moments import moment_us
from headwater.questions.parameters import Granularity as GranularityWord
from headwater.questions.parameters import View as ViewWord
from headwater.questions.subjects import Subject, candidate_names

MAX_LIMIT = 1_000
"""Maximum number of items on a page. A longer list is cut and has the member `truncated`."""

MAX_DEPTH = 1_000

_MAX_DOTS = 32
"""Maximum number of dots in a job name, counted from the end, at which to try splitting off the name of a parent."""

Answer = dict[str, Any]


class MarquezError(GiveUp):
    """An error response in Marquez's form."""

    def __init__(self, status: int, body: Answer) -> None:
        super().__init__(str(body))
        self.status = status
        self.body = body


class MarquezNotFound(MarquezError):
    """A name is unknown (404)."""

    def __init__(self, message: str) -> None:
        super().__init__(404, {"code": 404, "message": message})

    def __str__(self) -> str:
        return str(self.body["message"])


class ReopenAsOf(Exception):
    """Raised if the answer needs the view of another time than the opened view."""

    def __init__(self, as_of_us: int) -> None:
        super().__init__(as_of_us)
        self.as_of_us = as_of_us


def not_found_error(what: str, name: str) -> MarquezNotFound:
    """Return Marquez's error for an unknown object."""
    return MarquezNotFound(f"{what} '{name}' not found.")


def page_not_found_error() -> MarquezError:
    """Return Marquez's error for an unknown path or an invalid node id."""
    return MarquezError(404, {"code": 404, "message": "HTTP 404 Not Found"})


def wrong_type_error(parameter: str, form: str) -> MarquezError:
    """Return Marquez's error for a parameter of the wrong type."""
    return MarquezError(400, {"code": 400, "message": f"query param {parameter} is not {form}."})


def invalid_parameter_error(parameter: str, reason: str) -> MarquezError:
    """Return Marquez's error for a parameter that violates a constraint."""
    return MarquezError(400, {"errors": [f"query param {parameter} {reason}"]})


class ListRange(NamedTuple):
    """The requested part of a list, by `limit` and `offset`."""

    limit: int
    offset: int

    def list_answer(self, name: str, items: Sequence[Any], total: int) -> Answer:
        """Return an answer with a page of a list. name: member for the items; total: length of the whole list."""
        return {name: items, "totalCount": total, "truncated": total > self.offset + len(items)}


class RequestContext(NamedTuple):
    """A request with the view and catalog to answer from. path: path parameters; body: body of a change."""

    path: Mapping[str, str]
    query: QueryParams
    view: View
    catalog: Catalog
    body: bytes = b""

    @property
    def is_now(self) -> bool:
        """Whether the request asks about the present and not about an earlier event time."""
        return self.catalog.is_now

    def list_range(self, limit: int = 100) -> ListRange:
        """Return the requested part of a list. limit: the default limit."""
        return ListRange(
            min(MAX_LIMIT, parse_number(self.query, "limit", limit)), parse_number(self.query, "offset", 0)
        )

    def depth(self) -> int:
        """Return the requested depth of lineage."""
        return min(MAX_DEPTH, parse_number(self.query, "depth", 20))

    def namespace(self) -> str:
        """Return the namespace in the path, in any spelling. Raises MarquezError if it is unknown."""
        context = self.path["namespace"]
        for name in (context, self.view.rules.names.canonical(context, "x").namespace):
            if self.catalog.lists.namespace(name):
                return name
        raise not_found_error("Namespace", context)

    def find_dataset(self, namespace: str, name: str, *, whole: bool = False) -> Name | None:
        """Return the dataset with a name or alias; None if there is none.

        whole: whether to require the whole name and not accept its end. Set it for requests that change the dataset.
        """
        found = self.view.snapshot.resolve(self.view.rules.names.canonical(namespace, name))
        if self.view.snapshot.has_lineage_or_schema(found) or self.catalog.usage_span(DATASET, self.names_of(found)):
            return found
        return self._dataset_by_display_name(namespace, name, whole=whole)

    def _dataset_by_display_name(self, namespace: str, name: str, *, whole: bool) -> Name | None:
        """Return the dataset in a namespace with a display name, or with a two-part name as in Spark SQL.

        A name of one part never matches the end of a longer name, because clients ask for a name to test whether it is
        free.
        """
        rules = self.view.rules.names
        names = self.view.snapshot.display_names(rules)
        spaces = frozenset((namespace, rules.canonical(namespace, name).namespace))
        named = (self.view.snapshot.resolve(each) for each in candidate_names(rules, Subject(None, name)))
        for called in (*named, names.find_unique_dataset(name)):
            if called is not None and called.namespace in spaces and self.view.snapshot.has_lineage_or_schema(called):
                return called
        if whole or ("." not in name and "/" not in name):
            return None
        meant = names.find_by_suffix(name, spaces)
        found = sorted(meant.by_canonical_name or meant.by_alias or meant.ignoring_case)
        if len(found) > 1:
            shown = ", ".join(map(names.name_in_messages, found[:NEAREST]))
            message = f"'{name}' matches {len(found)} datasets: {shown}. Use a longer name."
            raise MarquezError(400, {"code": 400, "message": message})
        return found[0] if found else None

    def find_job(self, namespace: str, name: str) -> JobRow | None:
        """Return a job by its name, or by Marquez's name for a child job, `PARENT.JOB`; None if there is none."""
        found, pieces = self.catalog.find_job(Name(namespace, name)), name.split(".")
        places = range(len(pieces) - 1, max(0, len(pieces) - _MAX_DOTS), -1) if found is None else ()
        below = (self.catalog.find_job(Name(namespace, ".".join(pieces[at:]))) for at in places)
        return found or next((row for row in below if row and self.catalog.name_with_ancestors(row) == name), None)

    def dataset(self, *, whole: bool = False) -> Name:
        """Return the dataset in the path. Raises MarquezError if it is unknown. whole: see `find_dataset`."""
        found = self.find_dataset(self.path["namespace"], self.path["dataset"], whole=whole)
        if found is None:
            self.namespace()
            raise not_found_error("Dataset", self.path["dataset"])
        return found

    def names_of(self, dataset: Name) -> set[Name]:
        """Return all names of a dataset."""
        return self.catalog.live.naming.names_of(dataset)


def parse_number(query: Mapping[str, str], name: str, default: int) -> int:
    """Parse a number that is not negative."""
    text = query.get(name)
    if not text:
        return default
    digits = text[1:] if text[0] in "+-" else text
    if not digits.isascii() or not digits.isdigit():
        raise wrong_type_error(name, "a number")
    if text[0] == "-" and digits.strip("0"):
        raise invalid_parameter_error(name, "must be greater than or equal to 0")
    return int(digits) if len(digits) < 10 else 1 << 31


def parse_flag(query: Mapping[str, str], name: str) -> bool:
    """Parse a boolean. As in Marquez, every value except `true` is false."""
    return query.get(name, "").lower() == "true"


def parse_time_us(query: Mapping[str, str], name: str) -> int | None:
    """Parse a time (us, UTC). A time without a zone is in UTC. None if the parameter is missing."""
    text = query.get(name)
    if not text:
        return None
    try:
        return moment_us(name, text)
    except WrongQuestion as error:
        raise MarquezError(400, {"code": 400, "message": str(error)}) from error


def parse_time_zone(query: Mapping[str, str]) -> ZoneInfo:
    """Parse a time zone, by its name in the IANA database."""
    text = query.get("timezone", "")
    try:
        return ZoneInfo(text or "UTC")
    except (ValueError, OSError) as error:  # ZoneInfoNotFoundError is a KeyError
        raise _unknown_zone_error(text) from error
    except KeyError as error:
        raise _unknown_zone_error(text) from error


def _unknown_zone_error(text: str) -> MarquezError:
    return MarquezError(
        400, {"code": 400, "message": f"timezone={text[:40]!r} is not a time zone. Write it like Europe/Oslo."}
    )


def required_parameter(query: Mapping[str, str], name: str) -> str:
    """Return a required parameter."""
    text = query.get(name)
    if not text:
        raise invalid_parameter_error(name, "must not be null")
    return text


def parse_granularity(query: Mapping[str, str]) -> JobLevel:
    """Parse `granularity`, which is our extension of Marquez's API. By default, jobs are not folded."""
    try:
        return cast("JobLevel", parse_as(GranularityWord, "granularity", query.get("granularity")) or "statement")
    except WrongQuestion as error:
        raise MarquezError(400, {"code": 400, "message": str(error)}) from error


def parse_as_of(query: Mapping[str, str]) -> AsOf:
    """Parse the time parameters `asOf`, `knownAt`, `seenSince` and `view`."""
    try:
        every = parse_as(ViewWord, "view", query.get("view")) == "all"
    except WrongQuestion as error:
        raise MarquezError(400, {"code": 400, "message": str(error)}) from error
    return AsOf(parse_time_us(query, "asOf"), parse_time_us(query, "knownAt"), parse_time_us(query, "seenSince"), every)
