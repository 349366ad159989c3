"""The questions about lineage: each is declared here, once, by what it is asked with and what it answers."""

from contextlib import suppress
from typing import NamedTuple, Protocol

from headwater.errors import NotKnown, WrongQuestion
from headwater.index.reading.index_search import Search
from headwater.index.reading.run_history import RunHistory
from headwater.index.reading.view_opener import RulesInForce, ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lineage.time.as_of import AsOf
from headwater.lineage.walks.walk import Mode
from headwater.questions import parameters as p
from headwater.questions.answers import column_answers, lineage_answers, list_answers, picture_answers
from headwater.questions.coverage import coverage as coverage_of
from headwater.questions.declaring import composed, question
from headwater.questions.differences import difference
from headwater.questions.exposure import Place, exposures, look_for
from headwater.questions.facet_values import newest_facets, sql_of_run
from headwater.questions.name_meaning import explain_name, rules_in_force
from headwater.questions.neighbourhood import PictureBounds, neighbourhood
from headwater.questions.reach import path as path_between
from headwater.questions.reach import reach
from headwater.questions.run_lineage import run_lineage
from headwater.questions.search_hits import found_by
from headwater.questions.subjects import Bounds, Subject
from headwater.questions.table_graph import table_graph
from headwater.questions.timeline import timeline as timeline_of
from headwater.questions.verdicts import verdicts
from headwater.questions.why import why

_SQL_SHOWN = 5
_EXPANDED = 200


class QuestionSources(Protocol):
    """What questions are asked of."""

    @property
    def open_views(self) -> ViewOpener:
        """Lineage."""

    def rules(self) -> RulesInForce:
        """Return the user's rules."""

    @property
    def search(self) -> Search:
        """Names."""

    @property
    def bronze(self) -> Bronze:
        """Events."""


@composed
def as_of_of(
    view: p.View = "current", as_of: p.AsOf = None, known_at: p.KnownAt = None, seen_since: p.SeenSince = None
) -> AsOf:
    """Return which lineage is looked at."""
    return AsOf(as_of, known_at, seen_since, view == "all")


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


