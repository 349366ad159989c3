"""Along which ways columns and datasets reach each other."""

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.time.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answers import lineage_answers
from headwater.questions.composed import Ends, Walk
from headwater.questions.declared.question_sources import QuestionSources
from headwater.questions.declaring import question
from headwater.questions.facet_values import sql_of_run
from headwater.questions.reach import path as path_between
from headwater.questions.reach import reach
from headwater.questions.run_details import written_by_run
from headwater.questions.why import why

_SQL_SHOWN = 5


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
        names, output = here.rules.names, Name(found.to.namespace, found.to.dataset)
    for item in found.items[:_SQL_SHOWN]:
        item.sql = sql_of_run(sources.bronze, item.newest_run) if item.newest_run else None
        item.written = written_by_run(sources.bronze, item.newest_run, output, names) if item.newest_run else None
    return found
