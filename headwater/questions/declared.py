"""The questions about lineage: each is declared here, once, by what it is asked with and what it answers."""

import time
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import Protocol

from headwater.errors import NotKnown, WrongQuestion
from headwater.index.reading.dataset_readers import DatasetReaders
from headwater.index.reading.index_search import Search
from headwater.index.reading.job_ancestry import JobAncestry
from headwater.index.reading.listed_runs import RunsAsked
from headwater.index.reading.run_history import RunHistory
from headwater.index.reading.run_tree import RunTree
from headwater.index.reading.view_opener import RulesInForce, ViewOpener
from headwater.lake.bronze_tables import Bronze
from headwater.lake.event_bodies import events_at
from headwater.lake.reported_events import ReceiptWindow
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.rules.user_rules import UserRules, nothing_hidden
from headwater.lineage.runs.job_hierarchy import ancestors, folding
from headwater.lineage.time.as_of import AsOf
from headwater.paging import ListPage
from headwater.questions import parameters as p
from headwater.questions import things
from headwater.questions.answers import (
    column_answers,
    health_answers,
    hierarchy_answers,
    lineage_answers,
    list_answers,
    picture_answers,
    report_answers,
    run_detail_answers,
    thing_answers,
)
from headwater.questions.changes import OnlyChanges, changes_between
from headwater.questions.composed import Between, Ends, FoundPage, NewestPage, Walk
from headwater.questions.coverage import coverage as coverage_of
from headwater.questions.dataset_usage import DAYS, usage
from headwater.questions.declaring import question
from headwater.questions.differences import difference
from headwater.questions.exposure import Place, exposures, look_for
from headwater.questions.facet_values import newest_facets, sql_of_run
from headwater.questions.health_lists import (
    health_of_dataset,
    health_of_job,
    health_of_shown,
    left_by_run,
    unhealthy,
)
from headwater.questions.hierarchy import hierarchy as tree_of
from headwater.questions.job_dependencies import dependencies_of
from headwater.questions.job_graph import JobBounds, JobKnowledge, job_graph
from headwater.questions.name_meaning import explain_name, rules_in_force
from headwater.questions.neighbourhood import PictureBounds, neighbourhood
from headwater.questions.producer_setup import producer_setups
from headwater.questions.reach import path as path_between
from headwater.questions.reach import reach
from headwater.questions.reported_runs import reported_runs
from headwater.questions.resolved_moments import resolved
from headwater.questions.run_details import run_details as details_of
from headwater.questions.run_details import written_by_run
from headwater.questions.run_failures import read_words
from headwater.questions.run_lineage import run_lineage
from headwater.questions.saved_findings import saved_findings
from headwater.questions.search_hits import found_by
from headwater.questions.subjects import Subject, find_dataset
from headwater.questions.table_graph import table_graph
from headwater.questions.timeline import timeline as timeline_of
from headwater.questions.verdicts import verdicts
from headwater.questions.why import why

_SQL_SHOWN = 5
_EVENTS_SHOWN = 50
_EXPANDED = 200
_LEFT = 200
NOW = AsOf()


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


def _hides(rules: UserRules, system: bool) -> Callable[[Name], bool]:
    return nothing_hidden if system else rules.is_system


