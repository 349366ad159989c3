"""Lists of datasets, jobs, runs and facets, and search."""

import time

from headwater.common.paging import ListPage
from headwater.index.reading.run_lists import RunFilter
from headwater.questions import lists
from headwater.questions import parameters as p
from headwater.questions.answer_types import columns as column_answers
from headwater.questions.answer_types import lists as list_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources
from headwater.questions.facets import newest_facets
from headwater.questions.parameter_groups import FoundPage, NewestPage
from headwater.questions.search import search_answer
from headwater.questions.subjects import datasets_with_complete_name


@question("datasets")
def datasets(
    sources: QuestionSources, *, wanted: lists.ListFilter, system: p.System = False, former: p.Former = False,
    page: ListPage,
) -> list_answers.Datasets:  # fmt: skip
    """List datasets with owners, tags, columns, last write, and the last run of the job that wrote them."""
    now_us = time.time_ns() // 1000
    return sources.open_views.query_current_index(
        lambda live, rules: lists.datasets(live, rules, wanted, page, now_us, system=system, former=former)
    )


@question("jobs")
def listed_jobs(
    sources: QuestionSources, *, wanted: lists.ListFilter, page: ListPage
) -> list_answers.Jobs:  # fmt: skip
    """List jobs with owners, tags, integration and last run."""
    now_us = time.time_ns() // 1000
    return sources.open_views.query_current_index(lambda live, rules: lists.jobs(live, rules, wanted, page, now_us))


@question("runs")
def listed_runs(
    sources: QuestionSources, *, namespace: p.InNamespace = None, job: p.JobOfRuns = None,
    state: p.RunStateAsked = None, since: p.Since = None, until: p.Before = None, page: ListPage,
) -> list_answers.Runs:  # fmt: skip
    """List runs, newest first, with their states, times and durations."""
    asked = RunFilter(namespace, job, state, since, until)
    return sources.open_views.query_current_index(lambda live, _: lists.runs(live, asked, page, time.time_ns() // 1000))


@question("facets", reads_lake=True)
def facets(
    sources: QuestionSources, *, entity: p.Entity, name: p.Facet, page: NewestPage
) -> list_answers.Facets:  # fmt: skip
    """List the newest value of a facet for each run, job or dataset."""
    return newest_facets(sources.bronze, sources.rules().rules.names, entity=entity, name=name, page=page)


@question("search")
def search(
    sources: QuestionSources, *, q: p.Text, kinds: p.Kinds = None, page: FoundPage
) -> column_answers.SearchAnswer:  # fmt: skip
    """Find jobs, datasets, aliases, columns and tags by parts of their names and descriptions, despite typos."""
    wanted = [kind.strip() for kind in (kinds or "").split(",") if kind.strip()]
    named = sources.open_views.query_current_index(
        lambda live, rules: datasets_with_complete_name(live, rules.names, q)
    )
    return search_answer(sources.search, q, kinds=wanted, exact_datasets=named, page=page)