@question("impact")
def impact(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """The columns that a column, or a whole dataset, ends up in."""
    with sources.open_views.look(as_of) as here:
        return reach(here.snapshot, here.rules.names, counted=here.counted, forward=True, **walk._asdict())


@question("upstream")
def upstream(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """The columns that a column, or a whole dataset, is made of."""
    with sources.open_views.look(as_of) as here:
        return reach(here.snapshot, here.rules.names, counted=here.counted, forward=False, **walk._asdict())


@question("path")
def path(sources: QuestionSources, *, ends: Ends, mode: p.Mode = "value", as_of: AsOf) -> lineage_answers.PathAnswer:
    """Whether one column reaches another, and how."""
    with sources.open_views.look(as_of) as here:
        return path_between(here.snapshot, here.rules.names, *ends, here.counted, mode=mode)


@question("edge", reads_lake=True)
def edge(sources: QuestionSources, *, ends: Ends, as_of: AsOf) -> lineage_answers.EdgeAnswer:
    """Why an edge is there."""
    with sources.open_views.look(as_of) as here:
        found = why(here.snapshot, here.rules.names, *ends, here.counted)
    for item in found.items[:_SQL_SHOWN]:
        item.sql = sql_of_run(sources.bronze, item.newest_run) if item.newest_run else None
    return found


@question("surface")
def surface(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, column: p.Column = None,
    tag: p.Tag = "pii", since: p.Since = None, exposure: p.Exposure = None, limit: p.Limit = 1_000, as_of: AsOf,
) -> column_answers.Surface:  # fmt: skip
    """Where tagged columns, or one column, end up: exposed, masked or unknown.

    With `since` only what was not exposed then and is now.
    """
    source = Subject(namespace, dataset, column) if dataset else None
    before: set[Place] | None = None
    if since is not None:
        with sources.open_views.look(as_of._replace(as_of_us=since)) as then, suppress(NotKnown):
            before = set()  # of a tag or a dataset that was not known then nothing was exposed
            before = look_for(then.snapshot, then.rules, then.counted, tag=tag, source=source).exposed(then.snapshot)
    with sources.open_views.look(as_of) as now:
        found = look_for(now.snapshot, now.rules, now.counted, tag=tag, source=source)
        return exposures(now.snapshot, found, tag=tag, limit=limit, but=before, only=exposure)


@question("unused")
def unused(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, strict: p.Strict = False,
    limit: p.Limit = 1_000, as_of: AsOf,
) -> column_answers.Unused:  # fmt: skip
    """Which columns may be dropped."""
    asked = Subject(namespace, dataset) if dataset else None
    with sources.open_views.look(as_of) as here:
        return verdicts(here.snapshot, here.rules, here.counted, asked=asked, limit=limit, strict=strict)


@question("diff")
def diff(sources: QuestionSources, *, from_: p.From, to: p.To = None, limit: p.Limit = 1_000) -> lineage_answers.Diff:
    """What changed between two moments."""
    with sources.open_views.look(AsOf(as_of_us=from_)) as before:
        old = before.snapshot, before.counted
    with sources.open_views.look(AsOf(as_of_us=to)) as now:
        return difference(old, (now.snapshot, now.counted), limit=limit)


@question("coverage")
def coverage(sources: QuestionSources, *, limit: p.Limit = 1_000, as_of: AsOf) -> lineage_answers.Coverage:
    """What lineage does not cover, and why."""
    with sources.open_views.look(as_of) as here:
        return coverage_of(here.snapshot, here.counted, limit=limit)


@question("runs/{run}/lineage")
def run(sources: QuestionSources, *, run: p.RunId) -> lineage_answers.RunLineage:
    """Which run read what which run wrote."""
    return sources.open_views.now(lambda live, _: run_lineage(RunHistory(live), run))


@question("facets", reads_lake=True)
def facets(sources: QuestionSources, *, entity: p.Entity, name: p.Facet, limit: p.Listed = 100) -> list_answers.Facets:
    """The newest value of a facet for each run, job or dataset."""
    return newest_facets(sources.bronze, sources.rules().rules.names, entity=entity, name=name, limit=limit)


@question("names")
def names(
    sources: QuestionSources, *, namespace: p.SentNamespace = "", name: p.SentName, at: p.At = None
) -> column_answers.Names:  # fmt: skip
    """Which dataset a name means."""
    return explain_name(sources.rules().rules.names, namespace, name, at_us=at, bind=sources.open_views.bindings)


@question("rules")
def rules(sources: QuestionSources) -> column_answers.Rules:
    """Which of your rules are in force."""
    return rules_in_force(sources.rules())


@question("search")
def search(
    sources: QuestionSources, *, q: p.Text, kinds: p.Kinds = None, limit: p.Found = 20
) -> column_answers.SearchAnswer:  # fmt: skip
    """What is called like this: jobs, datasets, aliases, columns, tags."""
    wanted = [kind.strip() for kind in (kinds or "").split(",") if kind.strip()]
    return found_by(sources.search, q, kinds=wanted, limit=limit)


@question("graph")
def graph(
    sources: QuestionSources, *, groups: p.Groups = "namespace", expand: p.Expand = (), limit: p.Nodes = 200,
    as_of: AsOf,
) -> picture_answers.GraphAnswer:  # fmt: skip
    """The table graph, folded into groups."""
    if len(expand) > _EXPANDED:
        raise WrongQuestion(f"{len(expand)} groups are to be opened. Open {_EXPANDED} at most.")
    with sources.open_views.look(as_of) as here:
        return table_graph(here.snapshot, here.counted, level=groups, expand=frozenset(expand), limit=limit)


@question("lineage")
def around(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None,
    mode: p.Mode = "value", up: p.Up = 1, down: p.Down = 1, limit: p.Around = 500, as_of: AsOf,
) -> picture_answers.Neighbourhood:  # fmt: skip
    """The tables and columns around a dataset or a column, to be drawn."""
    asked, far = Subject(namespace, dataset, column), PictureBounds(up, down, limit)
    with sources.open_views.look(as_of) as here:
        return neighbourhood(here.snapshot, here.rules.names, asked, here.counted, mode=mode, reach=far)


@question("timeline")
def timeline(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, since: p.Since = None,
    limit: p.Limit = 1_000,
) -> lineage_answers.Timeline:  # fmt: skip
    """When the lineage of a dataset changed."""
    asked = Subject(namespace, dataset)
    return sources.open_views.now(
        lambda live, rules: timeline_of(live, RunHistory(live), rules.names, asked, since_us=since, limit=limit)
    )
