"""The question `readers`: runs that read a dataset by day, week and job, with users if runs name them."""

from collections import Counter
from datetime import UTC, date, datetime, timedelta

from headwater.events.times import iso_time
from headwater.index.reading.dataset_readers import DatasetReaders
from headwater.lineage.names.dataset_name import Name
from headwater.questions.answer_types.common import Dataset, Job
from headwater.questions.answer_types.runs import DailyReads, ReaderItem, Readers
from headwater.questions.owners import OwnerReader
from headwater.questions.run_details import user_of

DAYS = 90
"""Default period in days."""


def readers_answer(
    readers: DatasetReaders, dataset: Name, since_us: int, until_us: int, *, owners: OwnerReader, limit: int
) -> Readers:
    """Answer the runs that read a dataset in a period, dated by their ends. Jobs with most reads come first."""
    by_day: Counter[date] = Counter()
    found: list[tuple[int, int, int]] = []
    for job in readers.job_key_numbers():
        times = list(readers.read_times_us(job, since_us, until_us))
        if times:
            by_day.update(datetime.fromtimestamp(each // 1_000_000, UTC).date() for each in times)
            found.append((len(times), max(times), job))
    found.sort(key=lambda each: (-each[0], -each[1], each[2]))
    by_week: Counter[date] = Counter()
    for day, runs in by_day.items():
        by_week[day - timedelta(days=day.weekday())] += runs
    items = [_to_item(readers, owners, *each) for each in found[:limit]]
    return Readers(
        Dataset(*dataset.parts),
        by_day.total(),
        _to_daily_reads(by_day),
        _to_daily_reads(by_week),
        items,
        len(found),
        len(found) > limit,
        [],
    )


def _to_item(readers: DatasetReaders, owners: OwnerReader, runs: int, last_us: int, job: int) -> ReaderItem:
    shown, users = Job(*readers.job_display_name(job).parts), _users_of_job(readers, job)
    return ReaderItem(shown, runs, users, iso_time(last_us), owners.owners_of_job(readers.job_key(job)))


def _users_of_job(readers: DatasetReaders, job: int) -> list[str]:
    return sorted({user for facets in readers.run_facets(job) if (user := user_of(facets))})


def _to_daily_reads(counts: Counter[date]) -> list[DailyReads]:
    return [DailyReads(day.isoformat(), runs) for day, runs in sorted(counts.items())]
