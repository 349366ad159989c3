"""Questions for graphs: groups of tables, the surroundings of a dataset, and jobs."""

from functools import cache

from headwater.common.errors import WrongQuestion
from headwater.index.reading.jobs import JobAncestry
from headwater.lineage.runs.jobs import fold_into_level, job_ancestors
from headwater.lineage.snapshots.as_of import AsOf
from headwater.questions import parameters as p
from headwater.questions.answer_types import graphs as graph_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import QuestionSources, hidden_table_filter
from headwater.questions.job_graph import JobBounds, JobContext, dependencies_of, dependencies_of_tasks, job_graph
from headwater.questions.neighbourhood import GraphBounds, neighbourhood
from headwater.questions.subjects import Subject
from headwater.questions.table_graph import table_graph

_EXPANDED = 200


@question("graph", called=None)
def graph(
    sources: QuestionSources, *, groups: p.Groups = "namespace", expand: p.Expand = (), limit: p.Nodes = 200,
    granularity: p.Granularity = "statement", system: p.System = False, as_of: AsOf,
) -> graph_answers.GraphAnswer:  # fmt: skip
    """Return the table graph, folded into groups."""
    if len(expand) > _EXPANDED:
        raise WrongQuestion(f"The request expands {len(expand)} groups. Expand at most {_EXPANDED}.")
    with sources.open_views.open_view_and_index(as_of) as (view, live):
        fold = fold_into_level(granularity, JobAncestry(live).started)
        return table_graph(
            view.snapshot, view.counted_edges, level=groups, expand=frozenset(expand), limit=limit, fold=fold,
            hides=hidden_table_filter(view.rules, system),
        )  # fmt: skip


@question("lineage", called=None)
def around(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None,
    mode: p.Mode = "value", up: p.Up = 1, down: p.Down = 1, limit: p.Around = 500,
    granularity: p.Granularity = "statement", system: p.System = False, as_of: AsOf,
) -> graph_answers.Neighbourhood:  # fmt: skip
    """Return the tables and columns around a dataset or a column."""
    asked, far = Subject(namespace, dataset, column), GraphBounds(up, down, limit)
    with sources.open_views.open_view_and_index(as_of) as (view, live):
        fold = fold_into_level(granularity, JobAncestry(live).started)
        return neighbourhood(
            view.snapshot, view.rules.names, asked, view.counted_edges, mode=mode, reach=far, fold=fold,
            hides=hidden_table_filter(view.rules, system),
        )  # fmt: skip


@question("job-graph")
def jobs(
    sources: QuestionSources, *, namespace: p.JobNamespace = None, job: p.AnyJob = None,
    granularity: p.Granularity = "application", up: p.Up = 1, down: p.Down = 1, limit: p.Nodes = 200, as_of: AsOf,
) -> graph_answers.JobGraph:  # fmt: skip
    """Show which jobs feed each other by data, and separately which jobs wait for each other."""
    bounds = JobBounds((namespace, job) if job else None, up, down, limit)
    with sources.open_views.open_view_and_index(as_of) as (view, live):
        known = JobAncestry(live)
        context = JobContext(
            known.orchestrated_jobs(),
            fold_into_level(granularity, known.position_with_tasks),
            cache(lambda each: job_ancestors(each, known.position_with_tasks)),
            lambda each: dependencies_of(each, known.newest_run_facet(each, "jobDependencies")),
            known.jobs_by_display_name,
            dependencies_of_tasks(known.task_order()),
            known.group_of,
        )
        return job_graph(view.snapshot, view.counted_edges, context, granularity, bounds)
