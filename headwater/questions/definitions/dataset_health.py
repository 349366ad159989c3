"""Questions about the health and the readers of datasets and jobs."""

import time

from msgspec import UNSET

from headwater.common.errors import WrongQuestion
from headwater.index.reading.dataset_readers import DatasetReaders
from headwater.questions import parameters as p
from headwater.questions.answer_types import health as health_answers
from headwater.questions.answer_types import runs as run_detail_answers
from headwater.questions.answer_types import volume as volume_answers
from headwater.questions.declaring import question
from headwater.questions.definitions.sources import NOW, QuestionSources
from headwater.questions.exposures import exposures_of
from headwater.questions.health_lists import (
    health_of_dataset_with_row_counts,
    health_of_graph,
    health_of_job,
    list_health_problems,
)
from headwater.questions.health_reader import HealthReader
from headwater.questions.incomplete_lineage import events_removed_before_day
from headwater.questions.owners import OwnerReader
from headwater.questions.readers import DAYS, readers_answer
from headwater.questions.subjects import Subject, find_dataset
from headwater.questions.volume_series import volume_answer


@question("health", reads_lake=True)
def health(
    sources: QuestionSources, *, namespace: p.OfEither = None, dataset: p.AnyDataset = None, job: p.AnyJob = None,
    status: p.HealthStatus = None, limit: p.Limit = 1_000,
) -> health_answers.HealthAnswer:  # fmt: skip
    """Show the health of a dataset or a job, or list everything that failed, is late by its own rhythm, or is stale."""
    if dataset and job:
        raise WrongQuestion("Both dataset= and job= are set. Set only one of them.")
    now_us = time.time_ns() // 1000
    if not dataset and not job:
        return list_health_problems(sources.open_views, now_us, status, limit, sources.bronze)
    if dataset:
        return health_of_dataset_with_row_counts(
            sources.open_views, Subject(namespace, dataset), now_us, limit, sources.bronze
        )
    with sources.open_views.open_view_and_index(NOW) as (view, live):
        return health_of_job(view, live, (namespace, job or ""), now_us, limit)


@question("volume")
def volume(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, column: p.Column = None,
    measure: p.MeasureAsked = None, limit: p.Points = 400,
) -> volume_answers.Volume:  # fmt: skip
    """Show rows, sizes, test results and durations of a dataset over time, and which values are unusual."""
    asked = Subject(namespace, dataset, column)
    with sources.open_views.open_view_and_index(NOW) as (view, live):
        name = find_dataset(view.snapshot, view.rules.names, asked, in_events=True)
        reader = HealthReader(live, view.counted_edges, time.time_ns() // 1000)
        answer = volume_answer(live, reader, name, column, only=measure, limit=limit)
        answer.events_removed_before = events_removed_before_day(view.snapshot) or UNSET
        return answer


@question("health/shown", called=None)
def health_shown(sources: QuestionSources, *, of: p.Drawn = ()) -> health_answers.HealthOfShown:
    """Return the health of the datasets and jobs in a graph."""
    with sources.open_views.open_view_and_index(NOW) as (view, live):
        return health_of_graph(view, live, of, time.time_ns() // 1000)


@question("readers")
def readers(
    sources: QuestionSources, *, namespace: p.Namespace = None, dataset: p.Dataset, since: p.Since = None,
    to: p.To = None, limit: p.Limit = 100,
) -> run_detail_answers.Readers:  # fmt: skip
    """Show who reads a dataset: runs by day and by week, jobs, and users if runs name them."""
    until_us = time.time_ns() // 1000 if to is None else to
    since_us = until_us - DAYS * 86_400_000_000 if since is None else since
    asked = Subject(namespace, dataset)
    with sources.open_views.open_view_and_index(NOW) as (view, live):
        found = find_dataset(view.snapshot, view.rules.names, asked, in_events=True)
        owners = OwnerReader(live, view.rules)
        answer = readers_answer(DatasetReaders(live, found), found, since_us, until_us, owners=owners, limit=limit)
        answer.exposures = exposures_of(live, found, view.rules.links)
        return answer
