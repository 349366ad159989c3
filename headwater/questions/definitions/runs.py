"""Questions about one run: failure, inputs and outputs, details, hierarchy."""

import time

from headwater.index.reading.run_history import RunHistory, RunTree
from headwater.lake.event_bodies import events_at
from headwater.questions import parameters as p
from headwater.questions.answer_types import graphs as graph_answers
from headwater.questions.answer_types import lineage as lineage_answers
from headwater.questions.answer_types import runs as run_detail_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import NOW, QuestionSources
from headwater.questions.health_lists import not_refreshed_by_run
from headwater.questions.hierarchy import hierarchy as tree_of
from headwater.questions.run_details import run_details as details_of
from headwater.questions.run_lineage import read_run_contents, run_lineage

_EVENTS_SHOWN = 50
_MAX_NOT_REFRESHED = 200


@question("runs/{run}/lineage", called="run", reads_lake=True)
def run(sources: QuestionSources, *, run: p.RunId) -> lineage_answers.RunLineage:
    """Show why a run failed, which runs wrote its inputs and read its outputs, and its child runs."""
    key, places = sources.open_views.query_current_index(lambda live, _: RunHistory(live).find_run(run))
    contents = read_run_contents(sources.bronze, sources.rules().rules.names, places)
    with sources.open_views.open_view_and_index(NOW) as (view, live):
        not_refreshed = not_refreshed_by_run(view, live, key, time.time_ns() // 1000, _MAX_NOT_REFRESHED)
        return run_lineage(RunHistory(live), key, contents, not_refreshed)


@question("runs/{run}/details", called="run-details", reads_lake=True)
def run_details(sources: QuestionSources, *, run: p.RunId) -> run_detail_answers.RunDetails:
    """Show who started a run, its application and log, and how many rows, bytes and files it read and wrote."""
    key = sources.open_views.query_current_index(lambda live, _: RunHistory(live).find_run_key(run))
    places = sources.open_views.query_current_index(lambda live, _: RunHistory(live).event_places(key, _EVENTS_SHOWN))
    events = events_at(sources.bronze, places).values() if places else ()
    return sources.open_views.query_current_index(
        lambda live, rules: details_of(key, events, rules.names, live.resolve, rules.links)
    )


@question("runs/{run}/hierarchy", called="hierarchy")
def hierarchy(
    sources: QuestionSources, *, run: p.RunId, limit: p.Listed = 100, offset: p.Offset = 0
) -> graph_answers.Hierarchy:
    """Show the parents and children of a run, with states and durations, one page at a time."""
    return sources.open_views.query_current_index(
        lambda live, _: tree_of(RunTree(live), run, limit=limit, offset=offset)
    )
