"""Rule 6.12: find the jobs that are presumed retired, because other jobs now write their outputs."""

from collections.abc import Iterator
from itertools import pairwise
from typing import TYPE_CHECKING

from headwater.lineage.names.dataset_name import Name
from headwater.lineage.snapshots.whole_rewrites import replaces

if TYPE_CHECKING:
    from headwater.lineage.snapshots.counted_edges import CountedEdges
    from headwater.lineage.snapshots.snapshot import Snapshot


def presumed_retired_edge_sets(
    snapshot: "Snapshot", counted: "CountedEdges", since_us: int, end_us: int
) -> frozenset[int]:
    """Return the edge sets of observed runs of the jobs that are presumed retired.

    To be fast, the function looks up runs only for jobs with an output that another job rewrites.
    since_us, end_us: the start and the end of the window in microseconds.
    """
    return frozenset(
        number
        for job in _replaced_jobs(snapshot, since_us)
        for number in (_edge_sets_if_presumed(snapshot, counted, job, since_us, end_us))
    )


def _replaced_jobs(snapshot: "Snapshot", since_us: int) -> set[Name]:
    """Return the jobs with an output that the job did not report since `since_us` and that another job rewrote."""
    graph, found = snapshot.graph, set[Name]()
    for dataset, numbers in graph.writers_by_dataset.items():
        if len(numbers) > 1 and (rewrite := snapshot.newest_rewrite(graph.names[dataset])) is not None:
            jobs = {graph.edge_sets[number][0].job for number in numbers}
            for number in numbers if len(jobs) > 1 else ():
                job_output, last_us = graph.edge_sets[number][0], snapshot.report_times(number).last_us
                if job_output.layer == "observed" and last_us < since_us and replaces(rewrite, last_us):
                    found.add(job_output.job)
    return found


def _edge_sets_if_presumed(
    snapshot: "Snapshot", counted: "CountedEdges", job: Name, since_us: int, end_us: int
) -> Iterator[int]:
    """Yield the observed edge sets of a job if the job is presumed retired, otherwise nothing."""
    times = sorted(snapshot.run_times_us(job))
    if not times or times[-1] >= since_us or (seen_us := snapshot.job_seen_us(job)) >= since_us:
        return
    longest_us = max((later - earlier for earlier, later in pairwise(times)), default=0)
    if end_us - seen_us > 2 * longest_us and _is_replaced(snapshot, counted, job, seen_us):
        yield from _observed_edge_sets(snapshot, job)


def _is_replaced(snapshot: "Snapshot", counted: "CountedEdges", job: Name, seen_us: int) -> bool:
    """Tell whether other jobs rewrote all outputs of a job after its newest event. Dropped outputs are ignored.

    A rewrite that began after the newest event of the job can only be a run of another job.
    seen_us: the time (us) of the newest event of the job.
    """
    outputs = {snapshot.graph.edge_sets[number][1].output for number in _observed_edge_sets(snapshot, job)}
    if None in outputs:
        return False
    there = [each for each in outputs if each and snapshot.graph.dataset_number(each) not in counted.dropped_datasets]
    return bool(there) and all(replaces(snapshot.newest_rewrite(each), seen_us) for each in there)


def _observed_edge_sets(snapshot: "Snapshot", job: Name) -> Iterator[int]:
    graph = snapshot.graph
    return (number for number in graph.edge_sets_by_job.get(job, ()) if graph.edge_sets[number][0].layer == "observed")
