"""Questions about paths between columns and datasets."""

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answers import lineage_answers
from headwater.questions.composed import Ends, Walk
from headwater.questions.declared.question_sources import QuestionSources
from headwater.questions.declaring import question
from headwater.questions.edge_reasons import why
from headwater.questions.facet_values import sql_of_run
from headwater.questions.reach import path as path_between
from headwater.questions.reach import reach
from headwater.questions.run_details import written_by_run

_SQL_SHOWN = 5


@question("impact")
def impact(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that depend on a column or a whole dataset: what breaks if it changes."""
    with sources.open_views.look(as_of) as view:
        return reach(view.snapshot, view.rules.names, counted=view.counted, forward=True, **walk._asdict())


@question("upstream")
def upstream(sources: QuestionSources, *, walk: Walk, as_of: AsOf) -> lineage_answers.Reach:
    """List the columns that a column or a whole dataset comes from."""
    with sources.open_views.look(as_of) as view:
        return reach(view.snapshot, view.rules.names, counted=view.counted, forward=False, **walk._asdict())


@question("path")
def path(sources: QuestionSources, *, ends: Ends, mode: p.Mode = "value", as_of: AsOf) -> lineage_answers.PathAnswer:
    """Show whether one column or dataset reaches another, and the shortest path."""
    with sources.open_views.look(as_of) as view:
        return path_between(view.snapshot, view.rules.names, *ends, view.counted, mode=mode)


@question("edge", reads_lake=True)
def edge(sources: QuestionSources, *, ends: Ends, as_of: AsOf) -> lineage_answers.EdgeAnswer:
    """Show why an edge exists: its jobs, number of runs, SQL, and first time."""
    with sources.open_views.look(as_of) as view:
        found = why(view.snapshot, view.rules.names, *ends, view.counted)
        names, output = view.rules.names, Name(found.to.namespace, found.to.dataset)
    for item in found.items[:_SQL_SHOWN]:
        item.sql = sql_of_run(sources.bronze, item.newest_run) if item.newest_run else None
        item.written = written_by_run(sources.bronze, item.newest_run, output, names) if item.newest_run else None
    return found
