"""Questions about changes."""

from headwater.common.paging import ListPage
from headwater.index.reading.run_history import RunHistory
from headwater.lineage.time.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answers import lineage_answers, list_answers
from headwater.questions.changes import ChangeFilter, changes_between
from headwater.questions.composed import Between
from headwater.questions.declared.question_sources import QuestionSources
from headwater.questions.declaring import question
from headwater.questions.differences import difference
from headwater.questions.resolved_moments import resolve_moment
from headwater.questions.subjects import Subject
from headwater.questions.timeline import timeline as timeline_of


@question("diff")
def diff(
    sources: QuestionSources, *, between: Between, change: p.Change = None, page: ListPage
) -> lineage_answers.Diff:  # fmt: skip
    """List which column edges were added, removed or changed between two moments."""
    since_us, until_us = sources.open_views.now(lambda live, _: [resolve_moment(live, each) for each in between[:2]])
    with sources.open_views.look(AsOf(as_of_us=since_us)) as before:
        old = before.snapshot, before.counted
    with sources.open_views.look(AsOf(as_of_us=until_us)) as now:
        return difference(old, (now.snapshot, now.counted), page=page, only=change)


@question("changes")
def changes(
    sources: QuestionSources, *, between: Between, thing: p.Thing = None, change: p.ChangeAsked = None, page: ListPage
) -> list_answers.Changes:  # fmt: skip
    """List added, removed and changed datasets, columns, types, owners, tags, jobs and SQL, each with its run.

    A column is `not_listed` if no run writes its dataset and no job that reads the dataset lists it any more.
    """
    only = ChangeFilter(thing, change)
    return sources.open_views.now(
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
    return sources.open_views.now(
        lambda live, rules: timeline_of(live, RunHistory(live), rules, asked, since_us=since, page=page)
    )