@question("impact")
def impact(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that a column, or a whole dataset, ends up in: what breaks if it changes."""
    with sources.open_views.look(as_of) as here:
        return reach(here.snapshot, here.rules.names, counted=here.counted, forward=True, **walk._asdict())


@question("upstream")
def upstream(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that a column, or a whole dataset, is made of."""
    with sources.open_views.look(as_of) as here:
        return reach(here.snapshot, here.rules.names, counted=here.counted, forward=False, **walk._asdict())


@question("path")
def path(sources: QuestionSources, *, ends: Ends, mode: p.Mode = "value", as_of: AsOf) -> lineage_answers.PathAnswer:
    """Tell whether one column or dataset reaches another, and by which shortest way."""
    with sources.open_views.look(as_of) as here:
        return path_between(here.snapshot, here.rules.names, *ends, here.counted, mode=mode)


@question("edge", reads_lake=True)
def edge(sources: QuestionSources, *, ends: Ends, as_of: AsOf) -> lineage_answers.EdgeAnswer:
    """Tell why there is an edge: which jobs, how many runs, which SQL, since when."""
    with sources.open_views.look(as_of) as here:
        found = why(here.snapshot, here.rules.names, *ends, here.counted)
        canonical, output = here.rules.names.canonical, Name(found.to.namespace, found.to.dataset)
    for item in found.items[:_SQL_SHOWN]:
        item.sql = sql_of_run(sources.bronze, item.newest_run) if item.newest_run else None
        item.written = written_by_run(sources.bronze, item.newest_run, output, canonical) if item.newest_run else None
    return found


@question("surface")
def surface(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, column: p.Column = None,
    tag: p.Tag = "pii", since: p.Since = None, exposure: p.Exposure = None, page: ListPage, as_of: AsOf,
) -> column_answers.Surface:  # fmt: skip
    """List where tagged columns, or one column, end up: exposed, masked, or unknown.

    Masked code is not masked data: `exposed_until` names when a column was last written without a mask.
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
        return exposures(now.snapshot, found, tag=tag, page=page, but=before, only=exposure)


@question("unused")
def unused(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None,
    verdict: p.Verdict = None, strict: p.Strict = False, system: p.System = False, page: ListPage, as_of: AsOf,
) -> column_answers.Unused:  # fmt: skip
    """Tell which columns may be dropped: used, unused, or unknown where no one can tell."""
    asked = Subject(namespace, dataset) if dataset else None
    with sources.open_views.look(as_of) as here:
        return verdicts(
            here.snapshot, here.rules, here.counted, asked=asked, page=page, only=verdict, strict=strict,
            hides=_hides(here.rules, system),
        )  # fmt: skip


@question("diff")
def diff(
    sources: QuestionSources, *, between: Between, change: p.Change = None, page: ListPage
) -> lineage_answers.Diff:  # fmt: skip
    """List which column edges were added, removed or changed between two moments."""
    since_us, until_us = sources.open_views.now(lambda live, _: [resolved(live, each) for each in between[:2]])
    with sources.open_views.look(AsOf(as_of_us=since_us)) as before:
        old = before.snapshot, before.counted
    with sources.open_views.look(AsOf(as_of_us=until_us)) as now:
        return difference(old, (now.snapshot, now.counted), page=page, only=change)


@question("changes")
def changes(
    sources: QuestionSources, *, between: Between, thing: p.Thing = None, change: p.Change = None, page: ListPage
) -> list_answers.Changes:  # fmt: skip
    """List which datasets, columns, types, owners, tags, jobs and SQL came, went or changed, and by which run."""
    only = OnlyChanges(thing, change)
    return sources.open_views.now(
        lambda live, _: changes_between(live, resolved(live, between.from_), resolved(live, between.to), only, page)
    )


@question("coverage")
def coverage(
    sources: QuestionSources, *, kind: p.CoverageKind = None, system: p.System = False, page: ListPage, as_of: AsOf
) -> lineage_answers.Coverage:  # fmt: skip
    """List datasets and jobs without column lineage, and why."""
    with sources.open_views.look(as_of) as here:
        return coverage_of(here.snapshot, here.counted, page=page, kind=kind, hides=_hides(here.rules, system))


@question("datasets")
def datasets(
    sources: QuestionSources, *, wanted: things.Narrowed, system: p.System = False, page: ListPage
) -> thing_answers.Datasets:  # fmt: skip
    """List datasets: owners, tags, columns, when each was last written, and how the last run of that job fared."""
    now_us = time.time_ns() // 1000
    return sources.open_views.now(lambda live, rules: things.datasets(live, rules, wanted, page, now_us, system=system))


@question("jobs")
def listed_jobs(
    sources: QuestionSources, *, wanted: things.Narrowed, page: ListPage
) -> thing_answers.Jobs:  # fmt: skip
    """List jobs: owners, tags, what sends their events, and how their last run fared."""
    now_us = time.time_ns() // 1000
    return sources.open_views.now(lambda live, rules: things.jobs(live, rules, wanted, page, now_us))


@question("runs")
def listed_runs(
    sources: QuestionSources, *, namespace: p.InNamespace = None, job: p.JobOfRuns = None,
    state: p.RunStateAsked = None, since: p.Since = None, until: p.Before = None, page: ListPage,
) -> thing_answers.Runs:  # fmt: skip
    """List runs, newest first: their states, times and durations."""
    asked = RunsAsked(namespace, job, state, since, until)
    return sources.open_views.now(lambda live, _: things.runs(live, asked, page, time.time_ns() // 1000))


@question("runs/{run}/lineage", called="run", reads_lake=True)
def run(sources: QuestionSources, *, run: p.RunId) -> lineage_answers.RunLineage:
    """Show why a run failed, what it read and who had written it, what it wrote and who read that, and its parts."""
    key, places = sources.open_views.now(lambda live, _: RunHistory(live).find(run))
    words = read_words(sources.bronze, sources.rules().rules.names, places)
    with sources.open_views.catalog(NOW) as (here, live):
        left = left_by_run(here, live, key, time.time_ns() // 1000, _LEFT)
        return run_lineage(RunHistory(live), key, words, left)


@question("health")
def health(
    sources: QuestionSources, *, namespace: p.OfEither = None, dataset: p.AnyDataset = None, job: p.AnyJob = None,
    status: p.HealthStatus = None, limit: p.Limit = 1_000,
) -> health_answers.HealthAnswer:  # fmt: skip
    """Tell how a dataset or a job fares, or what does not fare well: failed, late by its rhythm, stale behind those."""
    if dataset and job:
        raise WrongQuestion("Both dataset= and job= are given. Ask for one of them.")
    now_us = time.time_ns() // 1000
    if not dataset and not job:
        return unhealthy(sources.open_views, now_us, status, limit)
    with sources.open_views.catalog(NOW) as (here, live):
        if dataset:
            return health_of_dataset(here, live, Subject(namespace, dataset), now_us, limit)
        return health_of_job(here, live, (namespace, job or ""), now_us, limit)


@question("health/shown", called=None)
def health_shown(sources: QuestionSources, *, of: p.Drawn = ()) -> health_answers.HealthOfShown:
    """Tell how those fare that are drawn."""
    with sources.open_views.catalog(NOW) as (here, live):
        return health_of_shown(here, live, of, time.time_ns() // 1000)


@question("readers")
def readers(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, since: p.Since = None,
    to: p.To = None, limit: p.Limit = 100,
) -> run_detail_answers.Readers:  # fmt: skip
    """Show who reads a dataset: runs by day and by week, jobs, and users where runs name them."""
    until_us = time.time_ns() // 1000 if to is None else to
    since_us = until_us - DAYS * 86_400_000_000 if since is None else since
    asked = Subject(namespace, dataset)
    with sources.open_views.catalog(AsOf()) as (here, live):
        found = find_dataset(here.snapshot, here.rules.names, asked)
        return usage(DatasetReaders(live, found), found, since_us, until_us, limit=limit)


@question("runs/{run}/details", called="run-details", reads_lake=True)
def run_details(sources: QuestionSources, *, run: p.RunId) -> run_detail_answers.RunDetails:
    """Show who started a run, as which application, where its log is, and how many rows, bytes and files it moved."""
    key = sources.open_views.now(lambda live, _: RunHistory(live).key(run))
    places = sources.open_views.now(lambda live, _: RunHistory(live).places(key, _EVENTS_SHOWN))
    events = events_at(sources.bronze, places).values() if places else ()
    return sources.open_views.now(
        lambda live, rules: details_of(
            key, events, lambda *name: live.resolve(rules.names.canonical(*name)), rules.links
        )
    )


@question("facets", reads_lake=True)
def facets(
    sources: QuestionSources, *, entity: p.Entity, name: p.Facet, page: NewestPage
) -> list_answers.Facets:  # fmt: skip
    """List a facet's newest value for each run, job or dataset."""
    return newest_facets(sources.bronze, sources.rules().rules.names, entity=entity, name=name, page=page)


@question("reported", called=None, reads_lake=True)
def reported(
    sources: QuestionSources, *, from_: p.From, to: p.To = None, after: p.After = None, limit: p.Limit = 1_000
) -> report_answers.ReportedRuns:  # fmt: skip
    """List the runs of which events were received in a time, and what transports lost: who reported."""
    window = ReceiptWindow(from_, time.time_ns() // 1000 if to is None else to)
    return reported_runs(sources.bronze, sources.rules().rules.names, window, after, limit)


@question("unreported", reads_lake=True)
def unreported(
    sources: QuestionSources, *, kind: p.FindingKindAsked = None, page: NewestPage
) -> report_answers.Unreported:  # fmt: skip
    """List who did not report: what ran or was written without lineage, as `headwater reconcile --save` found last."""
    return saved_findings(sources.bronze, page, only=kind)


@question("names")
def names(
    sources: QuestionSources, *, namespace: p.SentNamespace = "", name: p.SentName, at: p.At = None
) -> column_answers.Names:  # fmt: skip
    """Tell which dataset a name means, and which rule did what."""
    return explain_name(sources.rules().rules.names, namespace, name, at_us=at, bind=sources.open_views.bindings)


@question("rules")
def rules(sources: QuestionSources) -> column_answers.Rules:
    """Tell which of your rules are in force, and what is wrong with their files."""
    return rules_in_force(sources.rules())


@question("connect")
def connect(_: QuestionSources, *, url: p.Address = "http://localhost:5000") -> list_answers.ProducerSetups:
    """Show what to copy so that Fabric, Databricks, Spark, Airflow, dbt or curl sends its lineage here."""
    return producer_setups(url)


@question("search")
def search(
    sources: QuestionSources, *, q: p.Text, kinds: p.Kinds = None, page: FoundPage
) -> column_answers.SearchAnswer:  # fmt: skip
    """Find jobs, datasets, aliases, columns and tags by parts of their names; slips are forgiven."""
    wanted = [kind.strip() for kind in (kinds or "").split(",") if kind.strip()]
    return found_by(sources.search, q, kinds=wanted, page=page)


@question("graph", called=None)
def graph(
    sources: QuestionSources, *, groups: p.Groups = "namespace", expand: p.Expand = (), limit: p.Nodes = 200,
    granularity: p.Granularity = "statement", system: p.System = False, as_of: AsOf,
) -> picture_answers.GraphAnswer:  # fmt: skip
    """Draw the table graph, folded into groups."""
    if len(expand) > _EXPANDED:
        raise WrongQuestion(f"{len(expand)} groups are to be opened. Open {_EXPANDED} at most.")
    with sources.open_views.catalog(as_of) as (here, live):
        fold = folding(granularity, JobAncestry(live).started)
        return table_graph(
            here.snapshot, here.counted, level=groups, expand=frozenset(expand), limit=limit, fold=fold,
            hides=_hides(here.rules, system),
        )  # fmt: skip


@question("lineage", called=None)
def around(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None,
    mode: p.Mode = "value", up: p.Up = 1, down: p.Down = 1, limit: p.Around = 500,
    granularity: p.Granularity = "statement", system: p.System = False, as_of: AsOf,
) -> picture_answers.Neighbourhood:  # fmt: skip
    """Draw the tables and columns around a dataset or a column."""
    asked, far = Subject(namespace, dataset, column), PictureBounds(up, down, limit)
    with sources.open_views.catalog(as_of) as (here, live):
        fold = folding(granularity, JobAncestry(live).started)
        return neighbourhood(
            here.snapshot, here.rules.names, asked, here.counted, mode=mode, reach=far, fold=fold,
            hides=_hides(here.rules, system),
        )  # fmt: skip


@question("job-graph")
def jobs(
    sources: QuestionSources, *, namespace: p.JobNamespace = None, job: p.AnyJob = None,
    granularity: p.Granularity = "application", up: p.Up = 1, down: p.Down = 1, limit: p.Nodes = 200, as_of: AsOf,
) -> hierarchy_answers.JobGraph:  # fmt: skip
    """Show which job feeds which by data, and apart from it which waits for which; without a job all of them."""
    bounds = JobBounds((namespace, job) if job else None, up, down, limit)
    with sources.open_views.catalog(as_of) as (here, live):
        known = JobAncestry(live)
        told = JobKnowledge(
            known.orchestrated(),
            folding(granularity, known.started),
            cache(lambda each: ancestors(each, known.started)),
            lambda each: dependencies_of(each, known.facet(each, "jobDependencies")),
            known.named,
        )
        return job_graph(here.snapshot, here.counted, told, granularity, bounds)


@question("runs/{run}/hierarchy", called="hierarchy")
def hierarchy(
    sources: QuestionSources, *, run: p.RunId, limit: p.Listed = 100, offset: p.Offset = 0
) -> hierarchy_answers.Hierarchy:
    """Show what a run is part of, and what is part of it, with states and durations, a page at a time."""
    return sources.open_views.now(lambda live, _: tree_of(RunTree(live), run, limit=limit, offset=offset))


@question("timeline")
def timeline(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, since: p.Since = None,
    page: ListPage,
) -> lineage_answers.Timeline:  # fmt: skip
    """List when the lineage of a dataset changed, newest first."""
    asked = Subject(namespace, dataset)
    return sources.open_views.now(
        lambda live, rules: timeline_of(live, RunHistory(live), rules.names, asked, since_us=since, page=page)
    )
