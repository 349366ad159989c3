"""Questions about lineage: paths, exposure and use of columns, coverage, and changes."""

from contextlib import suppress

from headwater.common.errors import NotKnown
from headwater.common.paging import ListPage
from headwater.index.reading.run_history import RunHistory
from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answer_types import columns as column_answers
from headwater.questions.answer_types import lineage as lineage_answers
from headwater.questions.answer_types import lists as list_answers
from headwater.questions.changes import ChangeFilter, changes_between
from headwater.questions.coverage import coverage as coverage_of
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources, hidden_table_filter
from headwater.questions.differences import edge_differences
from headwater.questions.edge import edge_answer
from headwater.questions.facets import sql_of_run
from headwater.questions.owners import OwnerReader, add_owners
from headwater.questions.parameter_groups import Between, Ends, Walk
from headwater.questions.reach import path_answer as path_between
from headwater.questions.reach import reach_answer
from headwater.questions.resolved_moments import resolve_moment
from headwater.questions.run_details import written_by_run
from headwater.questions.subjects import Subject
from headwater.questions.surface import ColumnName, find_surface, surface_answer
from headwater.questions.timeline import timeline_answer as timeline_of
from headwater.questions.unused import verdicts_answer

_SQL_SHOWN = 5


@question("impact")
def impact(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that depend on a column or a whole dataset: what breaks if it changes."""
    with sources.open_views.open_view_and_index(as_of) as (view, live):
        found = reach_answer(
            view.snapshot, view.rules.names, counted=view.counted_edges, forward=True, **walk._asdict()
        )
        return add_owners(found, OwnerReader(live, view.rules))


@question("upstream")
def upstream(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that a column or a whole dataset comes from."""
    with sources.open_views.open_view_and_index(as_of) as (view, live):
        found = reach_answer(
            view.snapshot, view.rules.names, counted=view.counted_edges, forward=False, **walk._asdict()
        )
        return add_owners(found, OwnerReader(live, view.rules))


@question("path")
def path(sources: QuestionSources, *, ends: Ends, mode: p.Mode = "value", as_of: AsOf) -> lineage_answers.PathAnswer:
    """Show whether one column or dataset reaches another, and the shortest path."""
    with sources.open_views.open_view(as_of) as view:
        return path_between(view.snapshot, view.rules.names, *ends, view.counted_edges, mode=mode)


@question("edge", reads_lake=True)
def edge(sources: QuestionSources, *, ends: Ends, as_of: AsOf) -> lineage_answers.EdgeAnswer:
    """Show why an edge exists: its jobs, number of runs, SQL, and first time."""
    with sources.open_views.open_view(as_of) as view:
        found = edge_answer(view.snapshot, view.rules.names, *ends, view.counted_edges)
        names, output = view.rules.names, Name(found.to.namespace, found.to.dataset)
    for item in found.items[:_SQL_SHOWN]:
        item.sql = sql_of_run(sources.bronze, item.newest_run) if item.newest_run else None
        item.written = written_by_run(sources.bronze, item.newest_run, output, names) if item.newest_run else None
    return found


@question("surface")
def surface(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None, column: p.Column = None,
    tag: p.Tag = "pii", since: p.Since = None, exposure: p.Exposure = None, page: ListPage, as_of: AsOf,
) -> column_answers.Surface:  # fmt: skip
    """List where tagged columns, or one column, end up: exposed, masked, or unknown.

    The tagged columns come first (`tagged`): one is exposed unless every write of it masks.
    Masked code is not masked data: `exposed_until` is the last time at which a column was written without a mask, and
    `once_exposed` columns contain unmasked rows of earlier writes only.
    With `since`, the answer contains only columns that were not exposed then and are exposed now.
    """
    source = Subject(namespace, dataset, column) if dataset else None
    before: set[ColumnName] | None = None
    if since is not None:
        with sources.open_views.open_view(as_of._replace(as_of_us=since)) as then, suppress(NotKnown):
            before = set()  # a tag or dataset that was unknown then exposed no columns
            before = find_surface(
                then.snapshot, then.rules, then.counted_edges, tag=tag, source=source
            ).exposed_columns(then.snapshot)
    with sources.open_views.open_view(as_of) as now:
        found = find_surface(now.snapshot, now.rules, now.counted_edges, tag=tag, source=source)
        return surface_answer(now.snapshot, found, tag=tag, page=page, exposed_before=before, only=exposure)


@question("unused")
def unused(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.AnyDataset = None,
    verdict: p.Verdict = None, strict: p.Strict = False, system: p.System = False, former: p.Former = False,
    page: ListPage, as_of: AsOf,
) -> column_answers.Unused:  # fmt: skip
    """List which columns can be dropped: used, unused, or unknown if use cannot be excluded.

    A column is used if the newest execution of a job uses it, or an earlier one did within the window (`earlier`).
    """
    asked = Subject(namespace, dataset) if dataset else None
    with sources.open_views.open_view(as_of) as view:
        return verdicts_answer(
            view.snapshot, view.rules, view.counted_edges, asked=asked, page=page, only=verdict, strict=strict,
            hides=hidden_table_filter(view.rules, system), former=former,
            window=None if as_of.includes_outdated or as_of.only_newest else as_of.window(view.snapshot),
        )  # fmt: skip


@question("coverage")
def coverage(
    sources: QuestionSources, *, kind: p.CoverageKind = None, system: p.System = False, page: ListPage, as_of: AsOf
) -> lineage_answers.Coverage:  # fmt: skip
    """List datasets and jobs without column lineage, and why."""
    with sources.open_views.open_view(as_of) as view:
        return coverage_of(
            view.snapshot, view.counted_edges, page=page, kind=kind, is_hidden=hidden_table_filter(view.rules, system)
        )


@question("diff")
def diff(
    sources: QuestionSources, *, between: Between, change: p.Change = None, page: ListPage
) -> lineage_answers.Diff:  # fmt: skip
    """List which column edges were added, removed or changed between two moments."""
    since_us, until_us = sources.open_views.query_current_index(
        lambda live, _: [resolve_moment(live, each) for each in between[:2]]
    )
    with sources.open_views.open_view(AsOf(as_of_us=since_us)) as before:
        old = before.snapshot, before.counted_edges
    with sources.open_views.open_view(AsOf(as_of_us=until_us)) as now:
        return edge_differences(old, (now.snapshot, now.counted_edges), page=page, only=change)


@question("changes")
def changes(
    sources: QuestionSources, *, between: Between, thing: p.Thing = None, change: p.ChangeAsked = None, page: ListPage
) -> list_answers.Changes:  # fmt: skip
    """List added, removed and changed datasets, columns, types, owners, tags, jobs and SQL, each with its run.

    A column is `not_listed` if no run writes its dataset and no job that reads the dataset lists it any more.
    """
    only = ChangeFilter(thing, change)
    return sources.open_views.query_current_index(
        lambda live, _: changes_between(
            live, resolve_moment(live, between.from_), resolve_moment(live, between.to), only, page
        )
    )


@question("timeline")
def timeline(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, since: p.Since = None,
    page: ListPage,
) -> lineage_answers.Timeline:  # fmt: skip
    """List when the lineage of a dataset changed, newest first."""
    asked = Subject(namespace, dataset)
    return sources.open_views.query_current_index(
        lambda live, rules: timeline_of(live, RunHistory(live), rules, asked, since_us=since, page=page)
    )
