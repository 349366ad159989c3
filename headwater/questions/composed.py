"""Parameters that questions take together, over HTTP as in notebooks: which lineage, from where, between what."""

from typing import NamedTuple, NewType, get_args

from headwater.errors import WrongQuestion
from headwater.lineage.edges.origins import ORIGINS, Origin
from headwater.lineage.time.as_of import AsOf
from headwater.lineage.time.whole_rewrites import DAY_US
from headwater.lineage.walks.walk import Mode
from headwater.paging import ListPage
from headwater.questions import parameters as p
from headwater.questions.declaring import composed
from headwater.questions.subjects import Bounds, Subject


@composed
def as_of_from(
    *, view: p.View = "current", as_of: p.AsOf = None, known_at: p.KnownAt = None, seen_since: p.SeenSince = None,
    origins: p.Origins = None, window: p.Window = None,
) -> AsOf:  # fmt: skip
    """Return which lineage is looked at."""
    return AsOf(
        as_of, known_at, seen_since, view == "all", origins_of(origins), newest=view == "newest",
        window_us=None if window is None else window * DAY_US,
    )  # fmt: skip


def origins_of(text: str | None) -> frozenset[Origin]:
    """Return the origins that are asked for; raises WrongQuestion for one that is none."""
    asked = {each.strip() for each in (text or "").split(",") if each.strip()}
    for each in sorted(asked - ORIGINS):
        raise WrongQuestion(f"origins={each[:40]!r} is not known. Write observed, declared, inferred, or some of them.")
    return frozenset(each for each in get_args(Origin) if each in asked) or ORIGINS


class Walk(NamedTuple):
    """From where to walk, along what, how far, and what of it is shown."""

    asked: Subject
    mode: Mode
    bounds: Bounds
    roots: bool
    paths: bool


@composed
def walk_of(
    *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None, mode: p.Mode = "value",
    depth: p.Depth = p.MAX_DEPTH, limit: p.Limit = 1_000, roots: p.Roots = False, paths: p.Paths = False,
) -> Walk:  # fmt: skip
    """Return which walk is asked for."""
    return Walk(Subject(namespace, dataset, column), mode, Bounds(depth, limit), roots, paths)


class Ends(NamedTuple):
    """Both ends of a way."""

    start: Subject
    end: Subject


@composed
def ends_of(
    *, from_namespace: p.FromNamespace = None, from_dataset: p.FromDataset, from_column: p.FromColumn = None,
    to_namespace: p.ToNamespace = None, to_dataset: p.ToDataset, to_column: p.ToColumn = None,
) -> Ends:  # fmt: skip
    """Return between which columns or datasets."""
    return Ends(Subject(from_namespace, from_dataset, from_column), Subject(to_namespace, to_dataset, to_column))


@composed
class Between(NamedTuple):
    """Between which moments."""

    from_: p.FromMoment
    to: p.ToMoment = None


@composed
def list_page(
    text: p.Containing = None, sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Limit = 1_000
) -> ListPage:  # fmt: skip
    """Return which page of a list is asked for."""
    return ListPage(text, sort, cursor, limit)


NewestPage = NewType("NewestPage", ListPage)
"""A page of what may be large: events with their bodies."""


@composed
def newest_page(
    text: p.Containing = None, sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Listed = 100
) -> NewestPage:  # fmt: skip
    """Return the same of a list that is newest first."""
    return NewestPage(ListPage(text, sort, cursor, limit))


FoundPage = NewType("FoundPage", ListPage)
"""A page of what was searched for."""


@composed
def found_page(sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Found = 20) -> FoundPage:
    """Return the same of what was found."""
    return FoundPage(ListPage(None, sort, cursor, limit))
