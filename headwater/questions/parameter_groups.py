"""Groups of parameters that several questions share, over HTTP and in notebooks."""

from typing import NamedTuple, NewType, get_args

from headwater.common.errors import WrongQuestion
from headwater.common.paging import ListPage
from headwater.lineage.edges.output_lineage import EDGE_ORIGINS, EdgeOrigin
from headwater.lineage.snapshots.as_of import AsOf
from headwater.lineage.snapshots.whole_rewrites import DAY_US
from headwater.lineage.traversal.impact import Mode
from headwater.questions import parameters as p
from headwater.questions.declaring import parameter_group
from headwater.questions.subjects import Bounds, Subject


@parameter_group
def read_as_of(
    *, view: p.View = "current", as_of: p.AsOf = None, known_at: p.KnownAt = None, seen_since: p.SeenSince = None,
    origins: p.Origins = None, window: p.Window = None,
) -> AsOf:  # fmt: skip
    """Return the view of lineage that the parameters select."""
    return AsOf(
        as_of, known_at, seen_since, view == "all", parse_origins(origins), only_newest=view == "newest",
        window_us=None if window is None else window * DAY_US,
    )  # fmt: skip


def parse_origins(text: str | None) -> frozenset[EdgeOrigin]:
    """Parse a list of origins, all if it is empty. Raises WrongQuestion for an unknown origin."""
    asked = {each.strip() for each in (text or "").split(",") if each.strip()}
    for each in sorted(asked - EDGE_ORIGINS):
        raise WrongQuestion(
            f"origins={each[:40]!r} is not a known origin. Use observed, declared or inferred, separated by commas."
        )
    return frozenset(each for each in get_args(EdgeOrigin) if each in asked) or EDGE_ORIGINS


class Walk(NamedTuple):
    """The parameters of `impact` and `upstream`: start, mode, bounds and what to return."""

    start: Subject
    mode: Mode
    bounds: Bounds
    roots: bool
    paths: bool


@parameter_group
def read_walk(
    *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None, mode: p.Mode = "value",
    depth: p.Depth = p.MAX_DEPTH, limit: p.Limit = 1_000, roots: p.Roots = False, paths: p.Paths = False,
) -> Walk:  # fmt: skip
    """Return the parameters of a walk."""
    return Walk(Subject(namespace, dataset, column), mode, Bounds(depth, limit), roots, paths)


class Ends(NamedTuple):
    """Both ends of a path."""

    start: Subject
    end: Subject


@parameter_group
def read_ends(
    *, from_namespace: p.FromNamespace = None, from_dataset: p.FromDataset, from_column: p.FromColumn = None,
    to_namespace: p.ToNamespace = None, to_dataset: p.ToDataset, to_column: p.ToColumn = None,
) -> Ends:  # fmt: skip
    """Return both ends of a path."""
    return Ends(Subject(from_namespace, from_dataset, from_column), Subject(to_namespace, to_dataset, to_column))


@parameter_group
class Between(NamedTuple):
    """The period between two moments."""

    from_: p.FromMoment
    to: p.ToMoment = None


@parameter_group
def list_page(
    text: p.Containing = None, sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Limit = 1_000
) -> ListPage:  # fmt: skip
    """Return the requested page of a list."""
    return ListPage(text, sort, cursor, limit)


NewestPage = NewType("NewestPage", ListPage)
"""A page of items that may be large, such as events with their bodies."""


@parameter_group
def newest_page(
    text: p.Containing = None, sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Listed = 100
) -> NewestPage:  # fmt: skip
    """Return the requested page of a list with large items, newest first."""
    return NewestPage(ListPage(text, sort, cursor, limit))


FoundPage = NewType("FoundPage", ListPage)
"""A page of search results."""


@parameter_group
def found_page(sort: p.Sort = None, cursor: p.Cursor = None, limit: p.Found = 20) -> FoundPage:
    """Return the requested page of search results."""
    return FoundPage(ListPage(None, sort, cursor, limit))
